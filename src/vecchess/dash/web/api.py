"""What pages ask for once, in JSON; what changes they hear by ``/api/events``."""

from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from vecchess import __version__
from vecchess.dash.json_response import Answer
from vecchess.dash.views.columns import series_columns
from vecchess.dash.views.game_view import sheet
from vecchess.dash.views.overview import run_in_full, run_lines
from vecchess.dash.views.reader_thread import Desk
from vecchess.dash.web.event_hub import Hub
from vecchess.dash.web.event_stream import EventStream
from vecchess.dash.web.topics import is_number, parse_topics
from vecchess.errors import ConfigError, DataError

DEFAULT_LINES = 600


class Api:
    """The routes below /api that read."""

    def __init__(self, desk: Desk, hub: Hub) -> None:
        """Runs are read at ``desk``, events come from ``hub``."""
        self._desk, self._hub = desk, hub

    def routes(self) -> list[Route]:
        """All of them."""
        return [
            Route("/api/about", self._about),
            Route("/api/runs", self._runs),
            Route("/api/runs/{run}", self._run),
            Route("/api/runs/{run}/config", self._config),
            Route("/api/runs/{run}/elo", self._elo),
            Route("/api/runs/{run}/series/{kind}", self._series),
            Route("/api/runs/{run}/games/{number}", self._game),
            Route("/api/events", self._events),
        ]

    async def _about(self, _: Request) -> Response:
        return Answer({"version": __version__})

    async def _runs(self, _: Request) -> Response:
        return await self._answer(lambda desk: run_lines(desk.watched))

    async def _run(self, request: Request) -> Response:
        name = request.path_params["run"]
        return await self._answer(lambda desk: run_in_full(name, desk.watched.view(name)))

    async def _config(self, request: Request) -> Response:
        name = request.path_params["run"]
        return await self._answer(lambda desk: desk.watched.view(name).config)

    async def _elo(self, request: Request) -> Response:
        name = request.path_params["run"]
        return await self._answer(lambda desk: desk.watched.view(name).elo())

    async def _series(self, request: Request) -> Response:
        name, kind = request.path_params["run"], request.path_params["kind"]
        asked = request.query_params.get("most", "")
        most = int(asked) if is_number(asked) else DEFAULT_LINES
        return await self._answer(
            lambda desk: series_columns(desk.watched.view(name).series, kind, most)
        )

    async def _game(self, request: Request) -> Response:
        name, number = request.path_params["run"], request.path_params["number"]
        if not is_number(number):
            raise HTTPException(404)
        return await self._answer(lambda desk: sheet(desk.watched.view(name).game(int(number))))

    async def _events(self, request: Request) -> Any:
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        try:
            return EventStream(self._hub, parse_topics(request.query_params.getlist("t")))
        except ConfigError as error:
            return Answer({"error": str(error)}, 400)

    async def _answer(self, question: Callable[[Desk], Any]) -> Response:
        try:
            return Answer(await self._desk.ask(question))
        except DataError as error:
            return Answer({"error": str(error)}, 404)
