"""Writes a worker's finished games as shards, in a thread of its own.

While the disk is full they wait, and are tried again until there is room, or the worker has to end.

Decisions 43, 47 and 224.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from enum import Enum, auto
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic

from vecchess.runtime.atomic_write import path_write_error, write_atomically
from vecchess.runtime.freed_memory import return_freed_memory
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.write_retry import WriteRetry
from vecchess.selfplay.games.finished_games import (
    FinishedGames,
    ended_and_waiting,
    finished_records,
)
from vecchess.store.id_set import IdSet
from vecchess.store.manifest import ShardEntry
from vecchess.store.records import GameRecords
from vecchess.store.run_folder import CUTS
from vecchess.store.seating import Seating
from vecchess.store.shard import NO_RUN, write_shard

MOST_UNWRITTEN = 1 << 20
"""Plies: play that is faster than writing pauses once so many wait. A shard is written with half of
them, however few games that is, so that play need not wait for the interval."""
OnShard = Callable[[ShardEntry], object]


class WriterCommand(Enum):
    """What the writer is told between games."""

    FLUSH = auto()
    CLOSE = auto()


class ShardWriter:
    """Collects finished games and writes a shard every so many games or seconds."""

    def __init__(
        self,
        folder: Path,
        prefix: str,
        shard_games: int,
        interval_s: float,
        on_shard: OnShard,
        report_line: ReportLine,
        run_id: str = NO_RUN,
        seating: Seating | None = None,
    ) -> None:
        """Files are named ``prefix-NNNNNN.npz``; ``on_shard(entry)`` follows each write.

        seating: of a training. A shard is written only when it is asked for, once all segments are
        over, and before it the games that wait, in ``cuts`` beside ``folder``.
        ``report_line`` gets a line when games wait for a full disk, and when they no longer do.
        """
        self._folder = folder
        self._prefix = prefix
        self._run_id = run_id
        self._seating = seating
        self.generation = 0
        """Generation of the segments that are played."""
        self._shard_games = shard_games
        self._interval_s = interval_s
        self._on_shard = on_shard
        self._queue: SimpleQueue[FinishedGames | WriterCommand] = SimpleQueue()
        self._waiting: list[FinishedGames] = []
        self._games_waiting = self._plies_waiting = 0
        self.plies_put = self.plies_written = 0  # each changed by one thread alone
        """Plies of the games it was given, and of those that are on the disk."""
        self._num_written = 0
        self._last_write = monotonic()
        self._retry = WriteRetry(
            report_line,
            lambda: f"{self._games_waiting:,} finished games wait for room",
            "the games go on",
        )
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name="shard-writer", daemon=True)
        self._thread.start()

    def put(self, finished: list[FinishedGames]) -> None:
        """Take finished games; raises what writing earlier ones raised."""
        self._raise_error()
        for part in finished:
            self.plies_put += part.num_plies
            self._queue.put(part)

    @property
    def is_behind(self) -> bool:
        """True while the disk is full, or more waits than may be held in memory and be written in
        the time that a stop leaves. Segments are held until all are over, and a stop drops them."""
        if self._seating is not None:
            return self._retry.is_waiting
        return self._retry.is_waiting or self.plies_put - self.plies_written > MOST_UNWRITTEN

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
            while (item := self._next_item()) is not WriterCommand.CLOSE:
                if isinstance(item, FinishedGames):
                    self._waiting.append(item)
                    self._games_waiting += item.num_games
                    self._plies_waiting += item.num_plies
                if self._waiting and (item is WriterCommand.FLUSH or self._is_due()):
                    self._retry.attempt(self._write)
            if self._waiting and self._seating is None:
                self._write()  # the last try: raises DiskFull
        except BaseException as error:  # handed to the central loop by put or close
            self._error = error

    def _next_item(self) -> FinishedGames | WriterCommand | None:
        """The next thing put into the queue; None after a while without any."""
        timeout_s = min(0.25, self._interval_s) if self._waiting else None
        try:
            return self._queue.get(timeout=timeout_s)
        except Empty:
            return None

    def _is_due(self) -> bool:
        if self._seating is not None:
            return self._retry.is_waiting
        return (
            self._retry.is_waiting
            or self._games_waiting >= self._shard_games
            or 2 * self._plies_waiting >= MOST_UNWRITTEN
            or monotonic() - self._last_write >= self._interval_s
        )

    def _write(self) -> None:
        """Write what is waiting; where that fails it waits on."""
        name = f"{self._prefix}-{self._num_written:06d}.npz"
        if self._seating is None:
            entry = self._write_games(name, finished_records(self._waiting))
        else:
            entry = self._write_segments(name, self._seating)
        self._waiting = []
        self.plies_written += self._plies_waiting
        self._games_waiting = self._plies_waiting = 0
        self._num_written += 1
        self._last_write = monotonic()
        self._on_shard(entry)
        return_freed_memory()

    def _write_games(self, name: str, records: GameRecords) -> ShardEntry:
        sha256 = write_shard(self._folder / name, records, self._run_id)
        return ShardEntry.of(name, sha256, records)

    def _write_segments(self, name: str, seating: Seating) -> ShardEntry:
        """Write the games that wait, then those that ended."""
        ended, waiting = ended_and_waiting(self._waiting)
        cut = waiting.to_bytes(self._run_id)
        path = self._folder.parent / CUTS / name
        try:
            path.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise path_write_error(path, error) from None
        write_atomically(path, cut)
        seats = waiting.records.numbers % seating.seats
        segments = IdSet.of(self.generation * seating.seats + seats)
        entry = self._write_games(name, ended)
        return replace(entry, segments=segments, cut=hashlib.sha256(cut).hexdigest())
