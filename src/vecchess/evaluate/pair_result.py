"""The result of a pairing, as it is kept on disk and in reports."""

from collections.abc import Iterable
from dataclasses import asdict
from secrets import token_hex
from typing import Annotated, Any, Self

import pydantic
from pydantic import Field, TypeAdapter, model_validator

from vecchess.arena.match.play_match import MatchResult
from vecchess.arena.ratings.pair_results import Count, PairCounts
from vecchess.evaluate.pairing import TOKEN_DIGITS, Pairing

Figure = Annotated[float, Field(strict=True, allow_inf_nan=False)]


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True)
class PairResult(PairCounts):
    """Results of two participants, named by their identities, from the view of the first.

    At least one pair of games.
    """

    token: str
    """Of the pairing; a random one where playing again would give other games."""
    distinct_games: Count
    distinct_openings: Count
    mean_plies: Figure
    seconds: Figure
    is_complete: bool
    """False where it was ended early."""

    @model_validator(mode="after")
    def _has_pairs(self) -> Self:
        if not self.ptnml or not self.games:
            raise ValueError("it has no pairs of games")
        return self

    @classmethod
    def of(cls, pairing: Pairing, result: MatchResult) -> "PairResult":
        """The result of a match."""
        facts, score = result.counter.facts(), result.score
        return cls(
            pairing.first.identity, pairing.second.identity,
            score.wins, score.draws, score.losses, score.ptnml,
            token=pairing.token if pairing.is_repeatable else token_hex(TOKEN_DIGITS // 2),
            distinct_games=facts["distinct_games"],
            distinct_openings=facts["distinct_openings"],
            mean_plies=facts["mean_plies"],
            seconds=round(result.seconds, 2),
            is_complete=result.stopped_by == "games",
        )  # fmt: skip

    @classmethod
    def from_dict(cls, values: Any) -> "PairResult":
        """The inverse of ``to_dict``; raises ValueError for anything else."""
        return TypeAdapter(cls).validate_python(values)

    @property
    def players(self) -> frozenset[str]:
        """Identities of both."""
        return frozenset((self.first, self.second))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the score they make."""
        return asdict(self) | self.score.to_dict() | {"games": self.games}


def unique_results(results: Iterable[PairResult]) -> list[PairResult]:
    """Of each token the result with the most games, which includes the others."""
    found: dict[str, PairResult] = {}
    for result in results:
        known = found.get(result.token)
        if known is None or known.games < result.games:
            found[result.token] = result
    return list(found.values())


def joint_counts(results: Iterable[PairResult], identity: str, other: str) -> PairCounts | None:
    """All games of ``identity`` against ``other``, from its view; None where there are none."""
    both, total = frozenset((identity, other)), None
    for result in results:
        if result.players == both:
            counts = result if identity == result.first else result.exchanged()
            total = total.joined(counts) if total else counts
    return total
