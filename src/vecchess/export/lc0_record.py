"""lc0's training data: the V6 record of one position.

``V6TrainingData``, 8,356 bytes: order and sizes are those of src/trainingdata/trainingdata_v6.h of
LeelaChessZero/lc0 (packed, little endian), the meaning of the fields is told there and in
trainingdata.cc. Point of view: the mover's.

    probabilities   over lc0's 1858 moves (``lc0.lc0_moves``); -1 for those that are not legal
    planes          8 positions of 13 planes: own pawns, knights, bishops, rooks, queens, king,
                    theirs, and whether it occurred before; the newest position first, all as the
                    mover of the newest sees the board; a1 is the highest bit of the first byte
    castling        1 where it may be done; in CASTLING_PLANE the rook's file, as one of 8 bits
    q, d            P(win) - P(loss), P(draw)
    m, plies_left   plies

Decision 103.
"""

import numpy as np

from vecchess.lc0.lc0_planes import NUM_POSITIONS, PLANES_PER_POSITION

VERSION = 6

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
