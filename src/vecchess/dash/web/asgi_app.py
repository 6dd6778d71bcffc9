"""The dashboard as an ASGI application."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount

from vecchess.dash.play.network_list import networks
from vecchess.dash.play.routes import routes as play_routes
from vecchess.dash.play.service import PlayService
from vecchess.dash.views.run_reader import RunReader
from vecchess.dash.web.access_control import AccessControl
from vecchess.dash.web.api import Api
from vecchess.dash.web.assets import Asset, asset_routes
from vecchess.dash.web.event_hub import EventHub

GZIP_FROM_BYTES, GZIP_LEVEL = 1024, 5


def make_app(
    reader: RunReader,
    hub: EventHub,
    assets: Mapping[str, Asset],
    token: str = "",
    any_host: bool = False,
) -> Starlette:
    """The application: pages, API, play page, access control."""
    play = PlayService(lambda: reader.read(networks))

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
            *Api(reader, hub).routes(),
            *asset_routes(assets),
        ],
        exception_handlers={404: _not_found},
        middleware=[
            Middleware(AccessControl, token=token, any_host=any_host),
            Middleware(GZipMiddleware, minimum_size=GZIP_FROM_BYTES, compresslevel=GZIP_LEVEL),
        ],
        lifespan=lifespan,
    )


async def _not_found(_: Request, __: Exception) -> Response:
    return JSONResponse({"error": "there is no such page"}, 404)
