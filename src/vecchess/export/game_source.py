"""Recorded games in the order of their numbers, from shards that are read when they are needed.

Workers finish games in about the order of their numbers, so few shards overlap: a shard is kept
from its first game to its last.

Decision 98.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vecchess.config import PlayConfig, build, read_toml
from vecchess.errors import ConfigError, DataError, FileUnreadable
from vecchess.export.recorded_game import RecordedGame, open_game
from vecchess.runtime.reporting import ReportLine
from vecchess.store.records import GameRecords
from vecchess.store.replay_positions import ReplayedMoves, replay_moves
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import ShardFile, read_shards
from vecchess.store.sources import check_source, find_shards

OnExported = Callable[[int, int], object]
"""Gets the number of games done, and of all."""


class ExportSource:
    """The games of a run, a folder of shards or a shard."""

    def __init__(
        self, place: Path, wanted: range | None = None, report_line: ReportLine | None = None
    ) -> None:
        """Look into ``place`` for the games ``wanted``, None for all; no game is read yet.

        Damaged shards are reported and left out; without ``report_line`` they raise DataError.
        Raises ConfigError where there is nothing of what is wanted, DataError where a shard cannot
        be read.
        """
        check_source(place)
        self._place = place
        self._report_line = report_line
        self._shards = find_shards([place])
        self._seed, self._chess960 = _played_with(RunFolder(place))
        numbers = [_numbers(shard, report_line) for shard in self._shards]
        self._order = _ordered(numbers, wanted)
        found = np.concatenate(numbers)
        if wanted is not None and len(found) and not self._order:
            raise ConfigError(
                f"{place} has no games {wanted.start}-{wanted.stop - 1}: "
                f"they have numbers from {found.min()} to {found.max()}"
            )

    @property
    def num_games(self) -> int:
        """Games to be exported, unless a shard turns out to be damaged."""
        return len(self._order)

    def games(self, on_exported: OnExported = lambda done, total: None) -> Iterator[RecordedGame]:
        """All games by number; ``on_exported`` is called after each.

        Raises DataError where a shard cannot be read, or all are damaged.
        """
        num_read = 0
        left = np.bincount([shard for shard, _ in self._order], minlength=len(self._shards))
        held: dict[int, tuple[GameRecords, ReplayedMoves] | None] = {}
        for done, (shard, row) in enumerate(self._order, start=1):
            if shard not in held:
                held[shard] = self._read(self._shards[shard])
            known = held[shard]
            if known is not None:
                num_read += 1
                yield open_game(*known, row, self._seed, self._chess960)
            on_exported(done, len(self._order))
            left[shard] -= 1
            if left[shard] == 0:
                del held[shard]
        if not num_read:
            raise DataError(f"{self._place} has no recorded games that can be read")

    def _read(self, shard: ShardFile) -> tuple[GameRecords, ReplayedMoves] | None:
        records = next(read_shards([shard], self._report_line), None)
        if records is None:
            return None
        records = records.by_number()  # as ``_order`` counts them
        try:
            return records, replay_moves(records)
        except DataError as error:
            if self._report_line is None:
                raise
            self._report_line(f"a shard is left out: {shard.path}: {error}")
            return None


def parse_numbers(text: str) -> range:
    """Game numbers as users write them, "0-99" or "7"; ConfigError for anything else."""
    first, dash, last = text.partition("-")
    if first.isdecimal() and (last.isdecimal() if dash else True):
        numbers = range(int(first), int(last if dash else first) + 1)
        if numbers:
            return numbers
    raise ConfigError(f'--games {text}: give one number, or the first and the last as in "0-99"')


def _played_with(run: RunFolder) -> tuple[int | None, bool]:
    """The seed of a run and whether it plays Chess960; None and False where there is no run."""
    if not run.has_begun:
        return None, False
    known = PlayConfig.model_fields
    stored = {key: value for key, value in read_toml(run.config).items() if key in known}
    config = build(PlayConfig, stored)
    return config.seed, config.game.chess960


def _numbers(shard: ShardFile, report_line: ReportLine | None) -> NDArray[np.int64]:
    """int64[G] of a shard, ascending; none where it is damaged, which is reported."""
    try:
        return shard.numbers()
    except FileUnreadable:
        raise
    except DataError:  # reading all of it gives a better message
        records = next(read_shards([shard], report_line), None)
        return np.zeros(0, np.int64) if records is None else np.sort(records.numbers)


def _ordered(numbers: list[NDArray[np.int64]], wanted: range | None) -> list[tuple[int, int]]:
    """(shard, row) of the games wanted, by number."""
    shards = np.repeat(np.arange(len(numbers)), [len(part) for part in numbers])
    rows = np.concatenate([np.arange(len(part)) for part in numbers])
    every = np.concatenate(numbers)
    order = np.argsort(every, kind="stable")
    if wanted is not None:
        found = every[order]
        order = order[(found >= wanted.start) & (found < wanted.stop)]
    return list(zip(shards[order].tolist(), rows[order].tolist(), strict=True))
