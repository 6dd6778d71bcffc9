"""Statistics of finished games: sums that add up over shards, workers and runs."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.rules import Termination
from vecchess.errors import DataError
from vecchess.store.records import (
    BLACK_WOULD_RESIGN,
    MAX_PLIES,
    PLAYTHROUGH,
    WHITE_WOULD_RESIGN,
    GameRecords,
)

LENGTH_BIN = 32
"""Plies in a bin of the histogram of lengths."""
_MOST = 1 << 62
"""Larger counts are refused."""
_KEYS = {
    "terminations": frozenset(reason.name.lower() for reason in Termination),
    "lengths": frozenset(map(str, range(0, MAX_PLIES + 1, LENGTH_BIN))),
    "time_steps": frozenset(map(str, range(1, 256))),
}
"""The possible keys of each table. Time steps are a byte."""


@dataclass
class GameStats:
    """Counts over finished games. Lengths are in plies, results are White's."""

    games: int = 0
    plies: int = 0
    white_wins: int = 0
    draws: int = 0
    black_wins: int = 0
    terminations: dict[str, int] = field(default_factory=dict)
    """Games by ``Termination`` name, lower case: each reason of a draw is counted by itself."""
    lengths: dict[str, int] = field(default_factory=dict)
    """Games by length: the key is the first ply of a bin of 32."""
    time_steps: dict[str, int] = field(default_factory=dict)
    """Positions by the time steps the network took."""
    resign_checks: int = 0
    """Games in which a side would have resigned but had to play on."""
    resign_false_positives: int = 0
    """Those of them that the side did not lose."""
    searched_plies: int = 0
    """Plies whose move a search chose."""
    visits: int = 0
    """Simulations at the roots of all those searches."""
    full_searches: int = 0
    """Those of them that were full searches, not fast ones."""

    @classmethod
    def of(cls, records: GameRecords) -> "GameStats":
        """Count ``records``. Raises DataError where a game ended in a way that is unknown."""
        checked, wrong = _resign_checks(records)
        return cls(
            games=records.num_games,
            plies=int(records.lengths.sum()),
            white_wins=int((records.result > 0).sum()),
            draws=int((records.result == 0).sum()),
            black_wins=int((records.result < 0).sum()),
            terminations={
                _name(code): count for code, count in _counts(records.termination).items()
            },
            lengths={
                str(code * LENGTH_BIN): count
                for code, count in _counts(records.lengths // LENGTH_BIN).items()
            },
            time_steps={
                str(steps): count for steps, count in _counts(records.steps).items() if steps
            },
            resign_checks=checked,
            resign_false_positives=wrong,
            searched_plies=int((records.visits > 0).sum()),
            visits=int(records.visits.sum()),
            full_searches=int((records.full > 0).sum()),
        )

    @classmethod
    def from_dict(cls, values: Any) -> "GameStats":
        """The inverse of ``to_dict``. Raises ValueError for anything else."""
        stats = cls()
        if not isinstance(values, dict) or not values.keys() <= vars(stats).keys():
            raise ValueError("not counts of games")
        for name, value in values.items():
            is_table = isinstance(getattr(stats, name), dict)
            if isinstance(value, dict) != is_table or not _are_counts(name, value):
                raise ValueError(f'"{name}" is no count of games')
            setattr(stats, name, value)
        return stats

    def add(self, other: "GameStats") -> None:
        """Add ``other`` to these counts."""
        for name, value in vars(other).items():
            own = getattr(self, name)
            if isinstance(value, dict):
                for key, count in value.items():
                    own[key] = own.get(key, 0) + count
            else:
                setattr(self, name, own + value)

    @property
    def mean_length(self) -> float:
        """Plies a game."""
        return self.plies / max(self.games, 1)

    @property
    def mean_time_steps(self) -> float:
        """Time steps a position that the network evaluated."""
        asked = sum(self.time_steps.values())
        return sum(int(t) * n for t, n in self.time_steps.items()) / max(asked, 1)

    @property
    def mean_visits(self) -> float:
        """Simulations a searched ply."""
        return self.visits / max(self.searched_plies, 1)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, as in the manifest and in ``--json``."""
        return {
            name: dict(sorted(value.items())) if isinstance(value, dict) else value
            for name, value in vars(self).items()
        }


def _counts(values: NDArray[Any]) -> dict[int, int]:
    codes, counts = np.unique(values, return_counts=True)
    return {int(code): int(count) for code, count in zip(codes, counts, strict=True)}


def _name(code: int) -> str:
    try:
        return Termination(code).name.lower()
    except ValueError:
        raise DataError(f"a game ended by {code}, which is unknown") from None


def _are_counts(name: str, value: Any) -> bool:
    """Whether it is a count, or a table of counts with possible keys."""
    if not isinstance(value, dict):
        return _is_count(value)
    return value.keys() <= _KEYS[name] and all(_is_count(count) for count in value.values())


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MOST


def _resign_checks(records: GameRecords) -> tuple[int, int]:
    """Playthrough games in which a side would have resigned, and those it did not lose."""
    playthrough = (records.resign & PLAYTHROUGH) != 0
    white = playthrough & ((records.resign & WHITE_WOULD_RESIGN) != 0)
    black = playthrough & ((records.resign & BLACK_WOULD_RESIGN) != 0)
    wrong = (white & (records.result >= 0)) | (black & (records.result <= 0))
    return int((white | black).sum()), int(wrong.sum())
