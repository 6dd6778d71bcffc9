"""Making a move: the pieces move, then the board turns round for the other side.

No move is ever taken back: positions are small enough to copy.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.bitboards.attacks import en_passant_takers
from vecchess.chess.bitboards.bits import bswap, load, store, tz
from vecchess.chess.position import (
    CASTLING,
    CLOCK_MASK,
    COLOUR_SHIFT,
    COUNTERS,
    DIAGONAL,
    FILE_A,
    FILE_H,
    KINGS,
    KNIGHTS,
    ORTHOGONAL,
    OWN,
    PAWNS,
    PLY_SHIFT,
    POSITION_BYTES,
    RANK_1,
    RANK_6,
    RANK_8,
    Positions,
    checked,
    pieces_of,
)  # fmt: skip
from vecchess.jit import inline, kernel

_U = np.uint64
_ZERO, _ONE = _U(0), _U(1)
_PLY, _CLOCK, _COLOUR = _U(1 << PLY_SHIFT), _U(CLOCK_MASK), _U(1 << COLOUR_SHIFT)


@inline
def make_move(tables: Any, position: Any, move: Any) -> None:
    """Make a legal ``move`` in place; afterwards the other side is the mover."""
    make_move_into(tables, position, position, move)


@inline
def make_move_into(tables: Any, source: Any, target: Any, move: Any) -> None:
    """Make a legal ``move`` of the position at ``source`` and write the result at ``target``."""
    move = _U(move)
    own, pawns, knights, diagonal, orthogonal, kings = pieces_of(source)
    rights, counters = load(source, CASTLING), load(source, COUNTERS)
    square_from, square_to = move & _U(63), move >> _U(6) & _U(63)
    start, goal = _ONE << square_from, _ONE << square_to
    occupied = pawns | knights | diagonal | orthogonal | kings
    their = occupied & ~own
    en_passant, moved_pawn = rights & RANK_6, pawns & start
    quiet = moved_pawn == _ZERO and their & goal == _ZERO
    lost = start | goal | (RANK_1 if kings & start != _ZERO else _ZERO)
    rights &= (RANK_1 | RANK_8) & ~lost
    if own & goal != _ZERO:
        king_to, rook_to = (_U(6), _U(5)) if square_to > square_from else (_U(2), _U(3))
        kings = kings ^ start | _ONE << king_to
        orthogonal = orthogonal ^ goal | _ONE << rook_to
    else:
        their &= ~goal
        pawns = _move(pawns, square_from, square_to, start, goal)
        knights = _move(knights, square_from, square_to, start, goal)
        diagonal = _move(diagonal, square_from, square_to, start, goal)
        orthogonal = _move(orthogonal, square_from, square_to, start, goal)
        kings = _move(kings, square_from, square_to, start, goal)
        if moved_pawn != _ZERO:
            if goal & RANK_8 != _ZERO:
                promotion, pawns = move >> _U(12), pawns ^ goal
                knights |= goal if promotion == _ONE else _ZERO
                diagonal |= goal if promotion == _U(2) or promotion == _U(4) else _ZERO
                orthogonal |= goal if promotion >= _U(3) else _ZERO
            if goal == en_passant:
                pawns, their = pawns ^ goal >> _U(8), their ^ goal >> _U(8)
            if square_to - square_from == _U(16) and _beside(goal) & pawns & their != _ZERO:
                rights |= _en_passant_square(
                    tables, goal, their, pawns, knights, diagonal, orthogonal, kings
                )
    _store_turned(target, their, pawns, knights, diagonal, orthogonal, kings, rights)
    clock = (counters & _CLOCK) + _ONE if quiet else _ZERO
    store(target, COUNTERS, ((counters & ~_CLOCK) + _PLY ^ _COLOUR) | clock)


@inline
def _move(men: Any, square_from: Any, square_to: Any, start: Any, goal: Any) -> Any:
    """One kind of pieces after the move: whatever stood on the goal is gone."""
    return men & ~(start | goal) | (men >> square_from & _ONE) << square_to


@inline
def _beside(goal: Any) -> Any:
    """The squares left and right of one."""
    return (goal & ~FILE_A) >> _ONE | (goal & ~FILE_H) << _ONE


@inline
def _store_turned(
    target: Any, their: Any, pawns: Any, knights: Any, diagonal: Any, orthogonal: Any,
    kings: Any, rights: Any,
) -> None:  # fmt: skip
    """Write words 0 to 6 as the other side sees them."""
    store(target, OWN, bswap(their))
    store(target, PAWNS, bswap(pawns))
    store(target, KNIGHTS, bswap(knights))
    store(target, DIAGONAL, bswap(diagonal))
    store(target, ORTHOGONAL, bswap(orthogonal))
    store(target, KINGS, bswap(kings))
    store(target, CASTLING, bswap(rights))


@inline
def _en_passant_square(
    tables: Any, goal: Any, their: Any, pawns: Any, knights: Any, diagonal: Any, orthogonal: Any,
    kings: Any,
) -> Any:  # fmt: skip
    """The square behind the pawn now on ``goal``, if a pawn of theirs may take it there; else 0.

    Seen from the old mover's side; the capture is judged from the other's.
    """
    them = bswap(their)
    occupied = bswap(pawns | knights | diagonal | orthogonal | kings)
    square = bswap(goal >> _U(8))
    king = np.int64(tz(bswap(kings) & them))
    takers = en_passant_takers(
        tables, square, king, bswap(pawns) & them, occupied,
        bswap(diagonal) & ~them, bswap(orthogonal) & ~them,
    )  # fmt: skip
    return goal >> _U(8) if takers != _ZERO else _ZERO


@kernel
def _make_all(tables, positions, num_positions, moves):  # type: ignore[no-untyped-def]
    for index in range(num_positions):
        make_move(tables, positions + index * POSITION_BYTES, moves[index])


def make(positions: Positions, moves: ArrayLike) -> Positions:
    """The positions after one legal move each: ``uint64[G, 8], uint16[G] -> uint64[G, 8]``.

    The result is seen by the side that moves next. Moves are not checked; see ``legal_moves``.
    Raises ValueError when there is not one move for each position.
    """
    after = checked(positions).copy()
    chosen = np.ascontiguousarray(moves, dtype=np.uint16)
    if chosen.shape != (len(after),):
        raise ValueError(f"{len(after)} positions need as many moves, not {list(chosen.shape)}")
    _make_all(lookup.address(), after.ctypes.data, len(after), chosen)
    return after
