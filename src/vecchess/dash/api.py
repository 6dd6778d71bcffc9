"""What pages ask for once, in JSON; what changes they hear by ``/api/events``."""

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from vecchess import __version__
from vecchess.dash.columns import series_columns
from vecchess.dash.desk import Desk
from vecchess.dash.hub import Hub
from vecchess.dash.overview import run_in_full, run_lines
from vecchess.dash.sheet import sheet
from vecchess.dash.stream import EventStream
from vecchess.dash.topic import parse_topics
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
            Route("/api/runs/{run}/games/{number:int}", self._game),
            Route("/api/events", self._events),
            Route("/api/{rest:path}", _nothing),
        ]

    async def _about(self, _: Request) -> Response:
        return JSONResponse({"version": __version__})

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
        most = int(asked) if asked.isascii() and asked.isdecimal() else DEFAULT_LINES
        return await self._answer(
            lambda desk: series_columns(desk.watched.view(name).series, kind, most)
        )

    async def _game(self, request: Request) -> Response:
        name, number = request.path_params["run"], request.path_params["number"]
        return await self._answer(lambda desk: sheet(desk.watched.view(name).game(number)))

    async def _events(self, request: Request) -> Any:
        try:
            return EventStream(self._hub, parse_topics(request.query_params.getlist("t")))
        except ConfigError as error:
            return JSONResponse({"error": str(error)}, 400)

    async def _answer(self, question: Callable[[Desk], Any]) -> Response:
        try:
            return JSONResponse(await self._desk.ask(question))
        except DataError as error:
            return JSONResponse({"error": str(error)}, 404)


async def _nothing(_: Request) -> Response:
    return JSONResponse({"error": "there is no such thing here"}, 404)
