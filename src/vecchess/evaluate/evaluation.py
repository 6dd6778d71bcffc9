"""The report of an evaluation: participants, results of all pairs, ratings (decision 146)."""

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, Self

import pydantic
from pydantic import TypeAdapter, ValidationError, model_validator

from vecchess.arena.ratings.pair_results import PairCounts
from vecchess.arena.ratings.ratings import Ratings, rate
from vecchess.arena.ratings.score import expected_score
from vecchess.errors import ConfigError
from vecchess.evaluate.pairing import PairResult, joint_counts
from vecchess.evaluate.participant import Participant
from vecchess.evaluate.report_file import MOST_REPORT_BYTES
from vecchess.safe_parse import clip_line, is_schema, parse_json_object, read_bytes

SCHEMA = 1
ANCHOR = "random"
BEYOND = 3.3 / 1.96
"""Widths of the 95 % interval: 3.3 standard errors, by chance in one pair of 1,000."""


SCORE_MARKS = (("random", 0.70), ("random", 0.85), ("greedy", 0.50), ("minimax:2", 0.50))
FIRST_ELO, ELO_STEP, LEAST_ELO = 400, 200, 800
"""Marks of the rating: every step from the first on, to the first that is not reached, and up to
the last of these at least."""


@dataclass(frozen=True)
class RatingResidual:
    """A pair that scored otherwise than its ratings predict, from the view of the first.

    A network that cannot mate draws with random and with greedy alike, which no single number
    shows.
    """

    first: str
    second: str
    score: float
    expected: float
    """Points a game, 0 to 1, both of them."""

    def __str__(self) -> str:
        """One line for people."""
        return (
            f"{self.first} against {self.second}: {self.score:.1%}, where the ratings expect "
            f"{self.expected:.1%}"
        )


@pydantic.dataclasses.dataclass(frozen=True)
class EvaluationReport:
    """Contenders and their results."""

    participants: tuple[Participant, ...]
    """The rated ones first, then their opponents."""
    num_rated: int
    results: tuple[PairResult, ...]

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        unknown = {player for one in self.results for player in one.players} - set(self.names)
        if unknown:
            raise ValueError(
                f"it does not name the players {', '.join(sorted(unknown))} of its pairs"
            )
        if not 0 < self.num_rated <= len(self.participants):
            raise ValueError(f"it rates {self.num_rated} of {len(self.participants)} players")
        return self

    @property
    def rated(self) -> tuple[Participant, ...]:
        """The participants that the evaluation is about, as far as they played."""
        return tuple(one for one in self.participants[: self.num_rated] if self._has_played(one))

    def _has_played(self, participant: Participant) -> bool:
        return participant.identity in self._played_identities

    @cached_property
    def _played_identities(self) -> frozenset[str]:
        return frozenset(player for result in self.results for player in result.players)

    @cached_property
    def names(self) -> dict[str, str]:
        """Names of the participants by identity."""
        return {participant.identity: participant.name for participant in self.participants}

    @cached_property
    def ratings(self) -> Ratings:
        """Ratings of all who played, by name. The anchor, at 0 Elo, is "random" where it played,
        else the first opponent. Raises ConfigError where too little was played for ratings."""
        return rate(self._counts, self._anchor())

    @cached_property
    def _counts(self) -> list[PairCounts]:
        """The counts of all results, with names in place of identities."""
        names = self.names
        return [
            replace(one, first=names[one.first], second=names[one.second]) for one in self.results
        ]

    @cached_property
    def large_residuals(self) -> list[RatingResidual]:
        """Pairs whose score is further from what the ratings expect than chance explains, the
        furthest first. Raises as ``ratings`` does."""
        found = []
        for counts in self._counts:
            difference = self.ratings.difference(counts.first, counts.second)
            score, expected = counts.score, expected_score(difference.elo)
            low, high = score.interval
            width = high - score.score if expected > score.score else score.score - low
            if abs(expected - score.score) > BEYOND * width:
                figures = round(score.score, 4), round(expected, 4)
                found.append(RatingResidual(counts.first, counts.second, *figures))
        return sorted(found, key=lambda one: -abs(one.score - one.expected))

    def _anchor(self) -> str | None:
        played = [one.name for one in self.participants if self._has_played(one)]
        rated = {one.name for one in self.rated}
        opponents = [name for name in played if name not in rated]
        return ANCHOR if ANCHOR in played else next(iter(opponents or played), None)

    @property
    def warnings(self) -> list[str]:
        """Why the numbers may mislead, in lines for people. Raises as ``ratings`` does."""
        found = []
        for result, counts in zip(self.results, self._counts, strict=True):
            names = f"{counts.first} against {counts.second}"
            if result.distinct_games < result.games:
                found.append(
                    f"{names}: only {result.distinct_games:,} of {result.games:,} games are "
                    f"distinct, from {result.distinct_openings:,} openings: intervals are "
                    "too narrow"
                )
            if not result.is_complete:
                found.append(f"{names}: ended early, after {result.games:,} games")
        if self.large_residuals:
            found.append(
                f"one number does not describe a player: ratings do not explain "
                f"{len(self.large_residuals)} of {len(self.results)} pairs, above all "
                f"{self.large_residuals[0]}"
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON. Raises ConfigError as ``ratings`` does."""
        return {
            "schema": SCHEMA,
            "players": [asdict(one) for one in self.participants],
            "num_rated": self.num_rated,
            **self.ratings.to_dict(),
            "milestones": {one.name: self.milestones(one) for one in self.rated},
            "misfits": [asdict(one) for one in self.large_residuals],
            "pairs": [result.to_dict() for result in self.results],
            "warnings": self.warnings,
        }

    @property
    def has_results(self) -> bool:
        """Whether a pair of games was finished."""
        return bool(self.results)

    def milestones(self, player: Participant) -> list[dict[str, Any]]:
        """Marks that a network passes while it learns from nothing, and how far ``player`` is: a
        mark is reached where the whole 95 % interval lies above it (decision 145, milestones).

        They are points a game against players it has met, and Elo where "random" is the anchor.
        """
        found = []
        for opponent, share in SCORE_MARKS:
            if counts := joint_counts(self.results, player.identity, opponent):
                score, name = counts.score, f"{share:.0%} against {opponent}"
                found.append(_milestone(name, share, score.score, score.interval, 4))
        if self.ratings.anchor == ANCHOR:
            rating = self.ratings.rating(player.name)
            for elo in count(FIRST_ELO, ELO_STEP):
                name, interval = f"{elo} Elo above {ANCHOR}", (rating.low, rating.high)
                found.append(_milestone(name, elo, rating.elo, interval, 1))
                if elo >= LEAST_ELO and found[-1]["state"] != "reached":
                    break
        return found

    def tables(self) -> dict[str, Any]:
        """What people read of it: ratings, scores of the rated players, milestones, warnings."""
        return {
            "anchor": self.ratings.anchor,
            "games": sum(result.games for result in self.results),
            "virtual_draws": self.ratings.virtual_draws,
            "ratings": self.ratings.to_dict()["ratings"],
            "scores": [
                self._score(one, other, counts)
                for one in self.rated
                for other in self.participants
                if (counts := joint_counts(self.results, one.identity, other.identity))
            ],
            "milestones": [
                {"player": one.name, **mark} for one in self.rated for mark in self.milestones(one)
            ],
            "warnings": [{"warning": line} for line in self.warnings],
        }

    def _score(self, one: Participant, other: Participant, counts: PairCounts) -> dict[str, Any]:
        """The score of ``one`` against ``other``, and its likelihood of superiority by all."""
        facts, los = counts.score.to_dict(), self.ratings.difference(one.name, other.name).los
        shown = {name: facts[name] for name in ("score", "score_interval")}
        return {
            "player": one.name,
            "against": other.name,
            "games": counts.games,
            **shown,
            "los": los,
        }


def _milestone(
    name: str, target: float, value: float, interval: tuple[float, float], digits: int
) -> dict[str, Any]:
    low, high = (round(end, digits) for end in interval)
    state = "reached" if interval[0] > target else "not reached"
    if interval[0] <= target <= interval[1]:
        state = "within reach"
    return {
        "milestone": name,
        "target": target,
        "value": round(value, digits),
        "interval": [low, high],
        "state": state,
    }


def read_evaluation(file: Path) -> EvaluationReport:
    """The evaluation that ``file`` holds; raises ConfigError where it holds none."""
    try:
        data = read_bytes(file, MOST_REPORT_BYTES, of_any_kind=True)
        values = parse_json_object(data, MOST_REPORT_BYTES)
        if not is_schema(schema := values.get("schema"), SCHEMA):
            raise ValueError(f"it has schema {schema}; this vecchess reads {SCHEMA}")
        parts = (("participants", "players"), ("num_rated", "num_rated"), ("results", "pairs"))
        given = {field: values[key] for field, key in parts if key in values}
        return TypeAdapter(EvaluationReport).validate_python(given)
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from None
    except ValueError as error:
        reason: object = error
        if isinstance(error, ValidationError):
            fault = error.errors()[0]
            place = ".".join(map(str, fault["loc"]))
            reason = fault["msg"].removeprefix("Value error, ") + (place and f" ({place})")
        raise ConfigError(f"{file} was not written by vecchess eval: {clip_line(reason)}") from None
