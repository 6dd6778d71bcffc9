"""What the games of a pairing came to, as it is kept on disk and in reports."""

from collections.abc import Iterable
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from vecchess.arena.match.play_match import MatchResult
from vecchess.arena.ratings.pair_results import HeadToHead
from vecchess.arena.ratings.score import Score
from vecchess.errors import DataError
from vecchess.evaluate.pairing import TOKEN_DIGITS, Pairing

COUNTS = ("wins", "draws", "losses")
PAIR_KINDS = 5
MOST = 1 << 40
"""Games and plies that are counted; more are none."""


@dataclass(frozen=True)
class PairResult:
    """Games between two contenders, named by their identities, from the view of the first."""

    meeting: HeadToHead
    token: str
    """Of the pairing; one of its own where the games would be others another time."""
    distinct_games: int
    distinct_openings: int
    mean_plies: float
    seconds: float
    is_complete: bool
    """False where it was ended early."""

    @classmethod
    def of(cls, pairing: Pairing, result: MatchResult) -> "PairResult":
        """How a match went."""
        facts = result.counter.facts()
        return cls(
            meeting=HeadToHead.of(pairing.first.identity, pairing.second.identity, result.score),
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
        return frozenset((self.meeting.first, self.meeting.second))

    def meeting_of(self, identity: str) -> HeadToHead:
        """The games from the view of one of the two."""
        return self.meeting if identity == self.meeting.first else self.meeting.exchanged()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the score they make."""
        meeting = self.meeting
        return {
            "first": meeting.first,
            "second": meeting.second,
            **score_of(meeting).to_dict(),
            "games": meeting.games,
            "distinct_games": self.distinct_games,
            "distinct_openings": self.distinct_openings,
            "mean_plies": self.mean_plies,
            "seconds": self.seconds,
            "complete": self.is_complete,
            "token": self.token,
        }

    @classmethod
    def from_dict(cls, values: Any) -> "PairResult":
        """What ``to_dict`` made; raises DataError for anything else."""
        try:
            wins, draws, losses = (_count(values[key]) for key in COUNTS)
            names = str(values["first"]), str(values["second"])
            ptnml = tuple(_count(count) for count in values["ptnml"])
            found = cls(
                meeting=HeadToHead(*names, wins, draws, losses, ptnml),
                token=str(values["token"]),
                distinct_games=_count(values["distinct_games"]),
                distinct_openings=_count(values["distinct_openings"]),
                mean_plies=float(values["mean_plies"]),
                seconds=float(values["seconds"]),
                is_complete=bool(values["complete"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DataError(f"not the result of a pair: {error!r}") from None
        if not _adds_up(found.meeting):
            raise DataError(f"{found.meeting}: the pairs are not those of the games")
        return found


def score_of(meeting: HeadToHead) -> Score:
    """What the games of ``meeting``, played in pairs, say."""
    return Score.counted(meeting.wins, meeting.draws, meeting.losses, meeting.ptnml or ())


def once(encounters: Iterable[PairResult]) -> list[PairResult]:
    """Those that tell something of their own: of each token the one with the most games."""
    found: dict[str, PairResult] = {}
    for encounter in encounters:
        known = found.get(encounter.token)
        if known is None or known.meeting.games < encounter.meeting.games:
            found[encounter.token] = encounter
    return list(found.values())


def joint_result(encounters: Iterable[PairResult], identity: str, other: str) -> HeadToHead | None:
    """All games of ``identity`` against ``other``, from its view; None where there are none."""
    both, total = frozenset((identity, other)), None
    for encounter in encounters:
        if encounter.players == both:
            meeting = encounter.meeting_of(identity)
            total = total.joined(meeting) if total else meeting
    return total


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        raise ValueError(f"{value!r} is no number of games")
    return value


def _adds_up(meeting: HeadToHead) -> bool:
    ptnml = meeting.ptnml or ()
    points = sum(number * count for number, count in enumerate(ptnml))
    is_whole = len(ptnml) == PAIR_KINDS and 2 * sum(ptnml) == meeting.games > 0
    return is_whole and points == 2 * meeting.wins + meeting.draws
