"""What the benches of the dashboard share: a run to watch, tabs that listen."""

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

PROGRAM = [sys.executable, "-m", "vecchess_cli.main"]
PIECE = 65536


@contextmanager
def selfplay(run: Path, flags: list[str]) -> Iterator[None]:
    """A self-play for as long as this is entered."""
    command = [*PROGRAM, "selfplay", "--run-dir", str(run), "--games", "1000000", "--quiet", *flags]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not (run / "live" / "000.npz").is_file():
            if process.poll() is not None:
                raise SystemExit("the self-play ended")
            sleep(0.2)
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def plies_per_s(run: Path, seconds: float) -> float:
    """The run's speed as it tells it, averaged over so many seconds."""
    found, end = [], monotonic() + seconds
    while monotonic() < end:
        sleep(0.5)
        status = json.loads((run / "status.json").read_text())
        found.append(status.get("load", {}).get("plies_per_s", 0.0))
    return sum(found) / max(len(found), 1)


def ask(url: str, path: str) -> Any:
    """A question to the server."""
    with urlopen(url + path) as answer:
        return json.load(answer)


class Tab(threading.Thread):
    """A page that listens: takes what comes, or a little of it, or goes away and comes again."""

    def __init__(self, url: str, topics: list[str], kind: str = "quick") -> None:
        """``kind``: "quick", "slow" (1 kB/s through a small window) or "cut" (gone after 1 s)."""
        super().__init__(daemon=True)
        where = urlsplit(url)
        self._where = (str(where.hostname), int(where.port or 80))
        query = "&".join(f"t={topic}" for topic in topics)
        self._request = f"GET /api/events?{query} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
        self.kind, self._over = kind, threading.Event()
        self.num_bytes = 0

    def run(self) -> None:
        """Until told to end."""
        while not self._over.is_set():
            with socket.socket() as talk:
                if self.kind == "slow":
                    talk.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                talk.connect(self._where)
                talk.settimeout(1.0)
                talk.sendall(self._request)
                self._listen(talk, monotonic() + (1.0 if self.kind == "cut" else 1e9))

    def end(self) -> None:
        """Go."""
        self._over.set()
        self.join()

    def _listen(self, talk: socket.socket, until: float) -> None:
        while not self._over.is_set() and monotonic() < until:
            try:
                piece = talk.recv(1024 if self.kind == "slow" else PIECE)
            except TimeoutError:
                continue
            if not piece:
                return
            self.num_bytes += len(piece)
            if self.kind == "slow":
                self._over.wait(1.0)
