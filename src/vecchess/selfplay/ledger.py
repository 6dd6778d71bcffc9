"""The parent's book of games: which number is where, and which is recorded. Each counts once."""

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import DataError
from vecchess.selfplay.numbers import NumberPool, ranges_of
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.shard import read_numbers
from vecchess.store.stats import GameStats

MAX_RANGES = 256
"""Ranges handed out at a time: a pipe holds that many without anybody reading it."""


class Ledger:
    """Numbers 0 .. num_games - 1 are open, with a worker, or recorded in the manifest."""

    def __init__(self, manifest: Manifest, num_games: int) -> None:
        """Read what is recorded; shards a lost parent did not record are adopted."""
        self._manifest = manifest
        self._recorded = np.zeros(num_games, np.bool_)
        for entry in manifest.entries:
            self._mark(read_numbers(manifest.folder / entry.file))
        manifest.adopt(self._claim)
        self.num_target = num_games
        self._open = NumberPool()
        self._open.add(ranges_of(np.flatnonzero(~self._recorded[:num_games]).tolist()))
        self._with_worker: dict[int, set[int]] = {}

    @property
    def num_open(self) -> int:
        """Numbers no worker has yet."""
        return len(self._open)

    @property
    def num_recorded(self) -> int:
        """Games of the target that are on disk for good."""
        return int(self._recorded[: self.num_target].sum())

    @property
    def is_complete(self) -> bool:
        """True when every game of the target is recorded."""
        return self.num_recorded == self.num_target

    @property
    def stats(self) -> GameStats:
        """Counts over all recorded games."""
        return self._manifest.stats

    def hand_out(self, worker: int, count: int) -> list[tuple[int, int]]:
        """Give up to ``count`` numbers to ``worker``, as half-open ranges."""
        ranges = ranges_of(sorted(self._open.take(count)))
        self._open.add(ranges[MAX_RANGES:])
        ranges = ranges[:MAX_RANGES]
        mine = self._with_worker.setdefault(worker, set())
        for first, end in ranges:
            mine.update(range(first, end))
        return ranges

    def record(self, worker: int, entry: ShardEntry) -> None:
        """Record a shard that ``worker`` reports.

        Raises DataError where it holds a game that the worker was not given: that cannot happen
        unless files were exchanged under a running worker.
        """
        numbers = set(read_numbers(self._manifest.folder / entry.file).tolist())
        mine = self._with_worker.get(worker, set())
        if len(numbers) != entry.stats.games or not numbers <= mine:
            raise DataError(f"{entry.file} does not hold the games that its worker was given")
        self._manifest.append(entry)
        mine -= numbers
        self._mark(np.array(sorted(numbers), np.int64))

    def release(self, worker: int, shard_prefix: str) -> int:
        """Take back what a dead ``worker`` left unfinished; returns how many games that is.

        Shards it wrote and could not report are recorded.
        """
        self._manifest.adopt(self._claim, shard_prefix)
        mine = self._with_worker.pop(worker, set())
        unfinished = sorted(number for number in mine if not self._recorded[number])
        self._open.add(ranges_of(unfinished))
        return len(unfinished)

    def _claim(self, numbers: NDArray[np.int64]) -> bool:
        """Mark ``numbers`` as recorded unless one of them is already; tells which it was."""
        known = numbers[numbers < len(self._recorded)]
        if bool(self._recorded[known].any()):
            return True
        self._mark(numbers)
        return False

    def _mark(self, numbers: NDArray[np.int64]) -> None:
        beyond = int(numbers.max(initial=-1)) + 1 - len(self._recorded)
        if beyond > 0:  # a run resumed with a lower target than it had
            self._recorded = np.concatenate([self._recorded, np.zeros(beyond, np.bool_)])
        self._recorded[numbers] = True
