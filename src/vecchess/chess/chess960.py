"""Start positions: the usual one, and the 960 of Chess960 by their Scharnagl numbers."""

from functools import cache

import chess
import numpy as np
from numpy.typing import ArrayLike, NDArray

from vecchess.chess.fen import from_board
from vecchess.chess.position import Positions
from vecchess.errors import ConfigError
from vecchess.shapes import POSITION_WORDS

NUM_CHESS960 = 960
STANDARD_NUMBER = 518
"""The Scharnagl number of the usual start position."""


@cache
def _start(number: int) -> NDArray[np.uint64]:
    return from_board(chess.Board.from_chess960_pos(number))


def start_positions(num_games: int) -> Positions:
    """The usual start position ``num_games`` times, ``uint64[G, 8]``."""
    return np.tile(_start(STANDARD_NUMBER), (num_games, 1))


def chess960_positions(numbers: ArrayLike) -> Positions:
    """Chess960 start positions by number: ``int[G] -> uint64[G, 8]``.

    Raises ConfigError for a number outside 0 .. 959.
    """
    chosen = np.asarray(numbers, dtype=np.int64).ravel()
    wrong = chosen[(chosen < 0) | (chosen >= NUM_CHESS960)]
    if len(wrong):
        raise ConfigError(f"Chess960 numbers go from 0 to {NUM_CHESS960 - 1}, not {wrong[0]}")
    rows = [_start(int(number)) for number in chosen]
    return np.stack(rows) if rows else np.zeros((0, POSITION_WORDS), dtype=np.uint64)
