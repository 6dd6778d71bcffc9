"""The report of an evaluation: participants, results of all pairs, ratings."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from vecchess.arena.ratings.pair_results import PairCounts
from vecchess.arena.ratings.ratings import Ratings, rate
from vecchess.errors import ConfigError, DataError
from vecchess.evaluate.milestones import milestones
from vecchess.evaluate.pair_result import PairResult
from vecchess.evaluate.participant import Participant
from vecchess.evaluate.rating_residuals import RatingResidual, large_residuals
from vecchess.evaluate.report_file import MOST_REPORT_BYTES
from vecchess.safe_parse import clip_line, parse_json_object, read_bytes

SCHEMA = 1
ANCHOR = "random"


@dataclass(frozen=True)
class EvaluationReport:
    """Contenders and their results."""

    participants: tuple[Participant, ...]
    """The rated ones first, then their opponents."""
    num_rated: int
    results: tuple[PairResult, ...]

    @property
    def rated(self) -> tuple[Participant, ...]:
        """The participants that the evaluation is about, as far as they played."""
        return tuple(one for one in self.participants[: self.num_rated] if self._has_played(one))

    def _has_played(self, participant: Participant) -> bool:
        return participant.identity in self._played_identities

    @cached_property
    def _played_identities(self) -> frozenset[str]:
        """Their identities."""
        return frozenset(player for result in self.results for player in result.players)

    @cached_property
    def names(self) -> dict[str, str]:
        """By identity."""
        return {participant.identity: participant.name for participant in self.participants}

    @cached_property
    def ratings(self) -> Ratings:
        """Of all who played, by name. The anchor, at 0 Elo, is "random" where it played, else the
        first opponent. Raises ConfigError where too little was played for ratings."""
        return rate(self._counts, self._anchor())

    @cached_property
    def _counts(self) -> list[PairCounts]:
        """The counts of all results, with names in place of identities."""
        names, found = self.names, []
        for result in self.results:
            counts = result.counts
            first, second = names[counts.first], names[counts.second]
            found.append(replace(counts, first=first, second=second))
        return found

    @cached_property
    def large_residuals(self) -> list[RatingResidual]:
        """Pairs that the ratings do not explain, the worst first. Raises as ``ratings`` does."""
        return large_residuals(self._counts, self.ratings)

    def _anchor(self) -> str | None:
        played = [one.name for one in self.participants if self._has_played(one)]
        rated = {one.name for one in self.rated}
        opponents = [name for name in played if name not in rated]
        return ANCHOR if ANCHOR in played else next(iter(opponents or played), None)

    @property
    def warnings(self) -> list[str]:
        """Why the numbers may mislead, in lines for people. Raises as ``ratings`` does."""
        found = []
        for result in self.results:
            games, names = result.counts.games, self._pair(result)
            if result.distinct_games < games:
                found.append(
                    f"{names}: only {result.distinct_games:,} of {games:,} games are distinct, "
                    f"from {result.distinct_openings:,} openings: intervals are too narrow"
                )
            if not result.is_complete:
                found.append(f"{names}: ended early, after {games:,} games")
        if self.large_residuals:
            found.append(
                f"one number does not describe a player: ratings do not explain "
                f"{len(self.large_residuals)} of {len(self.results)} pairs, above all "
                f"{self.large_residuals[0]}"
            )
        return found

    def _pair(self, result: PairResult) -> str:
        counts = result.counts
        return f"{self.names[counts.first]} against {self.names[counts.second]}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON. Raises ConfigError as ``ratings`` does."""
        marks = {
            one.name: [m.to_dict() for m in milestones(one, [*self.results], self.ratings)]
            for one in self.rated
        }
        return {
            "schema": SCHEMA,
            "players": [one.to_dict() for one in self.participants],
            "num_rated": self.num_rated,
            **self.ratings.to_dict(),
            "milestones": marks,
            "misfits": [one.to_dict() for one in self.large_residuals],
            "pairs": [result.to_dict() for result in self.results],
            "warnings": self.warnings,
        }

    @classmethod
    def from_dict(cls, values: Any) -> "EvaluationReport":
        """The inverse of ``to_dict``; raises DataError for anything else."""
        try:
            if values["schema"] != SCHEMA:
                raise DataError(f"it has schema {values['schema']}; this vecchess reads {SCHEMA}")
            participants = tuple(_contender(facts) for facts in values["players"])
            results = tuple(PairResult.from_dict(facts) for facts in values["pairs"])
            found = cls(participants, int(values["num_rated"]), results)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise DataError(f"it is no evaluation: {error!r}") from None
        unknown = {player for one in results for player in one.players} - set(found.names)
        if unknown:
            raise DataError(
                f"it does not name the players {', '.join(sorted(unknown))} of its pairs"
            )
        if not 0 < found.num_rated <= len(participants):
            raise DataError(f"it rates {found.num_rated} of {len(participants)} players")
        return found


def read_evaluation(file: Path) -> EvaluationReport:
    """The evaluation that ``file`` holds; raises ConfigError where it holds none."""
    try:
        data = read_bytes(file, MOST_REPORT_BYTES, of_any_kind=True)
        return EvaluationReport.from_dict(parse_json_object(data, MOST_REPORT_BYTES))
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from None
    except (ValueError, DataError) as error:
        raise ConfigError(f"{file} was not written by vecchess eval: {clip_line(error)}") from None


def _contender(facts: dict[str, Any]) -> Participant:
    found = Participant(**{field.name: facts[field.name] for field in fields(Participant)})
    for name, value in vars(found).items():
        if not isinstance(value, bool if name == "is_repeatable" else str):
            raise ValueError(f"{name} of a player is {value!r}")
    return found
