"""Writes a worker's finished games as shards, in a thread of its own."""

import ctypes
import os
from collections.abc import Callable
from enum import Enum, auto
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic

from vecchess.store.manifest import ShardEntry
from vecchess.store.records import GameRecords, concatenate
from vecchess.store.shard import write_shard
from vecchess.store.stats import GameStats

Report = Callable[[ShardEntry], object]


class Order(Enum):
    """What the writer is told between records."""

    FLUSH = auto()
    CLOSE = auto()


class ShardWriter:
    """Collects records and writes a shard every so many games or seconds."""

    def __init__(
        self, folder: Path, prefix: str, shard_games: int, interval_s: float, report: Report
    ) -> None:
        """Files are named ``prefix-NNNNNN.npz``; ``report(entry)`` follows each write."""
        self._folder = folder
        self._prefix = prefix
        self._shard_games = shard_games
        self._interval_s = interval_s
        self._report = report
        self._queue: SimpleQueue[GameRecords | Order] = SimpleQueue()
        self._waiting: list[GameRecords] = []
        self._num_written = 0
        self._last_write = monotonic()
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name="shard-writer", daemon=True)
        self._thread.start()

    def put(self, records: list[GameRecords]) -> None:
        """Take finished games; raises what writing earlier ones raised."""
        self._raise_error()
        for part in records:
            self._queue.put(part)

    def flush(self) -> None:
        """Write what is waiting soon, however little it is."""
        self._queue.put(Order.FLUSH)

    def close(self) -> None:
        """Write all that is left; raises what writing raised."""
        self._queue.put(Order.CLOSE)
        self._thread.join()
        self._raise_error()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            while self._take():
                if self._is_due():
                    self._write()
        except BaseException as error:  # handed to the central loop by put or close
            self._error = error

    def _take(self) -> bool:
        """Wait a while for records; False when there will be no more."""
        patience = min(0.25, self._interval_s) if self._waiting else None
        try:
            records = self._queue.get(timeout=patience)
        except Empty:
            return True
        if isinstance(records, GameRecords):
            self._waiting.append(records)
        elif self._waiting:
            self._write()
        return records is not Order.CLOSE

    def _is_due(self) -> bool:
        if not self._waiting:
            return False
        full = sum(part.num_games for part in self._waiting) >= self._shard_games
        return full or monotonic() - self._last_write >= self._interval_s

    def _write(self) -> None:
        self._write_waiting()
        return_freed_memory()

    def _write_waiting(self) -> None:
        name = f"{self._prefix}-{self._num_written:06d}.npz"
        records = concatenate(self._waiting).by_number()
        sha256 = write_shard(self._folder / name, records)
        self._waiting = []
        self._num_written += 1
        self._last_write = monotonic()
        self._report(ShardEntry(name, sha256, GameStats.of(records)))


def return_freed_memory() -> None:
    """Give pages that hold nothing back to the system, where the C library has a word for it.

    Writing a shard takes several times its size for a moment. glibc would keep the most there
    ever was, in pieces, so the process would grow for minutes before it stays as it is.
    """
    trim = getattr(_c_library(), "malloc_trim", None)
    if trim is not None:
        trim(0)


@cache
def _c_library() -> ctypes.CDLL | None:
    return ctypes.CDLL(None) if os.name == "posix" else None
