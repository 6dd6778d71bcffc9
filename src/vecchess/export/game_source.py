"""Recorded games in the order of their numbers, from shards that are read when they are needed.

Workers finish games in about the order of their numbers, so few shards overlap: a shard is kept
from its first game to its last.

Decision 98.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.fen import is_chess960
from vecchess.chess.pgn import start_board
from vecchess.chess.position import Positions
from vecchess.chess.rules import Termination
from vecchess.config import PlayConfig, build, read_toml
from vecchess.errors import ConfigError, DataError, FileUnreadable
from vecchess.runtime.reporting import ReportLine
from vecchess.safe_parse import is_count
from vecchess.store.records import VALUE_UNIT, GameRecords
from vecchess.store.replay_positions import ReplayedMoves, replay_moves
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import rules_digest
from vecchess.store.shard import ShardFile, read_shards
from vecchess.store.sources import check_source, find_shards


@dataclass(frozen=True)
class RecordedGame:
    """Game ``index`` of ``records``, whose moves are ``replayed``."""

    records: GameRecords
    replayed: ReplayedMoves
    index: int
    seed: int | None
    """The run's; None for games that no run of ours played."""
    chess960: bool
    """Castling is Chess960's: the run plays it, or the start needs it."""
    rules: str | None = None
    """``rules_digest`` of the run's settings; None where ``seed`` is."""

    @property
    def number(self) -> int:
        """Number of the game in its run or folder."""
        return int(self.records.numbers[self.index])

    @property
    def num_plies(self) -> int:
        """Moves made."""
        return len(self.moves)

    @cached_property
    def plies(self) -> slice:
        """Its part of the ply columns."""
        return self.records.plies(self.index)

    @property
    def positions(self) -> Positions:
        """uint64[plies, 8]: before each ply, mover's view."""
        return self.replayed.positions[self.plies]

    @property
    def moves(self) -> NDArray[np.uint16]:
        """uint16[plies]: played, mover's view."""
        return self.replayed.moves[self.plies]

    @property
    def result(self) -> int:
        """1 White won, 0 draw, -1 Black won."""
        return int(self.records.result[self.index])

    @property
    def termination(self) -> Termination:
        """Reason of the end."""
        return Termination(self.records.termination[self.index])

    @property
    def nets(self) -> list[str]:
        """Sources of the moves, one name a span: sha256 of networks, names of others."""
        return [net for _, net in self.records.spans(self.index)]

    @cached_property
    def evaluated(self) -> NDArray[np.bool_]:
        """bool[plies]: the position was evaluated, so that its value means something."""
        return self.records.evaluated(self.plies)

    @cached_property
    def balance(self) -> NDArray[np.float64]:
        """float64[plies]: P(win) - P(loss), -1 to 1, mover's view, where it was evaluated."""
        win, draw = (self.column(name).astype(np.float64) for name in ("win", "draw"))
        return (2 * win + draw - VALUE_UNIT) / VALUE_UNIT

    def column(self, name: str) -> NDArray[Any]:
        """The game's part of a ply column of ``GameRecords``."""
        part: NDArray[Any] = getattr(self.records, name)[self.plies]
        return part

    def start_board(self) -> chess.Board:
        """Before the first move."""
        return start_board(self.records.start[self.index], self.chess960)


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
        self._seed, self._chess960, self._rules = _played_with(RunFolder(place))
        numbers = [_numbers(shard, report_line) for shard in self._shards]
        self._order = _ordered(numbers, wanted)
        found = np.concatenate(numbers)
        if wanted is not None and len(found) and not self._order.size:
            raise ConfigError(
                f"{place} has no games {wanted.start}-{wanted.stop - 1}: "
                f"they have numbers from {found.min()} to {found.max()}"
            )

    def games(self, on_exported: OnExported = lambda done, total: None) -> Iterator[RecordedGame]:
        """All games by number; ``on_exported`` is called after each.

        Raises DataError where a shard cannot be read, or all are damaged.
        """
        num_read = 0
        left = np.bincount(self._order[:, 0], minlength=len(self._shards))
        held: dict[int, tuple[GameRecords, ReplayedMoves] | None] = {}
        for done, (shard, row) in enumerate((map(int, game) for game in self._order), start=1):
            if shard not in held:
                held[shard] = self._read(self._shards[shard])
            known = held[shard]
            if known is not None:
                num_read += 1
                chess960 = self._chess960 or is_chess960(known[0].start[row])
                yield RecordedGame(*known, row, self._seed, chess960, self._rules)
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
    if is_count(first) and (is_count(last) if dash else True):
        numbers = range(int(first), int(last if dash else first) + 1)
        if numbers:
            return numbers
    raise ConfigError(f'--games {text}: give one number, or the first and the last as in "0-99"')


def _played_with(run: RunFolder) -> tuple[int | None, bool, str | None]:
    """The seed of a run, whether it plays Chess960, and ``rules_digest`` of its settings; None,
    False and None where there is no run."""
    if not run.has_begun:
        return None, False, None
    known = PlayConfig.model_fields
    stored = {key: value for key, value in read_toml(run.config).items() if key in known}
    config = build(PlayConfig, stored)
    return config.seed, config.game.chess960, rules_digest(config)


def _numbers(shard: ShardFile, report_line: ReportLine | None) -> NDArray[np.int64]:
    """int64[G] of a shard, ascending; none where it is damaged, which is reported."""
    try:
        return shard.numbers()
    except FileUnreadable:
        raise
    except DataError:  # reading all of it gives a better message
        records = next(read_shards([shard], report_line), None)
        return np.zeros(0, np.int64) if records is None else np.sort(records.numbers)


def _ordered(numbers: list[NDArray[np.int64]], wanted: range | None) -> NDArray[np.int32]:
    """int32[G, 2]: shard and row of the games wanted, by number."""
    shards = np.repeat(np.arange(len(numbers)), [len(part) for part in numbers])
    rows = np.concatenate([np.arange(len(part)) for part in numbers])
    every = np.concatenate(numbers)
    order = np.argsort(every, kind="stable")
    if wanted is not None:
        found = every[order]
        order = order[(found >= wanted.start) & (found < wanted.stop)]
    return np.stack([shards[order], rows[order]], axis=1, dtype=np.int32, casting="same_kind")
