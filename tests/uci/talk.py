"""A conversation with a session in this process, through a pipe as a GUI has it."""

import os
import subprocess
from queue import SimpleQueue
from threading import Condition, Thread
from types import TracebackType
from typing import Any

from vecchess.config import UciConfig, build
from vecchess.runtime.engines.uci_client import find_engine
from vecchess.uci.run_uci import Lines, read_lines
from vecchess.uci.session import Session

PATIENCE_S = 120.0


def stockfish(*lines: str) -> list[str]:
    """What Stockfish prints for these lines of input, without its first line."""
    text = "\n".join((*lines, "quit", ""))
    done = subprocess.run(
        find_engine("stockfish"), input=text, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.splitlines()[1:]


class Talk:
    """Sends lines, and keeps what is said."""

    def __init__(self, **settings: Any) -> None:
        config = build(UciConfig, {"hash_mb": 16, "net": "material", **settings})
        self.said: list[str] = []
        self._changed = Condition()
        self._lines: Lines = SimpleQueue()
        self.session = Session(config, self._say)
        here, self._there = os.pipe()
        self._reader = read_lines(here, self._lines)
        self._converser = Thread(target=self._converse, daemon=True)
        self._converser.start()

    def __enter__(self) -> "Talk":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        os.close(self._there)
        self._converser.join(PATIENCE_S)
        assert self.session.close(PATIENCE_S)

    def send(self, *lines: str | bytes) -> None:
        for line in lines:
            data = line if isinstance(line, bytes) else line.encode()
            os.write(self._there, data + b"\n")

    def until(self, start: str, after: int = 0) -> list[str]:
        """What was said from line ``after`` on, up to a line that begins so."""
        found: list[int] = []

        def is_there() -> bool:
            places = range(after, len(self.said))
            found[:] = [place for place in places if self.said[place].startswith(start)]
            return bool(found)

        with self._changed:
            assert self._changed.wait_for(is_there, PATIENCE_S), (start, self.said[after:][-20:])
        return self.said[after : found[0] + 1]

    def ask(self, *lines: str, until: str = "bestmove") -> list[str]:
        """Send lines, and hear the answer."""
        after = len(self.said)
        self.send(*lines)
        return self.until(until, after)

    def ready(self) -> list[str]:
        return self.ask("isready", until="readyok")

    def best(self, *lines: str) -> str:
        return self.ask(*lines)[-1].split()[1]

    def _say(self, line: str) -> None:
        with self._changed:
            self.said += line.split("\n")
            self._changed.notify_all()

    def _converse(self) -> None:
        while (item := self._lines.get()) is not None:
            if not self.session.execute(item[1], item[0]):
                return


def facts(info: str) -> dict[str, str]:
    """Names and values of an info line, the line of moves as one value."""
    head, _, moves = info.partition(" pv ")
    words = head.split()[1:]
    found = {"pv": moves}
    place = 0
    while place < len(words):
        name = words[place]
        if name == "score":
            found["score"] = " ".join(words[place + 1 : place + 3])
            place += 3
        elif name == "wdl":
            found["wdl"] = " ".join(words[place + 1 : place + 4])
            place += 4
        else:
            found[name] = words[place + 1]
            place += 2
    return found
