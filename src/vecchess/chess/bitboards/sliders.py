"""Attacks of one rook or bishop: a table indexed by PEXT, or arithmetic where there is no BMI2."""

from typing import Any

import numpy as np

from vecchess.chess.bitboards.bits import has_bmi2, load, msb, pext
from vecchess.chess.bitboards.tables import RAYS, SLIDERS
from vecchess.jit import inline

_ZERO, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)


@inline
def rook_attacks(tables: Any, square: Any, occupied: Any) -> Any:
    """``uint64``: squares a rook attacks, the first man in each direction included."""
    if has_bmi2():
        entry = SLIDERS + np.int64(square) * 4
        packed = pext(occupied, load(tables, entry))
        return load(tables, np.int64(load(tables, entry + 1) + packed))
    return _line(tables, square, occupied, 0) | _line(tables, square, occupied, 1)


@inline
def bishop_attacks(tables: Any, square: Any, occupied: Any) -> Any:
    """``uint64``: squares a bishop attacks, the first man in each direction included."""
    if has_bmi2():
        entry = SLIDERS + np.int64(square) * 4
        packed = pext(occupied, load(tables, entry + 2))
        return load(tables, np.int64(load(tables, entry + 3) + packed))
    return _line(tables, square, occupied, 2) | _line(tables, square, occupied, 3)


@inline
def _line(tables: Any, square: Any, occupied: Any, lane: Any) -> Any:
    """Obstruction difference (chessprogramming.org): both ways along a line in one subtraction."""
    entry = RAYS + np.int64(square) * 8 + lane
    climbing, falling = load(tables, entry), load(tables, entry + 4)
    above = climbing & occupied
    lowest_above = above & (~above + _ONE)
    highest_below = msb((falling & occupied) | _ONE)
    return (climbing | falling) & (_TWO * lowest_above - highest_below)
