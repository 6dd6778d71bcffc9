"""Results that nobody played."""

from itertools import count

from vecchess.arena.ratings.pair_results import Meeting
from vecchess.evaluate.evaluation import Evaluation
from vecchess.evaluate.pair_result import Encounter
from vecchess.evaluate.participant import Contender

_TOKENS = count()


def contender(name: str, identity: str | None = None, is_repeatable: bool = True) -> Contender:
    return Contender(name, name, identity or name, is_repeatable)


def encounter(
    first: str,
    second: str,
    ptnml: tuple[int, ...],
    token: str | None = None,
    distinct_games: int | None = None,
) -> Encounter:
    """Pairs by points; a pair of one point is two draws."""
    nothing, half, one, more, all_ = ptnml
    games = 2 * sum(ptnml)
    draws = half + 2 * one + more
    meeting = Meeting(first, second, more + 2 * all_, draws, half + 2 * nothing, ptnml)
    return Encounter(
        meeting=meeting,
        token=token or f"token {next(_TOKENS)}",
        distinct_games=games if distinct_games is None else distinct_games,
        distinct_openings=sum(ptnml),
        mean_plies=80.0,
        seconds=1.5,
        is_complete=True,
    )


def evaluation(names: list[str], num_rated: int, *encounters: Encounter) -> Evaluation:
    return Evaluation(tuple(map(contender, names)), num_rated, encounters)
