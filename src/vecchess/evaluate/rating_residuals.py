"""Results that ratings do not explain: strength against some is not always strength against all.

A network that cannot mate draws with random and with greedy alike; no one number says so.
"""

from dataclasses import dataclass
from typing import Any

from vecchess.arena.ratings.pair_results import HeadToHead
from vecchess.arena.ratings.ratings import Ratings
from vecchess.arena.ratings.score import expected_score
from vecchess.evaluate.pair_result import score_of

BEYOND = 3.3 / 1.96
"""Widths of the 95 % interval: 3.3 standard errors, by chance in one pair of 1,000."""


@dataclass(frozen=True)
class RatingResidual:
    """A pair that scored otherwise than its ratings say, from the view of the first."""

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
        """In words."""
        return (
            f"{self.first} against {self.second}: {self.score:.1%}, where the ratings expect "
            f"{self.expected:.1%}"
        )


def large_residuals(meetings: list[HeadToHead], ratings: Ratings) -> list[RatingResidual]:
    """Those of ``meetings`` whose score is further from what ``ratings`` expect than chance would
    have it; the furthest first."""
    place = {name: number for number, name in enumerate(ratings.players)}
    found = []
    for meeting in meetings:
        first, second = place[meeting.first], place[meeting.second]
        expected = expected_score(float(ratings.differences[first, second]))
        score = score_of(meeting)
        low, high = score.interval
        width = high - score.score if expected > score.score else score.score - low
        if abs(expected - score.score) > BEYOND * width:
            found.append(RatingResidual(meeting.first, meeting.second, score.score, expected))
    return sorted(found, key=lambda one: -abs(one.score - one.expected))
