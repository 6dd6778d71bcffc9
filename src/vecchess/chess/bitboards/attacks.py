"""Attacked squares, and the legality of en passant, which depends on the whole board.

Attacks of a rook or bishop come from a table indexed by PEXT, or from arithmetic without BMI2.
"""

from typing import Any

import numpy as np

from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.bitboards.bits import has_bmi2, load, msb, pext, tz
from vecchess.chess.bitboards.rays import slider_attacks
from vecchess.chess.position import FILE_A, FILE_H
from vecchess.jit import inline

_U = np.uint64
_ZERO, _ONE, _TWO = _U(0), _U(1), _U(2)
_NOT_A, _NOT_H = ~FILE_A, ~FILE_H
ROOK, BISHOP = 0, 2
"""Kinds of sliders: the first of their two words, and of their two lines, in ``tables``."""


@inline
def rook_attacks(tables: Any, square: Any, occupied: Any) -> Any:
    """``uint64``: squares a rook attacks, the first man in each direction included."""
    return line_attacks(tables, square, occupied, ROOK)


@inline
def bishop_attacks(tables: Any, square: Any, occupied: Any) -> Any:
    """``uint64``: squares a bishop attacks, the first man in each direction included."""
    return line_attacks(tables, square, occupied, BISHOP)


@inline
def line_attacks(tables: Any, square: Any, occupied: Any, kind: Any) -> Any:
    """``uint64``: squares that a slider of a ``kind``, ROOK or BISHOP, attacks."""
    if has_bmi2():
        entry = lookup.SLIDERS + np.int64(square) * 4 + kind
        packed = pext(occupied, load(tables, entry))
        return load(tables, np.int64(load(tables, entry + 1) + packed))
    return _line(tables, square, occupied, kind) | _line(tables, square, occupied, kind + 1)


@inline
def _line(tables: Any, square: Any, occupied: Any, lane: Any) -> Any:
    """Obstruction difference (chessprogramming.org): both ways along a line in one subtraction."""
    entry = lookup.RAYS + np.int64(square) * 8 + lane
    climbing, falling = load(tables, entry), load(tables, entry + 4)
    above = climbing & occupied
    lowest_above = above & (~above + _ONE)
    highest_below = msb((falling & occupied) | _ONE)
    return (climbing | falling) & (_TWO * lowest_above - highest_below)


@inline
def pawn_attacks(pawns: Any) -> Any:
    """Squares that the mover's pawns attack."""
    return (pawns & _NOT_A) << _U(7) | (pawns & _NOT_H) << _U(9)


@inline
def their_pawn_attacks(pawns: Any) -> Any:
    """Squares that the other side's pawns attack."""
    return (pawns & _NOT_A) >> _U(9) | (pawns & _NOT_H) >> _U(7)


@inline
def knight_attacks(knights: Any) -> Any:
    """Squares that any of the knights attacks."""
    not_ab, not_gh = _NOT_A & ~(FILE_A << _ONE), _NOT_H & ~(FILE_H >> _ONE)
    near = (knights & _NOT_A) >> _ONE | (knights & _NOT_H) << _ONE
    far = (knights & not_ab) >> _U(2) | (knights & not_gh) << _U(2)
    return near << _U(16) | near >> _U(16) | far << _U(8) | far >> _U(8)


@inline
def danger(
    tables: Any, own: Any, their: Any, pawns: Any, knights: Any, diagonal: Any, orthogonal: Any,
    kings: Any,
) -> Any:  # fmt: skip
    """Squares our king may not enter: what they attack once it has left its square."""
    empty = ~(own | their) | (kings & own)
    attacked = slider_attacks(orthogonal & their, diagonal & their, empty)
    attacked |= their_pawn_attacks(pawns & their) | knight_attacks(knights & their)
    return attacked | load(tables, lookup.KING + np.int64(tz(kings & their)))


@inline
def en_passant_takers(
    tables: Any, square: Any, king: Any, pawns: Any, occupied: Any, their_diagonal: Any,
    their_orthogonal: Any,
) -> Any:  # fmt: skip
    """The mover's pawns that may take en passant on ``square`` (a bit) and leave no slider's check.

    There can be no other checks: before the two-step the king was not attacked, and the pawn goes.
    """
    takers = their_pawn_attacks(square) & pawns
    legal = _ZERO
    while takers != _ZERO:
        taker = takers & (~takers + _ONE)
        after = (occupied ^ taker ^ square >> _U(8)) | square
        checks = bishop_attacks(tables, king, after) & their_diagonal
        checks |= rook_attacks(tables, king, after) & their_orthogonal
        legal |= taker if checks == _ZERO else _ZERO
        takers &= takers - _ONE
    return legal
