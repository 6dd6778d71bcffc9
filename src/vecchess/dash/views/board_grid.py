"""The boards of a run: one for each game that workers show, or the last games of one that is over.

A game that ended keeps its place for some seconds, so that its result can be read.

Decision 165.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from vecchess.errors import DataError
from vecchess.monitor.decoded_game import DecodedGame
from vecchess.monitor.run_view import RunView

LINGER_S, LINGER_UNKNOWN_S = 4.0, 1.5
"""Seconds for which a finished game keeps its place; the second where its result is not known,
because neither its worker nor the manifest told it yet."""
REFRESHES_BETWEEN_READS = 2
"""Refreshes between two attempts to read the record of a finished game."""
MOST_LAST = 64
"""Games of a run that is over."""
Seat = tuple[int | None, int]


@dataclass(frozen=True)
class GridSquare:
    """One board of the grid."""

    game: DecodedGame
    ended_at: float | None = None
    """When its end was first seen, by ``time.monotonic``; None while it is played."""


class BoardGrid:
    """The boards of one run."""

    def __init__(self) -> None:
        """No board yet."""
        self._squares: dict[Seat, GridSquare] = {}
        self._num_refreshes = 0
        self._last: tuple[int, list[Any]] = (0, [])
        """The number of recorded games, and the boards of the last of them."""

    def boards(self, view: RunView, now: Callable[[], float] = time.monotonic) -> list[Any]:
        """Each board as plain values, in the order of workers and seats; of a run that is over the
        newest first."""
        self._num_refreshes += 1
        playing = {(game.worker, game.seat): game for game in view.live_games()}
        if not playing and view.status.is_over:
            return self._last_boards(view)
        for seat in playing.keys() | self._squares.keys():
            self._update_seat(seat, playing.get(seat), view, now())
        order = sorted(self._squares, key=lambda seat: (seat[0] or 0, seat[1]))
        return [board(self._squares[seat]) for seat in order]

    def _last_boards(self, view: RunView) -> list[Any]:
        """The last positions of a run that is over; read anew only where games came along."""
        if self._last[0] != view.stats.games:
            games = view.last_games(MOST_LAST)
            self._last = (view.stats.games, [board(GridSquare(game, 0.0)) for game in games])
        return self._last[1]

    def _update_seat(self, seat: Seat, game: DecodedGame | None, view: RunView, now: float) -> None:
        """Update one place for the game that is played there now, if any."""
        shown = self._squares.get(seat)
        if shown is None or (game is not None and game.number == shown.game.number):
            assert game is not None
            self._squares[seat] = GridSquare(game)
            return
        ended_at = now if shown.ended_at is None else shown.ended_at
        over = self._finished(shown, view)
        linger_s = LINGER_UNKNOWN_S if over.result == "*" else LINGER_S
        if now - ended_at < linger_s:
            self._squares[seat] = GridSquare(over, ended_at)
        elif game is None:
            del self._squares[seat]
        else:
            self._squares[seat] = GridSquare(game)

    def _finished(self, shown: GridSquare, view: RunView) -> DecodedGame:
        """The finished game of a place, as recorded if it is."""
        game = shown.game
        if game.result != "*" or (shown.ended_at and self._num_refreshes % REFRESHES_BETWEEN_READS):
            return game
        try:
            recorded = view.game(game.number)
        except DataError:
            return replace(game, is_live=False)
        return replace(recorded, worker=game.worker, seat=game.seat)


def board(square: GridSquare) -> dict[str, Any]:
    """The facts that a small board shows, as plain values."""
    game = square.game
    judged = [score for score in game.white_score if score is not None]
    return {
        "seat": f"{game.worker}.{game.seat}",
        "number": game.number,
        "fen": game.fen,
        "last": game.ucis[-1] if game.ucis else "",
        "ply": len(game.ucis),
        "white_score": judged[-1] if judged else None,
        "steps": game.steps[-1] if game.steps else 0,
        "result": game.result,
        "termination": game.termination,
        "over": square.ended_at is not None,
    }
