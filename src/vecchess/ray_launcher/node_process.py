"""One node's end of a fleet: where a command runs. Ray makes an actor of a ``Post``."""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from vecchess.safe_parse import parse_json

MOST_BYTES = 1 << 24
"""Longest line of a command that is heard."""
PROGRAM = ("-m", "vecchess_cli.main")
News = list[tuple[str, Any]]
"""What happened, in order: ("err", line), ("out", line), and at last ("ended", exit code), below 0
for a signal, or ("lost", reason)."""


class Post:
    """Starts one command on its node, hears what it says, stops it: by its own death, too."""

    def __init__(self, name: str, program: Sequence[str] = PROGRAM) -> None:
        """``name`` is for people; ``program`` is what this node's Python is given to run."""
        self.name = name
        self._program = program
        self._news: SimpleQueue[tuple[str, Any]] = SimpleQueue()

    def free_port(self) -> int:
        """A port of this node that nobody listens on at the moment."""
        with socket.create_server(("", 0)) as server:
            port: int = server.getsockname()[1]
        return port

    def start(self, arguments: list[str], folder: str, variables: dict[str, str]) -> None:
        """Run the program in ``folder``, ``variables`` above this process's environment."""
        python = sys.executable
        guard = subprocess.Popen(
            [
                python,
                "-m",
                "vecchess.ray_launcher.process_guard",
                python,
                *self._program,
                *arguments,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=os.environ | variables,
        )
        guard.wait()  # it goes on in a process that is no child of ours
        self._stdin, self._stdout = guard.stdin, guard.stdout
        Thread(target=self._listen, daemon=True).start()

    def news(self, wait_s: float = 0.0) -> News:
        """What happened since the last time; the first thing is waited for ``wait_s`` at most."""
        news: News = []
        try:
            news.append(self._news.get(wait_s > 0, wait_s or None))
            while True:
                news.append(self._news.get_nowait())
        except Empty:
            return news

    def stop(self) -> None:
        """Ask the command to save and end. Again changes nothing."""
        assert self._stdin is not None
        self._stdin.close()

    def _listen(self) -> None:
        assert self._stdout is not None
        kind = ""
        while line := self._stdout.readline(MOST_BYTES):
            news = _news_in(line)
            if news is None:
                break
            kind, what = news
            self._news.put((kind, what))
        if kind != "ended":
            self._news.put(("lost", "the process that kept the command is gone"))


def _news_in(line: bytes) -> tuple[str, Any] | None:
    """What a line of the guard says; None where it is none of its lines."""
    try:
        kind, what = parse_json(line, MOST_BYTES)
    except (ValueError, TypeError):
        return None
    is_line = kind in ("out", "err") and isinstance(what, str)
    return (kind, what) if is_line or (kind == "ended" and type(what) is int) else None
