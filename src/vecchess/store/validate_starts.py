"""Start positions as files hold them: kernels take positions for real ones, so files are asked."""

from functools import lru_cache

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.fen import from_board, parse, to_board
from vecchess.errors import ConfigError, DataError
from vecchess.shapes import POSITION_WORDS


def check_starts(starts: NDArray[np.uint64]) -> None:
    """Raise DataError where one of ``starts``, uint64[G, 8], is none that a game can begin with."""
    for row in {row.tobytes() for row in starts}:
        if not _is_position(row):
            raise DataError("a game begins with no position that can be played from")


@lru_cache(1 << 14)
def _is_position(row: bytes) -> bool:
    """Whether the eight words are what its FEN reads as: that is what writers have made them of."""
    words = np.frombuffer(row, np.uint64, POSITION_WORDS)
    try:
        board: chess.Board = to_board(words)
        again = from_board(parse(board.shredder_fen(en_passant="legal")))
    except (ConfigError, ValueError, IndexError, AssertionError, OverflowError):
        return False
    return bool(np.array_equal(again, words))
