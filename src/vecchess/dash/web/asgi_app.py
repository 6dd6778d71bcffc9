"""The dashboard as an ASGI application."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from vecchess.dash.answers import error_answer
from vecchess.dash.play.routes import play_routes
from vecchess.dash.play.service import PlayService
from vecchess.dash.views.run_reader import RunReader
from vecchess.dash.web.access_control import AccessControl
from vecchess.dash.web.api import api_routes
from vecchess.dash.web.assets import PageFiles
from vecchess.dash.web.event_hub import EventHub
from vecchess.errors import VecchessError

GZIP_FROM_BYTES, GZIP_LEVEL = 1024, 5


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
            Mount("/api/play", routes=play_routes(play)),
            *api_routes(reader, hub),
            Mount("/static", pages),
            Route("/", pages),
        ],
        exception_handlers={404: _not_found, VecchessError: error_answer},
        middleware=[
            Middleware(AccessControl, token=token, any_host=any_host),
            Middleware(GZipMiddleware, minimum_size=GZIP_FROM_BYTES, compresslevel=GZIP_LEVEL),
        ],
        lifespan=lifespan,
    )


async def _not_found(_: Request, __: Exception) -> Response:
    return JSONResponse({"error": "there is no such page"}, 404)


def _networks(reader: RunReader) -> dict[str, Path]:
    """Network files by run and name, the newest first."""
    found = []
    for run, view in reader.registry.views().items():
        for place, path in enumerate(view.networks()):
            with suppress(OSError):  # deleted meanwhile
                found.append((path.stat().st_mtime, place, f"{run}/{path.stem}", path))
    return {name: path for _, _, name, path in sorted(found, reverse=True)}
