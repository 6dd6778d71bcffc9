"""The lines of the suites of best moves, see ``vecchess/suites/epd.py``, and which are alike."""

from typing import Any

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.position import COUNTERS

WDL_TOTAL = 1000


def best_moves_line(
    board: chess.Board, move: chess.Move, name: str, wdl: tuple[float, float, float] | None = None
) -> str:
    """The line of a position with one best move. wdl: shares of win, draw and loss."""
    operations: dict[str, Any] = {"bm": move}
    if board.halfmove_clock:
        operations["hmvc"] = board.halfmove_clock
    if wdl is not None:
        win, _, loss = (round(WDL_TOTAL * share / sum(wdl)) for share in wdl)
        operations["c0"] = f"{win} {max(0, WDL_TOTAL - win - loss)} {loss}"
    return board.epd(en_passant="legal", **operations, id=name)


def as_seen(position: NDArray[np.uint64]) -> bytes:
    """A key of ``position``, uint64[8], as the mover sees it, without clocks: colours exchanged it
    is the same."""
    return position[:COUNTERS].tobytes()
