"""The result of a player in a suite: shares with their intervals, by groups of positions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.arena.ratings.score import STANDARD_ERRORS, wilson


@dataclass(frozen=True)
class Figure:
    """A number for each of N positions, NaN where there is none; told as its mean, or as RMS."""

    values: NDArray[np.float64]
    is_rms: bool = False

    def mean(self, rows: NDArray[np.bool_]) -> float | None:
        """Over the positions of ``rows``, bool[N]; None where none has a number."""
        known = self.values[rows & ~np.isnan(self.values)]
        if not len(known):
            return None
        return round(float(np.sqrt((known**2).mean()) if self.is_rms else known.mean()), 4)


@dataclass(frozen=True)
class SuiteResult:
    """What one player did in the N positions of a suite.

    hits: bool[N], whether it found or won. figures: by name. groups: of each position, "" for none.
    forfeits: moves that it owed.
    """

    player: str
    hits: NDArray[np.bool_]
    figures: Mapping[str, Figure]
    groups: Sequence[str]
    forfeits: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: of all positions, and of each group where there are several."""
        every = np.ones(len(self.hits), np.bool_)
        names = list(dict.fromkeys(self.groups))
        of = np.array(self.groups)
        groups = {name: self._facts(of == name) for name in names} if len(names) > 1 else {}
        facts = {"player": self.player, **self._facts(every), "forfeits": self.forfeits}
        return facts | ({"groups": groups} if groups else {})

    def _facts(self, rows: NDArray[np.bool_]) -> dict[str, Any]:
        hits, num = int(self.hits[rows].sum()), int(rows.sum())
        low, high = wilson(hits / num, num)
        means = {name: figure.mean(rows) for name, figure in self.figures.items()}
        return {
            "positions": num,
            "hits": hits,
            "share": round(hits / num, 4),
            "interval": [round(low, 4), round(high, 4)],
            **means,
        }


def share_ratio(first: SuiteResult, second: SuiteResult) -> dict[str, Any]:
    """The share of ``second`` over that of ``first`` in the same positions, with its 95 % interval.

    The logarithm of a ratio of paired shares is about normal; its variance comes from the positions
    where the two differ (Desu and Raghavarao 2004). None where one of them has no hit.
    """
    hits, others = int(first.hits.sum()), int(second.hits.sum())
    if not hits or not others:
        return {"ratio": None, "ratio_interval": None}
    ratio, differ = others / hits, int((first.hits != second.hits).sum())
    factor = exp(STANDARD_ERRORS * sqrt(differ / (hits * others)))
    bounds = [round(ratio / factor, 4), round(ratio * factor, 4)]
    return {"ratio": round(ratio, 4), "ratio_interval": bounds}
