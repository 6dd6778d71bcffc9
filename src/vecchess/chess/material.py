"""Piece values, and the balance of men of a position."""

from typing import Any

import numpy as np

from vecchess.chess.bitboards.bits import load, popcount
from vecchess.chess.position import DIAGONAL, KNIGHTS, ORTHOGONAL, OWN, PAWNS
from vecchess.jit import inline

MEN = (1, 3, 3, 5, 9, 0)
"""Piece values in pawns: pawn, knight, bishop, rook, queen, king."""
_PAWN, _KNIGHT, _BISHOP, _ROOK, _QUEEN = MEN[:5]


@inline
def balance_of(position: Any) -> Any:
    """``int64``: the mover's men less the other side's, in pawns."""
    own, pawns, knights = load(position, OWN), load(position, PAWNS), load(position, KNIGHTS)
    diagonal, orthogonal = load(position, DIAGONAL), load(position, ORTHOGONAL)
    balance = _PAWN * _surplus(pawns, own) + _KNIGHT * _surplus(knights, own)
    balance += _BISHOP * _surplus(diagonal & ~orthogonal, own)
    balance += _ROOK * _surplus(orthogonal & ~diagonal, own)
    return balance + _QUEEN * _surplus(diagonal & orthogonal, own)


@inline
def _surplus(men: Any, own: Any) -> Any:
    return np.int64(popcount(men & own)) - np.int64(popcount(men & ~own))
