"""Pairs of players whose score the ratings do not explain.

A network that cannot mate draws with random and with greedy alike, which no single number shows.
"""

from dataclasses import dataclass
from typing import Any

from vecchess.arena.ratings.pair_results import PairCounts
from vecchess.arena.ratings.ratings import Ratings
from vecchess.arena.ratings.score import expected_score

BEYOND = 3.3 / 1.96
"""Widths of the 95 % interval: 3.3 standard errors, by chance in one pair of 1,000."""


@dataclass(frozen=True)
class RatingResidual:
    """A pair that scored otherwise than its ratings predict, from the view of the first."""

    first: str
    second: str
    score: float
    expected: float
    """Points a game, 0 to 1, both of them."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "first": self.first,
            "second": self.second,
            "score": round(self.score, 4),
            "expected": round(self.expected, 4),
        }

    def __str__(self) -> str:
        """One line for people."""
        return (
            f"{self.first} against {self.second}: {self.score:.1%}, where the ratings expect "
            f"{self.expected:.1%}"
        )


def large_residuals(all_counts: list[PairCounts], ratings: Ratings) -> list[RatingResidual]:
    """The pairs whose score is further from the expectation of ``ratings`` than chance explains;
    the furthest first."""
    found = []
    for counts in all_counts:
        expected = expected_score(ratings.difference(counts.first, counts.second).elo)
        score = counts.score
        low, high = score.interval
        width = high - score.score if expected > score.score else score.score - low
        if abs(expected - score.score) > BEYOND * width:
            found.append(RatingResidual(counts.first, counts.second, score.score, expected))
    return sorted(found, key=lambda one: -abs(one.score - one.expected))
