"""Several evaluations in one rating over all their games, so that differences have errors.

Every report keeps its pair results, so joining reports is exact. Games that are in several of them,
as those of the ladder among itself, count once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

from vecchess.arena.ratings.ratings import EloDifference
from vecchess.errors import ConfigError
from vecchess.evaluate.evaluation import EvaluationReport
from vecchess.evaluate.pairing import unique_results
from vecchess.evaluate.participant import distinct_participants

SCHEMA = 1
ALL_DIFFERENCES = 6
"""Up to so many players differences are given for any two, else for neighbours."""


@dataclass(frozen=True)
class Comparison:
    """Several reports as one."""

    sources: tuple[str, ...]
    """Names of the reports."""
    found_in: dict[str, list[str]]
    """Sources by the name of a rated player."""
    evaluation: EvaluationReport
    """The evaluation of all participants and games, each once."""

    @property
    def differences(self) -> list[EloDifference]:
        """Between players that the reports are about, in the order of the reports."""
        ratings, names = self.evaluation.ratings, [one.name for one in self.evaluation.rated]
        pairs = combinations(names, 2) if len(names) <= ALL_DIFFERENCES else pairwise(names)
        return [ratings.difference(later, earlier) for earlier, later in pairs]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: those of an evaluation, sources, and differences."""
        return self.evaluation.to_dict() | {
            "schema": SCHEMA,
            "sources": list(self.sources),
            "found_in": self.found_in,
            "differences": [one.to_dict() for one in self.differences],
        }

    def tables(self) -> dict[str, Any]:
        """What people read of it: tables of an evaluation, where players come from, differences."""
        tables = self.evaluation.tables()
        for row in tables["ratings"]:
            row["in"] = ", ".join(self.found_in.get(row["player"], []))
        del tables["milestones"]
        return tables | {"differences": [one.to_dict() for one in self.differences]}


def compare(sources: Sequence[str], evaluations: Sequence[EvaluationReport]) -> Comparison:
    """Join ``evaluations``, in the order of ``sources``, their names.

    Raises ConfigError where their players are not connected by games.
    """
    rated = [one for evaluation in evaluations for one in evaluation.rated]
    known = {one.identity for one in rated}
    others = [
        one
        for evaluation in evaluations
        for one in evaluation.participants
        if one.identity not in known
    ]
    if not known:
        raise ConfigError("these reports rate nobody: no player that they rate has played")
    participants = distinct_participants([*rated, *others])
    results = unique_results(one for evaluation in evaluations for one in evaluation.results)
    whole = EvaluationReport(tuple(participants), len(known), tuple(results))
    found_in: dict[str, list[str]] = {}
    for source, evaluation in zip(sources, evaluations, strict=True):
        for one in evaluation.rated:
            found_in.setdefault(whole.names[one.identity], []).append(source)
    try:
        whole.ratings  # noqa: B018  (now rather than in the middle of a table)
    except ConfigError as error:
        raise ConfigError(f"these reports cannot be compared: {error}") from None
    return Comparison(tuple(sources), found_in, whole)
