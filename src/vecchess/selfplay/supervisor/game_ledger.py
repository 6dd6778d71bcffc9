"""The parent's ledger: each game, or segment of a training, is open, with a worker, or recorded.

Each counts once. An id below is the number of a game, or of a segment (``store/seating.py``).
"""

from collections.abc import Callable, Iterator

import numpy as np

from vecchess.errors import DataError
from vecchess.runtime.atomic_write import remove_file
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.store.blocks import Blocks
from vecchess.store.id_set import Ids, IdSet
from vecchess.store.maintenance.rewrite import finish_rewriting
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.shard import NO_RUN
from vecchess.store.stats import GameStats

MAX_RANGES = 256
"""Ranges handed out at a time: a pipe holds a message of that many before it is read."""


class GameLedger:
    """Every id of the target is open, with a worker, or recorded in the manifest.

    The target is what ``open`` was given last: the games of a run, or of one generation.
    """

    def __init__(
        self,
        manifest: Manifest,
        run_id: str = NO_RUN,
        report_line: ReportLine = no_report,
        counts_segments: bool = False,
    ) -> None:
        """Adopt shards that a lost parent did not record. No target; no recorded shard is opened.

        counts_segments: ids are those of segments, and shards without a line are discarded.
        ``run_id``: shards of another run are set aside; ``report_line`` gets a line for each.
        Raises FileUnreadable where a recorded shard is missing, or one to adopt cannot be read.
        """
        self._manifest = manifest
        self._run_id, self._report_line = run_id, report_line
        self._counts_segments = counts_segments
        finish_rewriting(manifest)
        manifest.check_files()
        for _ in self._adopt():
            pass
        self._target = IdSet()
        self._open = IdSet()
        self._with_worker: dict[int, IdSet] = {}
        self.stats = GameStats()
        """Counts over the recorded games of the target."""

    @property
    def target(self) -> IdSet:
        """What ``open`` was given last, and ``extend`` added."""
        return self._target

    @property
    def num_open(self) -> int:
        """Games of the target that no worker has yet."""
        return len(self._open)

    @property
    def num_recorded(self) -> int:
        """Games of the target that are on disk and in the manifest."""
        return len(self._target) - len(self.missing)

    @property
    def is_complete(self) -> bool:
        """True when every game of the target is recorded."""
        return not self._open and not any(self._with_worker.values())

    @property
    def missing(self) -> IdSet:
        """The games of the target that are not recorded."""
        return self._target - self._recorded

    @property
    def _recorded(self) -> IdSet:
        return self._manifest.segments if self._counts_segments else self._manifest.ids

    def _ids_of(self, entry: ShardEntry) -> IdSet:
        return entry.segments if self._counts_segments else entry.ids

    def open(self, target: IdSet) -> None:
        """Make the games ``target`` the target: those recorded stay so, the others are open.

        No worker may have a game.
        """
        assert not any(self._with_worker.values()), "games of the last target are being played"
        self._target = target
        self._open = self.missing
        self._count()

    def _count(self) -> None:
        """Set the counts over the recorded games of the target."""
        target, self.stats = self._target, GameStats()
        if self._counts_segments:
            self.stats.add(*(entry.stats for entry in self._manifest.entries_of(target)))
            return
        if not self._manifest.ids - target:
            self.stats.add(self._manifest.stats)
            return
        if not self._manifest.pruned - target:
            self.stats.add(self._manifest.pruned_stats)
        for entry in self._manifest.entries_with(*target.span):
            if entry.ids & target:
                self.stats.add(self._stats_in_target(entry))

    def extend(self, ids: IdSet) -> None:
        """Add ``ids`` to the target. None of them is with a worker."""
        self._target |= ids
        self._open |= ids - self._recorded

    @property
    def entries(self) -> list[ShardEntry]:
        """The recorded shards, in order."""
        return self._manifest.entries

    def drop(self, is_wrong: Callable[[ShardEntry], bool]) -> None:
        """Take recorded shards back: those of their games that are of the target are open again.

        Raises FileBusy where another process has the manifest for long; it can be repeated.
        """
        with self._manifest.locked():
            dropped = [entry for entry in self.entries if is_wrong(entry)]
            self._manifest.replace([entry for entry in self.entries if not is_wrong(entry)])
            self._open |= IdSet.union(map(self._ids_of, dropped)) & self._target
        for entry in dropped:
            remove_file(self._manifest.folder / entry.file)
        self._count()

    def forget(self) -> None:
        """Forget the recorded shards: they are kept elsewhere. The target is empty then."""
        self._manifest.replace([])
        self._target = self._open = IdSet()

    def has_missing(self, ids: Ids) -> bool:
        """Whether one of ``ids``, int64[K], is not recorded, in the target or not."""
        return not self._recorded.contains(ids).all()

    def assign(self, worker: int, count: int, blocks: Blocks | None = None) -> IdSet:
        """Give up to ``count`` open games to ``worker``, or as many more as make whole ``blocks``;
        returns their ids."""
        ids = self._open.lowest(count)
        if blocks is not None:
            ids = IdSet.union(map(blocks.ids, blocks.touched_by(ids))) & self._open
        ids = IdSet(ids.ranges[:MAX_RANGES])
        self._open -= ids
        self._with_worker[worker] = self.assigned_to(worker) | ids
        return ids

    def assigned_to(self, worker: int) -> IdSet:
        """The games that ``worker`` has."""
        return self._with_worker.get(worker, IdSet())

    def record(self, worker: int, entry: ShardEntry) -> None:
        """Record a shard that ``worker`` has written.

        Raises DataError where its games are not games that the worker was given.
        """
        assigned, ids = self.assigned_to(worker), self._ids_of(entry)
        if ids - assigned:
            raise DataError(f"{entry.file} does not hold the games that its worker was given")
        self._manifest.append(entry)
        self._with_worker[worker] = assigned - ids
        self.stats.add(entry.stats)

    def release(self, worker: int, shard_prefix: str) -> int:
        """Take back what a dead ``worker`` left unfinished; returns how many games that is.

        Shards it wrote and could not report are recorded. Raises DataError where one cannot be
        read, or the manifest not be written: what is left can be taken back later.
        """
        for entry in self._adopt(shard_prefix):
            self.stats.add(self._stats_in_target(entry))
            self._with_worker[worker] = self.assigned_to(worker) - entry.ids
        unfinished = self._with_worker.pop(worker, IdSet())
        self._open |= unfinished
        return len(unfinished)

    def _adopt(self, prefix: str = "") -> Iterator[ShardEntry]:
        discards = self._counts_segments
        return self._manifest.adopt(prefix, self._run_id, self._report_line, discards)

    def _stats_in_target(self, entry: ShardEntry) -> GameStats:
        """Counts of those games of a shard that belong to the target."""
        if not entry.ids - self._target:
            return entry.stats
        records = self._manifest.shard(entry).read()
        inside = self._target.contains(records.numbers)
        return GameStats.of(records.take(np.flatnonzero(inside)))
