"""The score of a match, with its interval and likelihood of superiority.

The interval is Wilson's (1927) for shares, with pairs of games for trials and their number divided
by a design effect, as survey statistics does for clusters: the variance of the pairs' points as a
share of the greatest that their mean allows. Where few pairs differ the share would come out as
nothing; some virtual variance keeps it honest. So the interval stays within 0 and 1 and has a
width, also where all pairs are alike.

Decisions 126 and 127.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, log10, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

STANDARD_ERRORS = 1.96
"""To either side: 95 % of a normal distribution."""
VIRTUAL = STANDARD_ERRORS**2 / 4
"""Virtual variance of pairs, in their sum of squares: as Agresti and Coull (1998) add 1.96^2
trials, at an even score. N pairs of one point each then leave the score within 1.92 / N of a half,
while the law of small numbers asks for 1.84 / N."""
NORMALISED_ELO = 800 / log(10)
"""Elo of a score that is a standard deviation of one game above a half: M. Van den Bergh, Comments
on Normalized Elo, https://www.cantate.be/Fishtest/normalized_elo_practical.pdf"""


@dataclass(frozen=True)
class Score:
    """The result of one player in its games, two a pair with the same opening."""

    wins: int
    draws: int
    losses: int
    ptnml: tuple[int, ...]
    """Pairs by points: 0, 1/2, 1, 1 1/2, 2. "Pentanomial", as in fishtest."""
    score: float
    """Points a game, 0 to 1."""
    interval: tuple[float, float]
    """95 % of the score, from the variance of the pairs' points."""
    los: float
    """Likelihood of superiority, 0 to 1: that endless games would give more than a half, by a
    normal distribution. Above 0.975 where the interval is above a half."""

    @classmethod
    def of(cls, points: NDArray[np.float64]) -> "Score":
        """points: float64[G] of 0, 1/2, 1, G even and above 0, the games of a pair side by side."""
        pairs = points.reshape(-1, 2).sum(axis=1)
        wins, draws, losses = (int((points == worth).sum()) for worth in (1, 0.5, 0))
        return cls.counted(wins, draws, losses, np.bincount((2 * pairs).astype(int), minlength=5))

    @classmethod
    def counted(
        cls, wins: int, draws: int, losses: int, ptnml: Sequence[int] | NDArray[np.int64]
    ) -> "Score":
        """The score of games counted before, at least one pair of them; ptnml: int64[5]."""
        counts = np.array(ptnml, np.int64)
        score = (wins + draws / 2) / (wins + draws + losses)
        trials = int(counts.sum()) / variance_share(counts, score)
        return cls(
            wins=wins,
            draws=draws,
            losses=losses,
            ptnml=tuple(counts.tolist()),
            score=score,
            interval=wilson(score, trials),
            los=NormalDist().cdf((score - 0.5) * 2 * sqrt(trials)),
        )

    @property
    def normalised_elo(self) -> float | None:
        """Difference in strength that does not depend on the share of draws; None where all pairs
        are alike."""
        variance = _squares(np.array(self.ptnml), self.score) / sum(self.ptnml)
        if variance == 0:
            return None
        return round((self.score - 0.5) / sqrt(2 * variance) * NORMALISED_ELO, 1)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the difference in Elo and its 95 % interval; null is
        endless."""
        low, high = self.interval
        return {
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "ptnml": list(self.ptnml),
            "score": round(self.score, 4),
            "score_interval": [round(low, 4), round(high, 4)],
            "elo": elo(self.score),
            "elo_low": elo(low),
            "elo_high": elo(high),
            "los": round(self.los, 4),
            "normalised_elo": self.normalised_elo,
        }


def variance_share(counts: NDArray[np.int64], score: float, expected: float = 1.0) -> float:
    """Variance of trials by points as a share of ``score * (1 - score)``, the greatest there is.

    counts: int64[n] of trials with points 0 .. 1 in even steps, so int64[5] are pairs. expected:
    the share that the virtual variance says, and so where nothing is known; 1 claims the least.
    """
    greatest = counts.sum() * score * (1 - score)
    return float((_squares(counts, score) + expected * VIRTUAL) / (greatest + VIRTUAL))


def elo(score: float) -> float | None:
    """Difference in Elo that a score means; None for nothing and for everything."""
    return round(400 * log10(score / (1 - score)), 1) if 0 < score < 1 else None


def expected_score(difference: float) -> float:
    """Points a game, 0 to 1, of a player ``difference`` Elo above the other."""
    return float(1 / (1 + 10 ** (-difference / 400)))


def _squares(counts: NDArray[np.int64], score: float) -> float:
    """Sum of squares about ``score`` of trials with points 0 .. 1 in even steps."""
    points = np.linspace(0, 1, len(counts))
    return float(counts @ (points - score) ** 2)


def wilson(score: float, trials: float) -> tuple[float, float]:
    """95 % of a share found in so many trials, which need not be whole and are above 0."""
    weight = STANDARD_ERRORS**2 / trials
    centre = (score + weight / 2) / (1 + weight)
    width = sqrt(weight * (score * (1 - score) + weight / 4)) / (1 + weight)
    low = centre - width if score > 0 else 0.0
    high = centre + width if score < 1 else 1.0
    return low, high
