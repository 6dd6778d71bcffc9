"""Requests to the dashboard: the application is called as a server calls it, without sockets."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch
from urllib.parse import unquote

from starlette.types import Message

from tests.dash.site import make_site
from tests.fuzz.file_targets import JSON_WORDS
from tests.fuzz.target import Read, Target
from tests.fuzz.text_targets import FEN_WORDS, PGN, PGN_WORDS
from tests.monitor.runs import selfplay_run
from vecchess.dash.play.play_engine import EngineEnded

STATUSES = (200, 304, 307, 400, 401, 403, 404, 405, 408, 413, 415, 503)
OWN = b"Host: localhost:8765\nContent-Type: application/json\nSec-Fetch-Site: same-origin\nOrigin: http://localhost:8765\n"
PATHS = (
    "/",
    "/static/main-ABCD.js",
    "/static/../x",
    "/api/about",
    "/api/runs",
    "/api/runs/run",
    "/api/runs/run/config",
    "/api/runs/run/elo",
    "/api/runs/run/series/load?most=5",
    "/api/runs/run/games/3",
    "/api/events?t=runs&t=boards/run/16&t=game/run/3&t=series/run",
    "/api/play/",
    "/nothing",
)
BODIES: dict[str, dict[str, Any]] = {
    "position": {"start": "startpos", "moves": ["e2e4", "e7e5"], "typed": "Nf3"},
    "read": {"text": PGN.decode(), "chess960": 5},
    "pgn": {"moves": ["f2f3", "e7e5"], "white": "a", "date": "2026.01.01", "result": "*"},
    "move": {"moves": ["e2e4"], "network": "material", "sims": 16, "elo": 900},
    "analyse": {"moves": [], "network": "material", "sims": 20},
    "spikes": {"moves": [], "network": "run/x"},
}
WORDS = (
    b"GET ",
    b"POST ",
    b"HEAD ",
    b"OPTIONS ",
    b"\nHost: evil.example",
    b"\nOrigin: null",
    b'\nCookie: a="\\',
    b"\n\n",
    b"?token=",
    b"%00",
    b"%2e%2e/",
    b"..",
    b"&t=boards/run/256",
    b"Content-Type: text/plain",
    b'If-None-Match: "x"',
    b"\nAccept-Encoding: gzip",
    b"Sec-Fetch-Site: cross-site",
    b"/api/play/read",
    b"\r",
    b"\xff",
)


def post(name: str) -> bytes:
    return b"POST /api/play/%s\n%s\n%s" % (name.encode(), OWN, json.dumps(BODIES[name]).encode())


def requests() -> list[bytes]:
    reads = [b"GET %s\n%s\n" % (path.encode(), OWN) for path in PATHS]
    return reads + [post(name) for name in BODIES]


def scope_of(head: bytes) -> dict[str, Any]:
    """What a server makes of the first line and the headers; servers refuse what is no token."""
    first, *lines = head.split(b"\n")
    method, _, address = first.partition(b" ")
    path, _, query = address.partition(b"?")
    pairs = [line.partition(b":") for line in lines if b":" in line]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": method.decode("latin-1").upper(),
        "query_string": query,
        "root_path": "",
        "path": unquote(path.decode("latin-1")),
        "raw_path": path,
        "headers": [(name.strip().lower(), value.strip()) for name, _, value in pairs],
        "client": ("127.0.0.1", 4711),
        "server": ("127.0.0.1", 8765),
    }


async def refuse(*_: object) -> NoReturn:
    raise EngineEnded("nothing is started here")


@contextmanager
def dashboard(folder: Path, token: str = "") -> Iterator[Read]:
    """The whole application over a run; helpers that requests would start are not there."""
    loop = asyncio.new_event_loop()
    selfplay_run(folder / "run")

    async def ask(data: bytes) -> list[Message]:
        head, _, body = data.partition(b"\n\n")
        said: list[Message] = [
            {
                "type": "http.request",
                "body": body[place : place + 4096],
                "more_body": place + 4096 < len(body),
            }
            for place in range(0, max(len(body), 1), 4096)
        ]
        answers: list[Message] = []

        async def receive() -> Message:
            if said:
                return said.pop(0)
            while not answers:  # files are read in a thread
                await asyncio.sleep(0.001)
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            answers.append(message)

        await app(scope_of(head), receive, send)
        return answers

    def read(data: bytes) -> None:
        answers = loop.run_until_complete(ask(data))
        assert answers[0]["status"] in STATUSES, answers[0]
        names = {name for name, _ in answers[0]["headers"]}
        assert b"content-security-policy" in names
        assert not any(name.startswith(b"access-control") for name in names)
        if token:
            body = b"".join(answer.get("body", b"") for answer in answers)
            assert token.encode() not in body

    with patch("vecchess.dash.play.service.PlayEngine.start", refuse):
        app = make_site(folder, folder / "run", token=token, any_host=bool(token))
        try:
            yield read
        finally:
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()


def with_token(folder: Path) -> Any:
    """Reached by any name, and only with a token, which nobody shows."""
    return dashboard(folder, "a-token-of-some-length")


TARGETS = (
    Target("http", requests, dashboard, "text", WORDS, floor_mib=16, is_slow=True),
    Target("http-token", requests, with_token, "text", WORDS, floor_mib=16, is_slow=True),
    Target(
        "http-play",
        lambda: [post(name) for name in BODIES],
        dashboard,
        "text",
        JSON_WORDS + FEN_WORDS + PGN_WORDS,
        floor_mib=16,
        is_slow=True,
    ),
)
