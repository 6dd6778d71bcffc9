"""Results that nobody played."""

from itertools import count

from vecchess.evaluate.evaluation import EvaluationReport
from vecchess.evaluate.pairing import PairResult
from vecchess.evaluate.participant import Participant

_TOKENS = count()


def participant(name: str, identity: str | None = None, is_repeatable: bool = True) -> Participant:
    return Participant(name, name, identity or name, is_repeatable)


def result(
    first: str,
    second: str,
    ptnml: tuple[int, ...],
    token: str | None = None,
    distinct_games: int | None = None,
) -> PairResult:
    """Pairs by points; a pair of one point is two draws."""
    nothing, half, one, more, all_ = ptnml
    games = 2 * sum(ptnml)
    draws = half + 2 * one + more
    return PairResult(
        first, second, more + 2 * all_, draws, half + 2 * nothing, ptnml,
        token=token or f"token {next(_TOKENS)}",
        distinct_games=games if distinct_games is None else distinct_games,
        distinct_openings=sum(ptnml),
        mean_plies=80.0,
        seconds=1.5,
        is_complete=True,
    )  # fmt: skip


def evaluation(names: list[str], num_rated: int, *results: PairResult) -> EvaluationReport:
    return EvaluationReport(tuple(map(participant, names)), num_rated, results)
