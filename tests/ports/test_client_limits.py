"""Over real sockets: what is said to the server without end, without sense, or too slowly."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from unittest.mock import MagicMock

import pytest
import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from tests.dash.site import make_site, small_run
from vecchess.dash.play import parse_requests as requests
from vecchess.ports import client_limits as patience
from vecchess.ports.port_server import server_config

WAIT_S = 20.0
ABOUT = b"GET /api/about HTTP/1.1\r\nHost: localhost\r\n"
CLOSE = b"Connection: close\r\n"
HEAD = b"POST /api/play/position HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@contextmanager
def serving(app: ASGIApp, most: int = 100) -> Iterator[uvicorn.Server]:
    """``app``, served as every port of the program is."""
    server = uvicorn.Server(server_config(app, most, port=0))
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield server
    finally:
        server.should_exit = True
        thread.join(WAIT_S)


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = monotonic() + WAIT_S
    while not is_so() and monotonic() < deadline:
        sleep(0.01)
    assert is_so()


def port_of(server: uvicorn.Server) -> int:
    return int(server.servers[0].sockets[0].getsockname()[1])


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    small_run(tmp_path / "run")
    with serving(make_site(tmp_path, tmp_path / "run")) as server:
        yield port_of(server)


def heard(port: int, said: bytes) -> bytes:
    """All that the server says to this until it hangs up."""
    with closing(socket.create_connection(("127.0.0.1", port), WAIT_S)) as connection:
        with suppress(ConnectionError):  # it may have hung up before
            connection.sendall(said)
        return rest(connection)


def rest(connection: socket.socket) -> bytes:
    answer = b""
    with suppress(ConnectionError):  # or while more was on its way
        while more := connection.recv(1 << 16):
            answer += more
    return answer


def status(answer: bytes) -> int:
    return int(answer.split()[1]) if answer else 0


def test_who_never_finishes_asking_is_hung_up_on(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "REQUEST_S", 0.3)
    for said in (b"", b"GET", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "):
        assert heard(port, said) == b""


def test_who_stalls_in_a_second_request_is_hung_up_on(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(socket.create_connection(("127.0.0.1", port), WAIT_S)) as connection:
        connection.sendall(ABOUT + b"\r\n")
        assert status(connection.recv(1 << 16)) == 200
        monkeypatch.setattr(patience, "REQUEST_S", 0.3)
        connection.sendall(ABOUT + b"\r\nG")
        assert rest(connection).count(b"HTTP/1.1 200") == 1


def test_who_never_finishes_a_body_is_told_so(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "BODY_S", 0.3)
    assert status(heard(port, HEAD + CLOSE + b"Content-Length: 50\r\n\r\n{")) == 408
    chunked = b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
    assert status(heard(port, HEAD + CLOSE + chunked)) == 408


@pytest.mark.parametrize("said", [ABOUT + b"\r\n", ABOUT + CLOSE + b"\r\n", (ABOUT + b"\r\n") * 3])
def test_who_takes_nothing_is_hung_up_on(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the server waits for room for the next answer, or for the last to be gone."""
    monkeypatch.setattr(patience, "READ_S", 0.3)
    with (
        serving(Response(bytes(1 << 25))) as server,
        closing(socket.create_connection(("127.0.0.1", port_of(server)), WAIT_S)) as connection,
    ):
        connection.sendall(said)
        state = server.server_state
        wait_until(lambda: state.total_requests > 0)
        wait_until(lambda: not state.connections and not state.tasks)


def test_who_takes_little_by_little_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Line(asyncio.Transport):
        left, is_cut = 0, False

        def get_write_buffer_size(self) -> int:
            return self.left

        def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
            assert high == 0, "or what is less than that would be waited for without end"

        def is_closing(self) -> bool:
            return False

        def abort(self) -> None:
            self.is_cut = True

    loop, line = MagicMock(), Line()
    config = uvicorn.Config(Response(), log_config=None)
    protocol = patience.ClientLimits(config, ServerState(), {}, loop)
    protocol.connection_made(line)
    line.left = 1000
    protocol.pause_writing()
    for left in (999, 500, 1, 1):
        assert not line.is_cut
        line.left = left
        delay, look, before = loop.call_later.call_args.args
        assert delay == patience.READ_S
        look(before)
    assert line.is_cut


@pytest.mark.parametrize(
    "said",
    [
        b"\x16\x03\x01\x00\xa5" * 20,
        b"GET / HTTP/9.9\r\n" + CLOSE + b"\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000,
    ],
    ids=range(9),
)
def test_nonsense_is_refused_and_the_connection_closed(port: int, said: bytes) -> None:
    assert status(heard(port, said)) in (0, 400, 403)
    assert status(heard(port, ABOUT + CLOSE + b"\r\n")) == 200


def test_too_many_that_never_ask_give_way_to_one_that_does() -> None:
    """However many they are, the server holds no more files, and answers at once."""
    with serving(Response(b"here"), most=8) as server, ExitStack() as stack:
        port, state = port_of(server), server.server_state
        half = [
            stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), WAIT_S)))
            for _ in range(60)
        ]
        for connection in half:
            with suppress(ConnectionError):
                connection.sendall(b"GET / HTTP/1.1\r\nHost: loc")
        assert heard(port, ABOUT + CLOSE + b"\r\n").endswith(b"here")
        wait_until(lambda: len(state.connections) <= 8)
        oldest, newest = half[0], half[-1]
        assert rest(oldest) == b"", "the first to be hung up on"
        newest.sendall(b"alhost\r\n" + CLOSE + b"\r\n")
        assert rest(newest).endswith(b"here")


def test_who_waits_for_an_answer_does_not_give_way() -> None:
    """Only the new one is left to hang up on, once all others are being answered."""
    release = Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        while not release.is_set():
            await asyncio.sleep(0.01)
        await Response(b"late")(scope, receive, send)

    with serving(slow, most=2) as server, ExitStack() as stack:
        address = ("127.0.0.1", port_of(server))
        asking = []
        for number in (1, 2):
            asking += [stack.enter_context(closing(socket.create_connection(address, WAIT_S)))]
            asking[-1].sendall(ABOUT + CLOSE + b"\r\n")
            wait_until(lambda: len(server.server_state.tasks) == number)  # noqa: B023
        assert heard(address[1], ABOUT + CLOSE + b"\r\n") == b""
        release.set()
        assert [rest(one).endswith(b"late") for one in asking] == [True, True]


def test_connections_take_a_share_of_the_files_that_may_be_open() -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    try:
        assert patience.fitting_connections(400) == 128 // patience.DESCRIPTOR_SHARE
        assert patience.fitting_connections(5) == 5
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
