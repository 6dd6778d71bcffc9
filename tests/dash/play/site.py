"""The play page's part of the server on its own, as other tests meet it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import FileResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

import vecchess.dash
from tests.snn.positions import random_positions
from vecchess.chess.planes import NUM_PLANES
from vecchess.dash.answers import error_answer
from vecchess.dash.play.routes import play_routes
from vecchess.dash.play.service import PlayService
from vecchess.errors import VecchessError
from vecchess.ports.access_control import AccessControl
from vecchess.snn.initialise import new_network
from vecchess.snn.integer.net_file import save_net
from vecchess.snn.presets import NetConfig

PAGES = Path(vecchess.dash.__file__).parent / "static"
START_S = 20.0


def tiny_network(path: Path, neuron: str = "lif") -> Path:
    """A network of one block that has learnt nothing, in a file."""
    steps = 4 if neuron == "lif" else 1
    config = NetConfig.model_validate(
        {"num_planes": NUM_PLANES, "blocks": 1, "channels": 32, "neuron": neuron}
        | {"time_steps": steps}
    )
    save_net(new_network(config, 3, random_positions(16, 1)[0]), path)
    return path


def play_app(service: PlayService, pages: Path | None = None) -> Starlette:
    """``service`` below /api/play behind the guard, and the pages where there are any; closes it at
    the end."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await service.close()

    places: list[BaseRoute] = [Mount("/api/play", routes=play_routes(service))]
    if pages is not None:
        places += [
            Route("/", lambda request: FileResponse(pages / "index.html")),
            Mount("/static", StaticFiles(directory=pages)),
        ]
    guard = Middleware(AccessControl, any_host=True, posts=("/api/play/",))
    answers = {VecchessError: error_answer}
    return Starlette(
        routes=places, middleware=[guard], lifespan=lifespan, exception_handlers=answers
    )


@contextmanager
def served(make: Callable[[], Starlette]) -> Iterator[str]:
    """The address of an app that a server of its own thread serves."""
    server = uvicorn.Server(uvicorn.Config(make(), port=0, log_level="warning"))
    thread = Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    deadline = monotonic() + START_S
    while not server.started and monotonic() < deadline:
        sleep(0.02)
    assert server.started
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(START_S)
        assert not thread.is_alive()
