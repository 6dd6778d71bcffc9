"""Mates in one, found before an evaluation is requested: such a position needs none (decision 62).

Only moves that may give check are tried, few of a position's moves.
"""

from typing import Any

import numpy as np

from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.bitboards.attacks import bishop_attacks, rook_attacks
from vecchess.chess.bitboards.bits import load, load_u16, tz
from vecchess.chess.make import make_move_into
from vecchess.chess.movegen import generate_moves
from vecchess.chess.position import (
    CASTLING,
    DIAGONAL,
    FILE_A,
    FILE_H,
    KINGS,
    KNIGHTS,
    ORTHOGONAL,
    OWN,
    PAWNS,
    RANK_6,
)
from vecchess.jit import inline, part

NO_MOVE = -1
_MATED = 1 << 16
"""The result of move generation for a position in check without moves."""
_U = np.uint64
_ZERO, _ONE = _U(0), _U(1)


@part
def mating_move(tables, board, moves, count, trial_board, trial_moves):  # type: ignore[no-untyped-def]
    """The first of ``count`` legal moves at the address ``moves`` that mates; NO_MOVE if none.

    ``trial_board`` (uint64[8]) and ``trial_moves`` (uint16[256]) are scratch memory.
    """
    own, pawns, knights = load(board, OWN), load(board, PAWNS), load(board, KNIGHTS)
    diagonal, orthogonal = load(board, DIAGONAL), load(board, ORTHOGONAL)
    kings = load(board, KINGS)
    occupied = pawns | knights | diagonal | orthogonal | kings
    square = _U(tz(kings & ~own))
    king = _ONE << square
    straight = rook_attacks(tables, square, occupied)
    slant = bishop_attacks(tables, square, occupied)
    hop = load(tables, lookup.KNIGHT + np.int64(square))
    below = (king & ~FILE_A) >> _U(9) | (king & ~FILE_H) >> _U(7)
    special = own | load(board, CASTLING) & RANK_6  # castling, en passant
    behind = _uncovers(tables, square, occupied, own, straight, orthogonal, True)
    behind |= _uncovers(tables, square, occupied, own, slant, diagonal, False)
    for index in range(count):
        move = load_u16(moves, index)
        start, goal = _ONE << _U(move & 63), _ONE << _U(move >> 6 & 63)
        gives = (behind & start) | (special & goal) | _U(move >> 12)
        gives |= _if(knights & start, hop & goal) | _if(diagonal & start, slant & goal)
        gives |= _if(orthogonal & start, straight & goal) | _if(pawns & start, below & goal)
        if gives != _ZERO:
            make_move_into(tables, board, trial_board, move)
            if generate_moves(tables, trial_board, trial_moves) == _MATED:
                return np.int64(move)
    return np.int64(NO_MOVE)


@inline
def _if(condition: Any, value: Any) -> Any:
    """``value`` where ``condition`` has a bit set, else 0."""
    return value if condition != _ZERO else _ZERO


@inline
def _uncovers(
    tables: Any, square: Any, occupied: Any, own: Any, seen: Any, sliders: Any, is_rook: Any
) -> Any:
    """Own men in sight of the enemy king, where one of them may hide a slider behind it."""
    blockers = seen & own
    without = occupied ^ blockers
    if is_rook:
        beyond = rook_attacks(tables, square, without)
    else:
        beyond = bishop_attacks(tables, square, without)
    return blockers if beyond & ~seen & own & sliders != _ZERO else _ZERO
