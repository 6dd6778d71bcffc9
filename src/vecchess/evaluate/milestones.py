"""Marks of strength that a network passes while it learns chess from nothing (decision 145)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vecchess.arena.ratings.ratings import Ratings
from vecchess.evaluate.pair_result import PairResult, joint_counts
from vecchess.evaluate.participant import Participant

SCORES = (("random", 0.70), ("random", 0.85), ("greedy", 0.50), ("minimax:2", 0.50))
FIRST_ELO, ELO_STEP, LEAST_ELO = 400, 200, 800
"""Marks of the rating: every step from the first on, to the first that is not reached, and up to
the last of these at least."""

State = Literal["reached", "within reach", "not reached"]


@dataclass(frozen=True)
class Milestone:
    """A mark, and a player's value with its 95 % interval: points a game, or Elo."""

    name: str
    target: float
    value: float
    low: float
    high: float

    @property
    def state(self) -> State:
        """Reached only where the whole interval lies above the mark, within reach where it holds
        it."""
        if self.low > self.target:
            return "reached"
        return "within reach" if self.high >= self.target else "not reached"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        digits = 4 if self.target < 1 else 1
        interval = [round(self.low, digits), round(self.high, digits)]
        return {
            "milestone": self.name,
            "target": self.target,
            "value": round(self.value, digits),
            "interval": interval,
            "state": self.state,
        }


def milestones(
    player: Participant, results: Sequence[PairResult], ratings: Ratings
) -> list[Milestone]:
    """The milestones with games; those in Elo where ``random`` is the anchor, at 0."""
    return [*_by_score(player, results), *_by_elo(player, ratings)]


def _by_score(player: Participant, results: Sequence[PairResult]) -> list[Milestone]:
    found = []
    for opponent, target in SCORES:
        counts = joint_counts(results, player.identity, opponent)
        if counts is not None:
            score = counts.score
            name = f"{target:.0%} against {opponent}"
            found.append(Milestone(name, target, score.score, *score.interval))
    return found


def _by_elo(player: Participant, ratings: Ratings) -> list[Milestone]:
    if ratings.anchor != "random" or player.name not in ratings.players:
        return []
    rating = ratings.rating(player.name)
    found: list[Milestone] = []
    target = FIRST_ELO
    while target <= LEAST_ELO or found[-1].state == "reached":
        name = f"{target} Elo above random"
        found.append(Milestone(name, target, rating.elo, rating.low, rating.high))
        target += ELO_STEP
    return found
