"""Writes a worker's finished games as shards, in a thread of its own.

Where the disk is full they wait, and are tried again until there is room, or the worker has to end.
"""

import ctypes
import os
from collections.abc import Callable
from enum import Enum, auto
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic

from vecchess.errors import DiskFull
from vecchess.runtime.reporting import ReportLine
from vecchess.store.manifest import ShardEntry
from vecchess.store.records import GameRecords, concatenate
from vecchess.store.shard import write_shard
from vecchess.store.stats import GameStats

MOST_UNWRITTEN = 1 << 20
"""Plies: whoever plays faster than games are written waits once there are so many. A shard is
written with half of them, however few games that is, so that nobody waits for its interval."""
Report = Callable[[ShardEntry], object]
RETRY_S = 1.0
"""A full disk is tried again so often."""


class WriterCommand(Enum):
    """What the writer is told between records."""

    FLUSH = auto()
    CLOSE = auto()


class ShardWriter:
    """Collects records and writes a shard every so many games or seconds."""

    def __init__(
        self,
        folder: Path,
        prefix: str,
        shard_games: int,
        interval_s: float,
        report: Report,
        report_line: ReportLine,
    ) -> None:
        """Files are named ``prefix-NNNNNN.npz``; ``report(entry)`` follows each write.

        ``report_line`` gets a line when games wait for a full disk.
        """
        self._folder = folder
        self._prefix = prefix
        self._shard_games = shard_games
        self._interval_s = interval_s
        self._report, self._report_line = report, report_line
        self._queue: SimpleQueue[GameRecords | WriterCommand] = SimpleQueue()
        self._waiting: list[GameRecords] = []
        self._games_waiting = self._plies_waiting = 0
        self.plies_put = self.plies_written = 0  # each changed by one thread alone
        """Of the games it was given, and of those that are on the disk."""
        self._num_written = 0
        self._last_write = self._last_try = monotonic()
        self._lacks_room = False
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name="shard-writer", daemon=True)
        self._thread.start()

    def put(self, records: list[GameRecords]) -> None:
        """Take finished games; raises what writing earlier ones raised."""
        self._raise_error()
        for part in records:
            self.plies_put += len(part.action)
            self._queue.put(part)

    @property
    def is_behind(self) -> bool:
        """True while more is waiting than memory, and the time to stop, should be given to, or the
        disk is full."""
        return self._lacks_room or self.plies_put - self.plies_written > MOST_UNWRITTEN

    def flush(self) -> None:
        """Write what is waiting soon, however little it is."""
        self._queue.put(WriterCommand.FLUSH)

    def close(self) -> None:
        """Write all that is left; raises what writing raised."""
        self._queue.put(WriterCommand.CLOSE)
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
            self._games_waiting += records.num_games
            self._plies_waiting += len(records.action)
        elif self._waiting:
            self._write(is_last=records is WriterCommand.CLOSE)
        return records is not WriterCommand.CLOSE

    def _is_due(self) -> bool:
        if not self._waiting:
            return False
        if self._lacks_room:
            return monotonic() - self._last_try >= RETRY_S
        full = self._games_waiting >= self._shard_games
        full = full or 2 * self._plies_waiting >= MOST_UNWRITTEN
        return full or monotonic() - self._last_write >= self._interval_s

    def _write(self, is_last: bool = False) -> None:
        """Write what is waiting; where the disk is full it waits on, but for the last try."""
        self._last_try = monotonic()
        try:
            self._write_waiting()
        except DiskFull as error:
            if is_last:
                raise
            if not self._lacks_room:
                self._report_line(f"{error}: {self._games_waiting:,} finished games wait for room")
            self._lacks_room = True
            return
        if self._lacks_room:
            self._report_line("there is room on the disk again: the games go on")
        self._lacks_room = False
        return_freed_memory()

    def _write_waiting(self) -> None:
        name = f"{self._prefix}-{self._num_written:06d}.npz"
        records = concatenate(self._waiting).by_number()
        sha256 = write_shard(self._folder / name, records)
        self._waiting = []
        self._games_waiting = self._plies_waiting = 0
        self.plies_written += len(records.action)
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
