"""What others say: chess programs, browsers, workers, ranks."""

import json
import multiprocessing
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.fuzz.file_targets import JSON_WORDS
from tests.fuzz.target import Read, Target, plain
from tests.fuzz.text_targets import FEN_WORDS
from vecchess.config import UciConfig
from vecchess.runtime.json_pipe import JsonPipe
from vecchess.train.distributed.control import RunEnd
from vecchess.uci.searcher import Task
from vecchess.uci.session import Session

UCI = (
    b"uci\nisready\nsetoption name Hash value 64\nucinewgame\n"
    b"position startpos moves e2e4 e7e5 e1e2\nd\n"
    b"go wtime 1000 btime 1000 movestogo 3\nstop\ngo nodes 10 searchmoves e2e4\nponderhit\nquit\n",
    b"debug on\nsetoption name UCI_Chess960 value true\n"
    b"position fen r3k2r/8/8/8/8/8/8/R3K2R w HAha - 0 1 "
    b"moves e1h1 e8a8\nd\nbench 10\neval\ngo perft 3\ngo mate 2 ponder\nstop\nhelp\nfoo\n",
)
UCI_WORDS = (
    b"\nposition startpos moves ",
    b"\nposition fen ",
    b"\ngo ",
    b" depth ",
    b" infinite",
    b"\nsetoption name ",
    b" value ",
    b"MultiPV",
    b"WeightsFile",
    b"SyzygyPath",
    b"CPuct",
    b"nan",
    b"1e999",
    b"\nd\n",
    b"0000",
    b"e1g1",
    b"e1h1",
    b"a7a8q",
    b"\r\n",
    b"\n#",
    b"\0",
    b"\xc2\xb2",
)
HOSTS = ["a", "b"]


class NoSearcher:
    """Takes tasks and does none of them."""

    def __init__(self, say: object, complain: object) -> None:
        self.open_tasks: list[Task] = []

    def post(self, task: Task) -> None:
        self.open_tasks = [*self.open_tasks[-3:], task]

    def stop(self) -> None:
        for task in self.open_tasks:
            task.stop()

    def wait(self, timeout_s: float | None = None) -> bool:
        return True

    def close(self, timeout_s: float) -> bool:
        return True


@contextmanager
def uci(_: Path) -> Iterator[Read]:
    """Every line that is said has to be one line."""

    def say(line: str) -> None:
        assert "\n" not in line.strip("\n"), line

    def read(data: bytes) -> None:
        session = Session(UciConfig(), say)
        for line in data.decode("utf-8", "replace").split("\n"):
            if not session.execute(line, 0.0):
                break
        session.close(1.0)

    with patch("vecchess.uci.session.Searcher", NoSearcher):
        yield read


# pipes: frames of four bytes of length, then as much


def frames(*messages: Any) -> bytes:
    texts = [json.dumps(message).encode() for message in messages]
    return b"".join(struct.pack("!i", len(text)) + text for text in texts)


def read_pipe(data: bytes) -> None:
    """Whatever is written into a worker's pipe, by a process that then ends."""
    mine, theirs = multiprocessing.Pipe()
    with mine:
        os.write(theirs.fileno(), data[: 1 << 16])
        theirs.close()
        pipe = JsonPipe(mine)
        while (messages := pipe.receive()) is not None:
            for message in messages:
                assert isinstance(message["kind"], str)


PIPE = frames(
    {"kind": "note", "line": "x"}, {"kind": "shard", "entry": {"file": "a.npz"}}, {"kind": "stats"}
)


# the end of a run, as a rank reads it

END = json.dumps(RunEnd("rank 1 on a died", 1, is_lost=True, lost=(1,))).encode()


def read_end(data: bytes) -> None:
    end = RunEnd.from_json(data)
    assert isinstance(end.exit_code, int)
    assert "\n" not in end.line


TARGETS = (
    Target("uci", lambda: list(UCI), uci, "text", UCI_WORDS + FEN_WORDS),
    Target("pipe", lambda: [PIPE], plain(read_pipe), "bytes", JSON_WORDS),
    Target("end", lambda: [END], plain(read_end), "bytes", JSON_WORDS),
)
