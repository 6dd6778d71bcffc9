"""lc0's order of moves: the 1858 that its networks tell apart.

The moves are all that a queen, a knight or a promoting pawn can make, in the order of
``kMoveStrs`` in src/neural/encoder.cc; castling is king takes own rook, as in our own moves:

    0 .. 1791      from | to, both ascending from a1, b1 ... h8: what a queen or a knight could do
    1792 .. 1857   a pawn from rank 7 to rank 8, by file of start and goal, to a queen, a rook and
                   a bishop each; a promotion to a knight is the plain move

A convolutional policy head has 80 planes of 64 squares; the first 73 are moves by the square they
start from, in the order of our own actions (``chess/bitboards/directions.py``) up to plane 63:

    64 .. 72       a pawn's promotion to rank 8, north-west, north and north-east by turns of three
                   planes: to a rook, a bishop, a queen

Decision 105.
"""

from functools import cache

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import moves_to_actions
from vecchess.chess.bitboards.directions import UNDERPROMOTION_PLANE
from vecchess.shapes import NUM_SQUARES

NO_INDEX = -1
_KNIGHT, _BISHOP, _ROOK, _QUEEN = 1, 2, 3, 4
"""Promotions in our moves; 0 is none."""
_CONV_PIECES = (chess.ROOK, chess.BISHOP, chess.QUEEN)
_SUFFIXES = {chess.QUEEN: _QUEEN, chess.ROOK: _ROOK, chess.BISHOP: _BISHOP}


@cache
def lc0_moves() -> tuple[chess.Move, ...]:
    """The 1858 moves as White makes them."""
    plain = [
        chess.Move(start, goal)
        for start in chess.SQUARES
        for goal in chess.SQUARES
        if _is_reached(start, goal)
    ]
    promotions = [
        chess.Move(chess.square(file, 6), chess.square(goal, 7), piece)
        for file in range(8)
        for goal in range(max(0, file - 1), min(8, file + 2))
        for piece in _SUFFIXES
    ]
    return (*plain, *promotions)


@cache
def move_indices() -> NDArray[np.int16]:
    """int16[5 * 4096]: the index of each of our moves (``shapes``); NO_INDEX for none of them."""
    indices = np.full(5 << 12, NO_INDEX, np.int16)
    for index, move in enumerate(lc0_moves()):
        word = move.from_square | move.to_square << 6
        if move.promotion is None:
            indices[word] = indices[word | _KNIGHT << 12] = index
        else:
            indices[word | _SUFFIXES[move.promotion] << 12] = index
    return indices


@cache
def conv_places() -> NDArray[np.int64]:
    """int64[1858]: where each move is among the plane * 64 + square of a convolutional head."""
    starts, goals = np.array([[move.from_square, move.to_square] for move in lc0_moves()]).T
    places = moves_to_actions(starts | goals << 6).astype(np.int64)
    for index, move in enumerate(lc0_moves()):
        if move.promotion is not None:
            side, piece = goals[index] - starts[index] - 7, _CONV_PIECES.index(move.promotion)
            places[index] = (UNDERPROMOTION_PLANE + 3 * side + piece) * NUM_SQUARES + starts[index]
    return places


def _is_reached(start: int, goal: int) -> bool:
    """True when a queen or a knight could go there on an empty board."""
    files = abs(chess.square_file(start) - chess.square_file(goal))
    ranks = abs(chess.square_rank(start) - chess.square_rank(goal))
    as_queen = start != goal and (files == 0 or ranks == 0 or files == ranks)
    return as_queen or {files, ranks} == {1, 2}
