"""Over real sockets: what is said to the server without end, without sense, or too slowly."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import pytest
import uvicorn

from tests.dash.site import make_site, small_run
from vecchess.dash import patience
from vecchess.dash.play import requests
from vecchess.dash.run import MOST_CONNECTIONS

WAIT_S = 20.0
HEAD = b"POST /api/play/position HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """The port of a dashboard that serves as ``vecchess dash`` does."""
    small_run(folder / "run")
    config = uvicorn.Config(
        make_site(folder, folder / "run"),
        port=0,
        log_config=None,
        http=patience.PatientProtocol,
        ws="none",
        limit_concurrency=MOST_CONNECTIONS,
    )
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    deadline = monotonic() + WAIT_S
    while not server.started and monotonic() < deadline:
        sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(WAIT_S)


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(patience, "HEAD_S", 0.3)
    monkeypatch.setattr(requests, "BODY_S", 0.3)
    with serving(tmp_path) as found:
        yield found


def heard(port: int, *said: bytes) -> bytes:
    """All that the server says to this until it hangs up."""
    answer = b""
    with closing(socket.create_connection(("127.0.0.1", port), WAIT_S)) as connection:
        for part in said:
            connection.sendall(part)
        while more := connection.recv(1 << 16):
            answer += more
    return answer


def status(answer: bytes) -> int:
    return int(answer.split()[1]) if answer else 0


def test_who_never_finishes_asking_is_hung_up_on(port: int) -> None:
    for said in (b"", b"GET", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "):
        assert heard(port, said) == b""


def test_who_stalls_in_a_second_request_is_hung_up_on(port: int) -> None:
    answer = heard(port, b"GET /api/about HTTP/1.1\r\nHost: localhost\r\n\r\n", b"G")
    assert status(answer) == 200


def test_who_never_finishes_a_body_is_told_so(port: int) -> None:
    close = b"Connection: close\r\n"
    assert status(heard(port, HEAD + close + b"Content-Length: 50\r\n\r\n{")) == 408
    assert (
        status(heard(port, HEAD + close + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n")) == 408
    )


@pytest.mark.parametrize(
    "said",
    [
        b"\x16\x03\x01\x00\xa5" * 20,
        b"GET / HTTP/9.9\r\n\r\n",
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
    with suppress(ConnectionError):  # it may hang up while more is on its way
        assert status(heard(port, said)) in (0, 400, 403, 431)
    assert status(heard(port, b"GET /api/about HTTP/1.1\r\nHost: localhost\r\n\r\n")) == 200
