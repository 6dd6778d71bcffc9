"""Squares under attack, and the one capture whose legality needs a look at the whole board."""

from typing import Any

import numpy as np

from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.bitboards.bits import load, tz
from vecchess.chess.bitboards.rays import slider_attacks
from vecchess.chess.bitboards.sliders import bishop_attacks, rook_attacks
from vecchess.chess.position import FILE_A, FILE_H
from vecchess.jit import inline

_U = np.uint64
_ZERO, _ONE = _U(0), _U(1)
_NOT_A, _NOT_H = ~FILE_A, ~FILE_H


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

    Other checks cannot be: before the two-step the king was not attacked, and the taken pawn goes.
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
