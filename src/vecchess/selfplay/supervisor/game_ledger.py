"""The parent's book of games: which number is where, and which is recorded. Each counts once."""

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import DataError
from vecchess.selfplay.games.game_ids import GameIdPool, ranges_of
from vecchess.store.id_set import NumberSet, Range, count_of, is_within
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.shard import read_numbers, read_shard
from vecchess.store.stats import GameStats

MAX_RANGES = 256
"""Ranges handed out at a time: a pipe holds that many without anybody reading it."""


class GameLedger:
    """Every number of the target is open, with a worker, or recorded in the manifest.

    The target is what ``open`` was given last: the games of a run, or of one generation.
    """

    def __init__(self, manifest: Manifest) -> None:
        """Read what is recorded; shards a lost parent did not record are adopted. No target yet."""
        self._manifest = manifest
        self._recorded = NumberSet()
        self._spans: list[Range] = []
        for entry in manifest.entries:
            self._mark(self._numbers_in(entry))
        for _, numbers in manifest.adopt(self._recorded.has_any):
            self._mark(numbers)
        self._target: list[Range] = []
        self._num_missing = 0
        self._open = GameIdPool()
        self._with_worker: dict[int, set[int]] = {}
        self.num_target = 0
        """Games of the target."""
        self.stats = GameStats()
        """Counts over those that are recorded."""

    @property
    def num_open(self) -> int:
        """Numbers no worker has yet."""
        return len(self._open)

    @property
    def num_recorded(self) -> int:
        """Games of the target that are on disk for good."""
        return self.num_target - self._num_missing

    @property
    def is_complete(self) -> bool:
        """True when every game of the target is recorded."""
        return self._num_missing == 0

    def open(self, ranges: list[Range]) -> None:
        """Make the games of half-open ``ranges``, which do not overlap, the target.

        What is recorded of them stays so, the others are open. No worker may have a game.
        """
        assert not any(self._with_worker.values()), "games of the last target are being played"
        missing = self._recorded.missing(ranges)
        self._target = [(first, end) for first, end in ranges if first < end]
        self.num_target, self._num_missing = count_of(self._target), count_of(missing)
        self._open.clear()
        self._open.add(missing)
        self.stats = GameStats()
        for entry, span in zip(self._manifest.entries, self._spans, strict=True):
            if any(span[0] < end and first < span[1] for first, end in self._target):
                self.stats.add(self._stats_in_target(entry))

    @property
    def missing(self) -> list[Range]:
        """The games of the target that are not recorded."""
        return self._recorded.missing(self._target)

    def has_missing(self, numbers: NDArray[np.int64]) -> bool:
        """Whether one of ``numbers``, int64[K], is not recorded, be it of this target or not."""
        return bool(self._recorded.missing(ranges_of(np.unique(numbers).tolist())))

    def hand_out(self, worker: int, count: int) -> list[Range]:
        """Give up to ``count`` numbers to ``worker``, as half-open ranges."""
        ranges = ranges_of(sorted(self._open.take(count)))
        self._open.add(ranges[MAX_RANGES:])
        ranges = ranges[:MAX_RANGES]
        mine = self._with_worker.setdefault(worker, set())
        for first, end in ranges:
            mine.update(range(first, end))
        return ranges

    def held_by(self, worker: int) -> list[Range]:
        """The games that ``worker`` has, as half-open ranges."""
        return ranges_of(sorted(self._with_worker.get(worker, set())))

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
        self._num_missing -= len(numbers)
        self.stats.add(entry.stats)
        self._mark(np.array(sorted(numbers), np.int64))

    def release(self, worker: int, shard_prefix: str) -> int:
        """Take back what a dead ``worker`` left unfinished; returns how many games that is.

        Shards it wrote and could not report are recorded. Raises DataError where the disk refuses:
        what is left can be taken back later.
        """
        mine = self._with_worker.setdefault(worker, set())
        for entry, numbers in self._manifest.adopt(self._recorded.has_any, shard_prefix):
            self._mark(numbers)
            self.stats.add(self._stats_in_target(entry))
            self._num_missing -= len(mine.intersection(numbers.tolist()))
            mine.difference_update(numbers.tolist())
        del self._with_worker[worker]
        self._open.add(ranges_of(sorted(mine)))
        return len(mine)

    def _numbers_in(self, entry: ShardEntry) -> NDArray[np.int64]:
        """The numbers of a shard's games; none where it cannot be read any more, or was set aside:
        one bad file does not end a run, its games are played again when they are wanted."""
        try:
            return read_numbers(self._manifest.folder / entry.file)
        except DataError:
            return np.zeros(0, np.int64)

    def _stats_in_target(self, entry: ShardEntry) -> GameStats:
        """Counts of those games of a shard that belong to the target."""
        inside = is_within(read_numbers(self._manifest.folder / entry.file), self._target)
        if inside.all():
            return entry.stats
        records = read_shard(self._manifest.folder / entry.file, entry.sha256)
        return GameStats.of(records.take(np.flatnonzero(inside)))

    def _mark(self, numbers: NDArray[np.int64]) -> None:
        """Note a shard's numbers, and between which it lies: one span for each of the entries."""
        self._recorded.add(numbers)
        first = int(numbers.min(initial=0)) if len(numbers) else 0
        self._spans.append((first, int(numbers.max(initial=-1)) + 1))
