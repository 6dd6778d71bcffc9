"""lc0's training data: the V6 record of one position, and the order of its 1858 moves.

``V6TrainingData``, 8,356 bytes: order and sizes are those of src/trainingdata/trainingdata_v6.h of
LeelaChessZero/lc0 (packed, little endian), the meaning of the fields is told there and in
trainingdata.cc. Point of view: the mover's.

    probabilities   over lc0's 1858 moves; -1 for those that are not legal
    planes          8 positions of 13 planes: own pawns, knights, bishops, rooks, queens, king,
                    theirs, and whether it occurred before; the newest position first, all as the
                    mover of the newest sees the board; a1 is the highest bit of the first byte
    castling        1 where it may be done; in CASTLING_PLANE the rook's file, as one of 8 bits
    q, d            P(win) - P(loss), P(draw)
    m, plies_left   plies

The moves are all that a queen, a knight or a promoting pawn can make, in the order of
``kMoveStrs`` in src/neural/encoder.cc; castling is king takes own rook, as in our own moves:

    0 .. 1791      from | to, both ascending from a1, b1 ... h8: what a queen or a knight could do
    1792 .. 1857   a pawn from rank 7 to rank 8, by file of start and goal, to a queen, a rook and
                   a bishop each; a promotion to a knight is the plain move

Decisions 103 and 105.
"""

from functools import cache

import chess
import numpy as np
from numpy.typing import NDArray

VERSION = 6
CLASSICAL = 1
"""``input_format`` with castling rights as flags."""
CASTLING_PLANE = 2
"""``input_format`` with castling rights as rooks: the one for Chess960. Nothing else differs."""

NUM_POSITIONS = 8
PLANES_PER_POSITION = 13

HISTORY_ONLY = 1 << 6
"""Bit of ``invariance_info``: lc0's rescorer keeps the position for what follows, and then leaves
it out: nothing is to be learnt from it."""
ADJUDICATED = 1 << 5
"""Bit of ``invariance_info``: the game did not end on the board."""
LENGTH_EXCEEDED = 1 << 4
"""Bit of ``invariance_info``: nor by adjudication: it was too long."""

RECORD = np.dtype(
    [
        ("version", "<u4"),
        ("input_format", "<u4"),
        ("probabilities", "<f4", (1858,)),
        ("planes", "<u8", (NUM_POSITIONS * PLANES_PER_POSITION,)),
        ("castling_us_ooo", "u1"),
        ("castling_us_oo", "u1"),
        ("castling_them_ooo", "u1"),
        ("castling_them_oo", "u1"),
        ("side_to_move_or_enpassant", "u1"),
        ("rule50_count", "u1"),
        ("invariance_info", "u1"),
        ("dummy", "u1"),
        ("root_q", "<f4"),
        ("best_q", "<f4"),
        ("root_d", "<f4"),
        ("best_d", "<f4"),
        ("root_m", "<f4"),
        ("best_m", "<f4"),
        ("plies_left", "<f4"),
        ("result_q", "<f4"),
        ("result_d", "<f4"),
        ("played_q", "<f4"),
        ("played_d", "<f4"),
        ("played_m", "<f4"),
        ("orig_q", "<f4"),
        ("orig_d", "<f4"),
        ("orig_m", "<f4"),
        ("visits", "<u4"),
        ("played_idx", "<u2"),
        ("best_idx", "<u2"),
        ("policy_kld", "<f4"),
        ("q_st", "<f4"),
    ]
)
"""``V6TrainingData`` field by field; packed, as numpy's structures are."""


NO_INDEX = -1
_KNIGHT, _BISHOP, _ROOK, _QUEEN = 1, 2, 3, 4
"""Promotions in our moves; 0 is none."""
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


def _is_reached(start: int, goal: int) -> bool:
    """True when a queen or a knight could go there on an empty board."""
    files = abs(chess.square_file(start) - chess.square_file(goal))
    ranks = abs(chess.square_rank(start) - chess.square_rank(goal))
    as_queen = start != goal and (files == 0 or ranks == 0 or files == ranks)
    return as_queen or {files, ranks} == {1, 2}
