"""The result of a pairing, as it is kept on disk and in reports."""

from collections.abc import Iterable
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from vecchess.arena.match.play_match import MatchResult
from vecchess.arena.ratings.pair_results import PairCounts
from vecchess.arena.ratings.score import Score
from vecchess.errors import DataError
from vecchess.evaluate.pairing import TOKEN_DIGITS, Pairing

COUNTS = ("wins", "draws", "losses")
PAIR_KINDS = 5
MOST = 1 << 40
"""Larger counts of games are refused."""


@dataclass(frozen=True)
class PairResult:
    """Results of two participants, named by their identities, from the view of the first."""

    counts: PairCounts
    token: str
    """Of the pairing; a random one where playing again would give other games."""
    distinct_games: int
    distinct_openings: int
    mean_plies: float
    seconds: float
    is_complete: bool
    """False where it was ended early."""

    @classmethod
    def of(cls, pairing: Pairing, result: MatchResult) -> "PairResult":
        """The result of a match."""
        facts = result.counter.facts()
        return cls(
            counts=PairCounts.of(pairing.first.identity, pairing.second.identity, result.score),
            token=pairing.token if pairing.is_repeatable else token_hex(TOKEN_DIGITS // 2),
            distinct_games=facts["distinct_games"],
            distinct_openings=facts["distinct_openings"],
            mean_plies=facts["mean_plies"],
            seconds=round(result.seconds, 2),
            is_complete=result.stopped_by == "games",
        )

    @property
    def players(self) -> frozenset[str]:
        """Identities of both."""
        return frozenset((self.counts.first, self.counts.second))

    def counts_of(self, identity: str) -> PairCounts:
        """The games from the view of one of the two."""
        return self.counts if identity == self.counts.first else self.counts.exchanged()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the score they make."""
        counts = self.counts
        return {
            "first": counts.first,
            "second": counts.second,
            **score_of(counts).to_dict(),
            "games": counts.games,
            "distinct_games": self.distinct_games,
            "distinct_openings": self.distinct_openings,
            "mean_plies": self.mean_plies,
            "seconds": self.seconds,
            "complete": self.is_complete,
            "token": self.token,
        }

    @classmethod
    def from_dict(cls, values: Any) -> "PairResult":
        """The inverse of ``to_dict``; raises DataError for anything else."""
        try:
            wins, draws, losses = (_count(values[key]) for key in COUNTS)
            names = str(values["first"]), str(values["second"])
            ptnml = tuple(_count(count) for count in values["ptnml"])
            found = cls(
                counts=PairCounts(*names, wins, draws, losses, ptnml),
                token=str(values["token"]),
                distinct_games=_count(values["distinct_games"]),
                distinct_openings=_count(values["distinct_openings"]),
                mean_plies=float(values["mean_plies"]),
                seconds=float(values["seconds"]),
                is_complete=bool(values["complete"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DataError(f"not the result of a pair: {error!r}") from None
        if not _adds_up(found.counts):
            raise DataError(f"{found.counts}: the pairs are not those of the games")
        return found


def score_of(counts: PairCounts) -> Score:
    """The score of games played in pairs."""
    return Score.counted(counts.wins, counts.draws, counts.losses, counts.ptnml or ())


def unique_results(results: Iterable[PairResult]) -> list[PairResult]:
    """Of each token the result with the most games, which includes the others."""
    found: dict[str, PairResult] = {}
    for result in results:
        known = found.get(result.token)
        if known is None or known.counts.games < result.counts.games:
            found[result.token] = result
    return list(found.values())


def joint_counts(results: Iterable[PairResult], identity: str, other: str) -> PairCounts | None:
    """All games of ``identity`` against ``other``, from its view; None where there are none."""
    both, total = frozenset((identity, other)), None
    for result in results:
        if result.players == both:
            counts = result.counts_of(identity)
            total = total.joined(counts) if total else counts
    return total


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        raise ValueError(f"{value!r} is no number of games")
    return value


def _adds_up(counts: PairCounts) -> bool:
    ptnml = counts.ptnml or ()
    points = sum(number * count for number, count in enumerate(ptnml))
    is_whole = len(ptnml) == PAIR_KINDS and 2 * sum(ptnml) == counts.games > 0
    return is_whole and points == 2 * counts.wins + counts.draws
