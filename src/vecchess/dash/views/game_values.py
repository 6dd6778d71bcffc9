"""Plain values for JSON: one game, and pages of the list of recorded games."""

from typing import Any

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.pgn import RESULT_CODES, RESULTS
from vecchess.chess.rules import Termination
from vecchess.errors import ConfigError
from vecchess.monitor.run_view import RunView
from vecchess.store.shard import GameOutcomes

ORDERS = ("newest", "oldest", "shortest", "longest")
GAMES_PER_PAGE = 50
ENDING_CODES = {reason.name.lower(): int(reason) for reason in Termination if reason}


def game_view(view: RunView, number: int) -> dict[str, Any]:
    """A game as plain values: ``fens`` are the pieces before the first ply and after each,
    ``previous`` and ``next`` the numbers of recorded games beside it. Raises DataError."""
    game = view.game(number)
    position = chess.Board(game.start_fen, chess960=game.chess960)
    fens = [_pieces(position)]
    for uci in game.ucis:
        position.push_uci(uci)
        fens.append(_pieces(position))
    before, after = view.recorded.neighbours(number)
    return vars(game) | {"fens": fens, "previous": before, "next": after}


def _pieces(position: chess.Board) -> str:
    """Pieces and side to move, the first two fields of a FEN."""
    return f"{position.board_fen()} {'w' if position.turn else 'b'}"


def game_rows(
    view: RunView, first: int, result: str = "", ending: str = "", order: str = "newest"
) -> dict[str, Any]:
    """A page of the list of recorded games, after ``first`` others, and how many the list has.

    result: "1-0", "0-1", "1/2-1/2"; ending: a ``Termination`` in lower case; "" for any. order: one
    of ``ORDERS``. Raises ConfigError for any other.
    """
    if order not in ORDERS:
        raise ConfigError(f"the order is one of {', '.join(ORDERS)}, not {order[:20]!r}")
    if result or ending or order in ("shortest", "longest"):
        games = view.recorded.outcomes()
        rows = _chosen(games, result, ending, order)
        total, shown = len(rows), rows[first : first + GAMES_PER_PAGE]
    else:  # a long run has thousands of shards: those of other pages stay closed
        games = view.recorded.outcomes_of(first, GAMES_PER_PAGE, backwards=order == "newest")
        total, shown = view.recorded.num_games, np.arange(len(games.numbers))
    endings = {code: name for name, code in ENDING_CODES.items()}
    return {
        "total": total,
        "first": first,
        "per_page": GAMES_PER_PAGE,
        "games": [
            {
                "number": int(games.numbers[row]),
                "plies": int(games.plies[row]),
                "result": RESULTS[int(np.sign(games.result[row]))],
                "termination": endings.get(int(games.termination[row]), "unknown"),
            }
            for row in shown.tolist()
        ],
    }


def _chosen(games: GameOutcomes, result: str, ending: str, order: str) -> NDArray[np.int64]:
    """The rows of the games that are asked for, in their ``order``."""
    rows = np.arange(len(games.numbers))
    if result:
        rows = rows[np.sign(games.result[rows]) == _code(result, RESULT_CODES, "result")]
    if ending:
        rows = rows[games.termination[rows] == _code(ending, ENDING_CODES, "ending")]
    plies = games.plies[rows]
    if order in ("shortest", "longest"):
        return rows[np.argsort(plies if order == "shortest" else -plies, kind="stable")]
    return rows[::-1] if order == "newest" else rows


def _code(name: str, codes: dict[str, int], what: str) -> int:
    if name not in codes:
        raise ConfigError(f"the {what} is one of {', '.join(codes)}, not {name[:20]!r}")
    return codes[name]
