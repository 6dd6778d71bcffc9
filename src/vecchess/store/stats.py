"""Statistics of finished games: sums that add up over shards, workers and runs."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from operator import attrgetter
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
    """Checked resignations whose side did not lose."""
    searched_plies: int = 0
    """Plies whose move a search chose."""
    visits: int = 0
    """Simulations at the roots of all those searches."""
    full_searches: int = 0
    """Searches that were full, not fast ones."""

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
            terminations=_counts(records.termination, _name),
            lengths=_counts(records.lengths // LENGTH_BIN * LENGTH_BIN),
            time_steps=_counts(records.steps[records.steps > 0]),
            resign_checks=checked,
            resign_false_positives=wrong,
            searched_plies=int((records.visits > 0).sum()),
            visits=int(records.visits.sum()),
            full_searches=int((records.full > 0).sum()),
        )

    @classmethod
    def from_dict(cls, values: Any) -> "GameStats":
        """The inverse of ``to_dict``. Raises ValueError for anything else."""
        return cls.from_dicts([values])[0]

    @classmethod
    def from_dicts(cls, values: Sequence[Any]) -> list["GameStats"]:
        """``from_dict`` of each of ``values``; many are checked in little time, field by field."""
        names = {each.name for each in fields(cls)}
        if not set(map(type, values)) <= {dict} or not names.issuperset(chain(*values)):
            raise ValueError("not counts of games")
        for name in names:
            found = [each[name] for each in values if name in each]
            if name in _KEYS:
                are_counts = (
                    set(map(type, found)) <= {dict}
                    and _KEYS[name].issuperset(chain(*found))
                    and _are_counts([count for table in found for count in table.values()])
                )
            else:
                are_counts = _are_counts(found)
            if not are_counts:
                raise ValueError(f'"{name}" is no count of games')
        return [cls(**each) for each in values]

    def add(self, *others: "GameStats") -> None:
        """Add ``others`` to these counts."""
        for name, own in vars(self).items():
            found = [*map(attrgetter(name), others)]
            if isinstance(own, dict):
                sums = Counter(own)
                for table in found:
                    for key, count in table.items():
                        sums[key] += count
                own.update(sums)
            else:
                setattr(self, name, own + sum(found))

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


def _counts(values: NDArray[Any], name: Callable[[int], str] = str) -> dict[str, int]:
    """How often each value occurs, by its ``name``; ascending."""
    codes, counts = np.unique(values, return_counts=True)
    return {name(code): count for code, count in zip(codes.tolist(), counts.tolist(), strict=True)}


def _name(code: int) -> str:
    try:
        return Termination(code).name.lower()
    except ValueError:
        raise DataError(f"a game ended by {code}, which is unknown") from None


def _are_counts(values: list[Any]) -> bool:
    """Whether all are counts."""
    return set(map(type, values)) <= {int} and (
        not values or 0 <= min(values) <= max(values) <= _MOST
    )


def _resign_checks(records: GameRecords) -> tuple[int, int]:
    """Playthrough games in which a side would have resigned, and those it did not lose."""
    playthrough = (records.resign & PLAYTHROUGH) != 0
    white = playthrough & ((records.resign & WHITE_WOULD_RESIGN) != 0)
    black = playthrough & ((records.resign & BLACK_WOULD_RESIGN) != 0)
    wrong = (white & (records.result >= 0)) | (black & (records.result <= 0))
    return int((white | black).sum()), int(wrong.sum())
