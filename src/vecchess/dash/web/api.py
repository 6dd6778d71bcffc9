"""The JSON API that pages read; changes are published by ``/api/events``."""

from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from vecchess import __version__
from vecchess.dash.json_response import SafeJSONResponse
from vecchess.dash.views.game_values import GameQuery, game_rows, game_view
from vecchess.dash.views.run_reader import RunReader
from vecchess.dash.views.run_values import run_details, run_rows, series_columns
from vecchess.dash.web.event_hub import EventHub, EventStream
from vecchess.dash.web.topics import is_number, parse_topics
from vecchess.errors import ConfigError, DataError

DEFAULT_LINES = 600


class Api:
    """The routes below /api that read."""

    def __init__(self, reader: RunReader, hub: EventHub) -> None:
        """Runs are read by ``reader``, events come from ``hub``."""
        self._reader, self._hub = reader, hub

    def routes(self) -> list[Route]:
        """All routes."""
        return [
            Route("/api/about", self._about),
            Route("/api/runs", self._runs),
            Route("/api/runs/{run}", self._run),
            Route("/api/runs/{run}/config", self._config),
            Route("/api/runs/{run}/elo", self._elo),
            Route("/api/runs/{run}/series/{kind}", self._series),
            Route("/api/runs/{run}/games", self._games),
            Route("/api/runs/{run}/games/{number}", self._game),
            Route("/api/events", self._events),
        ]

    async def _about(self, _: Request) -> Response:
        return SafeJSONResponse({"version": __version__})

    async def _runs(self, _: Request) -> Response:
        return await self._answer(lambda reader: run_rows(reader.registry))

    async def _run(self, request: Request) -> Response:
        name = request.path_params["run"]
        return await self._answer(lambda reader: run_details(name, reader.registry.view(name)))

    async def _config(self, request: Request) -> Response:
        name = request.path_params["run"]
        return await self._answer(lambda reader: reader.registry.view(name).config)

    async def _elo(self, request: Request) -> Response:
        name = request.path_params["run"]
        return await self._answer(lambda reader: reader.registry.view(name).elo())

    async def _series(self, request: Request) -> Response:
        name, kind = request.path_params["run"], request.path_params["kind"]
        asked = request.query_params.get("most", "")
        most = int(asked) if is_number(asked) else DEFAULT_LINES
        return await self._answer(
            lambda reader: series_columns(reader.registry.view(name).series, kind, most)
        )

    async def _games(self, request: Request) -> Response:
        name, asked = request.path_params["run"], dict(request.query_params)
        first = asked.pop("first", "")
        query = GameQuery(
            **{key: asked[key] for key in ("result", "ending", "order") if key in asked},
            first=int(first) if is_number(first) else 0,
        )
        return await self._answer(lambda reader: game_rows(reader.registry.view(name), query))

    async def _game(self, request: Request) -> Response:
        name, number = request.path_params["run"], request.path_params["number"]
        if not is_number(number):
            raise HTTPException(404)
        return await self._answer(lambda reader: game_view(reader.registry.view(name), int(number)))

    async def _events(self, request: Request) -> Any:
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        try:
            return EventStream(self._hub, parse_topics(request.query_params.getlist("t")))
        except ConfigError as error:
            return SafeJSONResponse({"error": str(error)}, 400)

    async def _answer(self, request: Callable[[RunReader], Any]) -> Response:
        try:
            return SafeJSONResponse(await self._reader.read(request))
        except DataError as error:
            return SafeJSONResponse({"error": str(error)}, 404)
        except ConfigError as error:
            return SafeJSONResponse({"error": str(error)}, 400)
