"""Serves an application at a port with the limits that all ports of the program have."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from vecchess.ports.client_limits import ClientLimits, fitting_connections

GRACE_S = 1
BACKLOG = 16
"""Connections that wait for the server. asyncio takes all of them at once, each a file descriptor,
before their number can be checked."""
HEALTH = "/healthz"
"""Answered without a token: probes of containers know none."""


def server_config(app: ASGIApp, most: int, **settings: Any) -> uvicorn.Config:
    """The settings of a server of ``app`` with at most ``most`` connections, fewer where this
    process may open few files. ``settings`` are more of uvicorn's."""
    return uvicorn.Config(
        app,
        log_config=None,
        log_level="error",  # clients that talk nonsense are no news for the terminal of a run
        access_log=False,
        server_header=False,
        http=ClientLimits,
        ws="none",
        backlog=BACKLOG,
        limit_concurrency=fitting_connections(most) + 1,  # at this number uvicorn refuses
        timeout_graceful_shutdown=GRACE_S,
        **settings,
    )


class PortServer(uvicorn.Server):
    """A server that ends on any signal; ``before_end`` is called when it has to end."""

    def __init__(self, config: uvicorn.Config, before_end: Callable[[], None]) -> None:
        """``config``: of ``server_config``."""
        super().__init__(config)
        self._before_end = before_end

    async def main_loop(self) -> None:
        """Serve until the end is requested. uvicorn would wait for streams that are open."""
        await super().main_loop()
        self._before_end()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End on any signal."""
        super().handle_exit(sig, frame)
        self.should_exit = True


@contextmanager
def served_in_thread(app: ASGIApp, listening: socket.socket, most: int) -> Iterator[None]:
    """Serve ``app`` at a listening socket, which is closed then, in a thread while the block lasts.

    At most ``most`` connections, as in ``server_config``.
    """
    server = uvicorn.Server(server_config(app, most, lifespan="off"))

    def run() -> None:
        with asyncio.Runner() as runner:
            runner.run(server.serve([listening]))

    thread = threading.Thread(target=run, name="port", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def health_route(read_state: Callable[[], str]) -> Route:
    """The route of ``HEALTH``: 200 with the state, 503 where it is "failed"."""

    async def answer(_: Request) -> Response:
        state = read_state()
        return JSONResponse({"state": state}, 503 if state == "failed" else 200)

    return Route(HEALTH, answer)
