"""The dashboard as an ASGI application, and the JSON API that its pages read.

Changes are published by ``/api/events``.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from vecchess import __version__
from vecchess.dash.answers import SafeJSONResponse, error_answer
from vecchess.dash.play.routes import play_routes
from vecchess.dash.play.service import PlayService
from vecchess.dash.views.game_values import game_rows, game_view
from vecchess.dash.views.run_facts import run_facts
from vecchess.dash.views.run_reader import RunReader
from vecchess.dash.views.run_values import (
    playable_networks,
    run_details,
    run_rows,
    series_columns,
)
from vecchess.dash.web.assets import PageFiles
from vecchess.dash.web.event_hub import EventHub, EventStream
from vecchess.dash.web.topics import parse_topics
from vecchess.errors import VecchessError
from vecchess.monitor.charts import CHARTS
from vecchess.monitor.run_view import RunView
from vecchess.ports.access_control import AccessControl
from vecchess.ports.port_server import HEALTH, health_route
from vecchess.safe_parse import is_count

GZIP_FROM_BYTES, GZIP_LEVEL = 1024, 5
DEFAULT_LINES = 600
PLAY = "/api/play"
"""The only routes that take POST, with JSON."""


def make_app(
    reader: RunReader,
    hub: EventHub,
    pages: PageFiles,
    token: str = "",
    any_host: bool = False,
    nets: Sequence[str] = (),
) -> Starlette:
    """The application: pages, API, play page with ``nets`` beside the runs', access control."""
    play = PlayService(lambda: reader.read(_networks), nets)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        refreshing = asyncio.ensure_future(hub.run())
        try:
            yield
        finally:
            hub.close()
            refreshing.cancel()
            with suppress(asyncio.CancelledError):
                await refreshing
            await play.close()
            reader.close()

    return Starlette(
        routes=[
            health_route(lambda: "serving"),
            Mount(PLAY, routes=play_routes(play)),
            *_api_routes(reader, hub),
            Mount("/static", pages),
            Route("/", pages),
        ],
        exception_handlers={404: _not_found, VecchessError: error_answer},
        middleware=[
            Middleware(
                AccessControl, token=token, any_host=any_host, posts=(f"{PLAY}/",), public=(HEALTH,)
            ),
            Middleware(GZipMiddleware, minimum_size=GZIP_FROM_BYTES, compresslevel=GZIP_LEVEL),
        ],
        lifespan=lifespan,
    )


def _api_routes(reader: RunReader, hub: EventHub) -> list[Route]:
    """The routes below /api that read: runs by ``reader``, events from ``hub``."""

    async def about(_: Request) -> Response:
        return SafeJSONResponse({"version": __version__})

    async def charts(_: Request) -> Response:
        return SafeJSONResponse([spec.to_dict() for spec in CHARTS])

    async def runs(_: Request) -> Response:
        return SafeJSONResponse(await reader.read(lambda reader: run_rows(reader.registry)))

    async def events(request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        return EventStream(hub, parse_topics(request.query_params.getlist("t")))

    def of_run(path: str, value: Callable[[RunView, Request], Any]) -> Route:
        async def answer(request: Request) -> Response:
            name = request.path_params["run"]
            found = await reader.read(lambda reader: value(reader.registry.view(name), request))
            return SafeJSONResponse(found)

        return Route(f"/api/runs/{{run}}{path}", answer)

    return [
        Route("/api/about", about),
        Route("/api/charts", charts),
        Route("/api/runs", runs),
        Route("/api/events", events),
        of_run("", lambda view, request: run_details(request.path_params["run"], view)),
        of_run("/config", lambda view, _: view.config),
        of_run("/facts", lambda view, _: run_facts(view)),
        of_run("/elo", lambda view, _: view.elo()),
        of_run("/costs", lambda view, _: view.costs()),
        of_run("/series/{kind}", _series),
        of_run("/games", _games),
        of_run("/games/{number}", _game),
    ]


def _series(view: RunView, request: Request) -> Any:
    most = _count(request.query_params.get("most", ""))
    kind = request.path_params["kind"]
    return series_columns(view.series, kind, DEFAULT_LINES if most is None else most)


def _games(view: RunView, request: Request) -> Any:
    asked = dict(request.query_params)
    chosen = {key: asked[key] for key in ("result", "ending", "order") if key in asked}
    return game_rows(view, _count(asked.get("first", "")) or 0, **chosen)


def _game(view: RunView, request: Request) -> Any:
    number = _count(request.path_params["number"])
    if number is None:
        raise HTTPException(404)
    return game_view(view, number)


def _count(text: str) -> int | None:
    """A count in digits; None for anything else."""
    return int(text) if is_count(text) else None


async def _not_found(_: Request, __: Exception) -> Response:
    return JSONResponse({"error": "there is no such page"}, 404)


def _networks(reader: RunReader) -> dict[str, Path]:
    """Files of networks that can be played with by run and name, the newest first."""
    found = []
    for run, view in reader.registry.views().items():
        for place, path in enumerate(playable_networks(view)):
            with suppress(OSError):  # deleted meanwhile
                found.append((path.stat().st_mtime, place, f"{run}/{path.stem}", path))
    return {name: path for _, _, name, path in sorted(found, reverse=True)}
