"""Writes a worker's finished games as shards, in a thread of its own.

While the disk is full they wait, and are tried again until there is room, or the worker has to end.

Decisions 43, 47 and 224.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from enum import Enum, auto
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic

import numpy as np

from vecchess.chess.rules import Termination
from vecchess.runtime.freed_memory import return_freed_memory
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.write_retry import WriteRetry
from vecchess.selfplay.games.finished_games import (
    FinishedGames,
    ended_and_waiting,
    finished_records,
    joined_games,
)
from vecchess.store.blocks import Blocks
from vecchess.store.id_set import Ids, IdSet
from vecchess.store.inflight import SavedGames, join_saved
from vecchess.store.manifest import ShardEntry
from vecchess.store.records import GameRecords
from vecchess.store.run_folder import RunFolder
from vecchess.store.seating import Seating
from vecchess.store.shard import NO_RUN, shard_bytes

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
        run: RunFolder,
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
        over, and before it the games that wait, in ``cuts``; or once a block of ``blocks`` is over.
        ``report_line`` gets a line when games wait for a full disk, and when they no longer do.
        """
        self._run_folder = run
        self._prefix = prefix
        self._run_id = run_id
        self._seating = seating
        self.segments = IdSet()
        """Some of the segments that are played, all of one generation."""
        self.blocks: Blocks | None = None
        """What is played where it is given out in blocks: each of them becomes a shard. Of these
        only whole ones are written, so that nothing else may wait when it is set."""
        self._shard_games = shard_games
        self._interval_s = interval_s
        self._on_shard = on_shard
        self._queue: SimpleQueue[FinishedGames | WriterCommand] = SimpleQueue()
        self._waiting: list[FinishedGames] = []
        self._held: SavedGames | None = None
        """Games of blocks that are not over, of the parts that waited when others were."""
        self._over: Counter[int] = Counter()
        """How many ids of each block are over, of those that are not written."""
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
        if self._seating is not None or self.blocks is not None:
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
                    self._count(item)
                if self.blocks is not None:
                    if whole := self._whole_blocks(self.blocks):
                        self._retry.attempt(partial(self._write_blocks, self.blocks, whole))
                elif self._waiting and (item is WriterCommand.FLUSH or self._is_due()):
                    self._retry.attempt(self._write)
            if self._waiting and self._seating is None and self.blocks is None:
                self._write()  # the last try: raises DiskFull
        except BaseException as error:  # handed to the central loop by put or close
            self._error = error

    def _next_item(self) -> FinishedGames | WriterCommand | None:
        """The next thing put into the queue; None after a while without any."""
        is_waiting = self._waiting or self._retry.is_waiting
        timeout_s = min(0.25, self._interval_s) if is_waiting else None
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
        if self._seating is None:
            self._write_games(finished_records(self._waiting))
        else:
            self._write_segments(joined_games(self._waiting))
        self._waiting = []
        self.plies_written += self._plies_waiting
        self._games_waiting = self._plies_waiting = 0
        self._last_write = monotonic()
        return_freed_memory()

    def _count(self, part: FinishedGames) -> None:
        """Count the ids that are over in the blocks that they belong to."""
        if self.blocks is not None:
            over = self._ids(part.numbers)
            if self._seating is not None:
                over = over[part.games.termination == Termination.ONGOING]
            self._over.update(self.blocks.of(over).tolist())

    def _ids(self, numbers: Ids) -> Ids:
        """int64[K]: the segments of the games ``numbers``, or without seats these themselves."""
        return self._seating.of_games(self.segments, numbers) if self._seating else numbers

    def _whole_blocks(self, blocks: Blocks) -> list[int]:
        return [block for block, num in self._over.items() if num == len(blocks.ids(block))]

    def _write_blocks(self, blocks: Blocks, whole: list[int]) -> None:
        """Write the blocks ``whole``, a shard each; where that fails the others wait on."""
        if self._waiting:
            parts = [joined_games(self._waiting)]
            self._held = join_saved([*parts, self._held] if self._held else parts)
            self._waiting = []
        assert self._held is not None, "an id is over that no game was put for"
        for block in whole:
            is_in = blocks.of(self._ids(self._held.records.numbers)) == block
            rows = np.flatnonzero(is_in)
            games = self._held.take(rows[np.argsort(self._held.records.numbers[rows])])
            if self._seating is None:
                self._write_games(games.records.with_used_nets())
            else:
                self._write_segments(games)
            self._held = self._held.take(np.flatnonzero(~is_in))
            self._games_waiting = self._held.num_games
            del self._over[block]
        return_freed_memory()

    def _write_segments(self, games: SavedGames) -> None:
        """Write the games that wait, then those that ended."""
        ended, waiting = ended_and_waiting(games)
        waiting = replace(waiting, records=waiting.records.with_used_nets())
        cut = waiting.to_bytes(self._run_id, compressed=self.blocks is not None)
        self._write_games(ended.with_used_nets(), cut, IdSet.of(self._ids(waiting.records.numbers)))

    def _write_games(
        self, records: GameRecords, cut: bytes = b"", segments: IdSet | None = None
    ) -> None:
        """Write a shard as ``RunFolder.write_games`` does, and report it."""
        name = f"{self._prefix}-{self._num_written:06d}.npz"
        shard = shard_bytes(records, self._run_id)
        entry = self._run_folder.write_games(name, records, shard, cut, segments)
        self._num_written += 1
        self._on_shard(entry)
