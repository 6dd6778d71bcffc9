"""A few games worth a look: the shortest mate, a large turn, the longest draw (decision 159)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.rules import Termination
from vecchess.dash.views.game_values import game_view
from vecchess.errors import DataError
from vecchess.monitor.decoded_game import DecodedGame
from vecchess.monitor.run_view import RunView

NUM_NEWEST = 64
"""The largest turn is searched among this many games: all of their values have to be read."""
LEAST_TURN = 0.1
MOST_TRIED = 4
"""Games that are tried as an example, in case the first cannot be read."""


def example_games(view: RunView) -> list[dict[str, Any]]:
    """The examples as ``game_view`` gives them, each with "why" it was chosen."""
    return [
        game_view(view, number) | {"why": why, "previous": None, "next": None}
        for number, why in _chosen(view).items()
    ]


def _chosen(view: RunView) -> dict[int, str]:
    """At most three recorded games by number, all different: the shortest mate and the longest draw
    of all games, and the largest turn among the newest; the newest game where none of these is
    there."""
    outcomes = view.recorded.outcomes()
    numbers, plies = outcomes.numbers, outcomes.plies
    mates = np.flatnonzero((outcomes.termination == Termination.CHECKMATE) & (plies > 0))
    draws = np.flatnonzero((outcomes.result == 0) & (plies > 0))
    found: dict[int, str] = {}

    def add(why: str, rows: NDArray[np.intp]) -> None:
        """Add the first game of ``rows`` that can be read and is no example yet."""
        for number in numbers[rows[:MOST_TRIED]].tolist():
            if number not in found and _read(view, number) is not None:
                found[number] = why
                return

    add("the shortest mate", mates[np.argsort(plies[mates], kind="stable")])
    turning = _largest_turn(view, numbers[::-1][:NUM_NEWEST].tolist(), set(found))
    if turning is not None:
        found[turning] = f"the largest turn of the newest {min(NUM_NEWEST, len(numbers))} games"
    add("the longest draw", draws[np.argsort(-plies[draws], kind="stable")])
    if not found:
        add("the newest game", np.flatnonzero(plies)[::-1])
    return found


def _read(view: RunView, number: int) -> DecodedGame | None:
    """A recorded game with moves; None where it cannot be read."""
    try:
        game = view.game(number)
    except DataError:
        return None
    return game if game.ucis and not game.is_live else None


def _largest_turn(view: RunView, numbers: list[int], others: set[int]) -> int | None:
    """The game of ``numbers``, but for ``others``, in which White's expected score changed most
    over two plies; None where it changed in none by more than ``LEAST_TURN``."""
    games = [game for number in numbers if number not in others and (game := _read(view, number))]
    found = max(games, key=_turn, default=None)
    return found.number if found is not None and _turn(found) > LEAST_TURN else None


def _turn(game: DecodedGame) -> float:
    """The largest change of White's expected score over two plies."""
    scores = game.white_score
    pairs = zip(scores, scores[2:], strict=False)
    return max(
        (abs(b - a) for a, b in pairs if a is not None and b is not None),
        default=0.0,
    )
