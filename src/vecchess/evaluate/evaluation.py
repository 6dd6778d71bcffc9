"""What an evaluation found: who took part, who scored what against whom, ratings of all."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from vecchess.arena.ratings.pair_results import HeadToHead
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
    """Contenders and their encounters."""

    contenders: tuple[Participant, ...]
    """Those that are rated first, then their opponents."""
    num_rated: int
    encounters: tuple[PairResult, ...]

    @property
    def rated(self) -> tuple[Participant, ...]:
        """Those that the evaluation is about, as far as they played."""
        return tuple(one for one in self.contenders[: self.num_rated] if self._has_played(one))

    def _has_played(self, contender: Participant) -> bool:
        return contender.identity in self._who_played

    @cached_property
    def _who_played(self) -> frozenset[str]:
        """Their identities."""
        return frozenset(who for encounter in self.encounters for who in encounter.players)

    @cached_property
    def names(self) -> dict[str, str]:
        """By identity."""
        return {contender.identity: contender.name for contender in self.contenders}

    @cached_property
    def ratings(self) -> Ratings:
        """Of all who played, by name. The anchor, at 0 Elo, is "random" where it played, else the
        first opponent. Raises ConfigError where too little was played to rate anybody."""
        return rate(self._meetings, self._anchor())

    @cached_property
    def _meetings(self) -> list[HeadToHead]:
        """By names, where encounters have identities."""
        names, found = self.names, []
        for encounter in self.encounters:
            meeting = encounter.meeting
            first, second = names[meeting.first], names[meeting.second]
            found.append(replace(meeting, first=first, second=second))
        return found

    @cached_property
    def large_residuals(self) -> list[RatingResidual]:
        """Pairs that ratings do not explain, the worst first. Raises as ``ratings`` does."""
        return large_residuals(self._meetings, self.ratings)

    def _anchor(self) -> str | None:
        played = [one.name for one in self.contenders if self._has_played(one)]
        rated = {one.name for one in self.rated}
        opponents = [name for name in played if name not in rated]
        return ANCHOR if ANCHOR in played else next(iter(opponents or played), None)

    @property
    def warnings(self) -> list[str]:
        """What makes the numbers worth less than they seem, in lines for people. Raises as
        ``ratings`` does."""
        found = []
        for encounter in self.encounters:
            games, names = encounter.meeting.games, self._pair(encounter)
            if encounter.distinct_games < games:
                found.append(
                    f"{names}: only {encounter.distinct_games:,} of {games:,} games are distinct, "
                    f"from {encounter.distinct_openings:,} openings: intervals are too narrow"
                )
            if not encounter.is_complete:
                found.append(f"{names}: ended early, after {games:,} games")
        if self.large_residuals:
            found.append(
                f"one number does not say all of a player: ratings do not explain "
                f"{len(self.large_residuals)} of {len(self.encounters)} pairs, above all "
                f"{self.large_residuals[0]}"
            )
        return found

    def _pair(self, encounter: PairResult) -> str:
        meeting = encounter.meeting
        return f"{self.names[meeting.first]} against {self.names[meeting.second]}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON. Raises ConfigError as ``ratings`` does."""
        marks = {
            one.name: [m.to_dict() for m in milestones(one, [*self.encounters], self.ratings)]
            for one in self.rated
        }
        return {
            "schema": SCHEMA,
            "players": [one.to_dict() for one in self.contenders],
            "num_rated": self.num_rated,
            **self.ratings.to_dict(),
            "milestones": marks,
            "misfits": [one.to_dict() for one in self.large_residuals],
            "pairs": [encounter.to_dict() for encounter in self.encounters],
            "warnings": self.warnings,
        }

    @classmethod
    def from_dict(cls, values: Any) -> "EvaluationReport":
        """What ``to_dict`` made; raises DataError for anything else."""
        try:
            if values["schema"] != SCHEMA:
                raise DataError(f"it has schema {values['schema']}; this vecchess reads {SCHEMA}")
            contenders = tuple(_contender(facts) for facts in values["players"])
            encounters = tuple(PairResult.from_dict(facts) for facts in values["pairs"])
            found = cls(contenders, int(values["num_rated"]), encounters)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise DataError(f"it is no evaluation: {error!r}") from None
        unknown = {who for one in encounters for who in one.players} - set(found.names)
        if unknown:
            raise DataError(f"it does not say who {', '.join(sorted(unknown))} is")
        if not 0 < found.num_rated <= len(contenders):
            raise DataError(f"it rates {found.num_rated} of {len(contenders)} players")
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
