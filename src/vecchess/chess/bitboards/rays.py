"""Eight rays at once: slider attacks, checks and pins as vectors of eight 64-bit lanes.

    lane   0  1  2   3   4  5  6   7        0 and 4, 1 and 5, ... are opposite, so the lower
           N  E  NE  NW  S  W  SW  SE       four lanes climb in square number, the upper four fall

Written as LLVM vectors, so there is no loop to mispredict. AVX-512 does a lane each, AVX2 four at
a time, and any other processor gets whatever LLVM makes of it: slower, the same result
(decision 5).
"""

from typing import Any

from numba import types

from vecchess.chess.bitboards.bits import U64
from vecchess.llvm import I1, I64, call, constant, instruction, splat, vector

LANES = vector(I64, 8)
SHIFTS = (8, 1, 9, 7, 56, 63, 55, 57)
"""Left rotation of a bitboard by one step in each lane's direction."""
_NOT_A, _NOT_H = 0xFEFEFEFEFEFEFEFE, 0x7F7F7F7F7F7F7F7F
_UP, _DOWN = 2**64 - 2**8, 2**56 - 1
ARRIVALS = (
    _UP, _NOT_A, _UP & _NOT_A, _UP & _NOT_H, _DOWN, _NOT_H, _DOWN & _NOT_H, _DOWN & _NOT_A,
)  # fmt: skip
"""Squares a step in each lane's direction can arrive on: no wrapping round the board's edges."""
_ORTHOGONAL = (1, 1, 0, 0, 1, 1, 0, 0)


def _by_line(builder: Any, orthogonal: Any, diagonal: Any) -> Any:
    """One word on the orthogonal lanes, another on the diagonal ones."""
    mask = constant(I1, _ORTHOGONAL)
    return builder.select(mask, splat(builder, orthogonal, 8), splat(builder, diagonal, 8))


def _rotate(builder: Any, word: Any, steps: int) -> Any:
    amounts = constant(I64, [shift * steps % 64 for shift in SHIFTS])
    return call(builder, "llvm.fshl.v8i64", LANES, [word, word, amounts])


def _any(builder: Any, lanes: Any) -> Any:
    return call(builder, "llvm.vector.reduce.or.v8i64", I64, [lanes])


@instruction(U64, U64, U64, U64)
def slider_attacks(builder: Any, orthogonal: Any, diagonal: Any, empty: Any) -> Any:
    """``(rooks+queens, bishops+queens, empty squares) -> uint64``: all squares they attack.

    Kogge-Stone fill (chessprogramming.org): three doubling steps, then one step further.
    """
    sliders, arrivals = _by_line(builder, orthogonal, diagonal), constant(I64, ARRIVALS)
    open_to = builder.and_(splat(builder, empty, 8), arrivals)
    for steps in (1, 2, 4):
        reached = builder.and_(open_to, _rotate(builder, sliders, steps))
        sliders = builder.or_(sliders, reached)
        if steps < 4:
            open_to = builder.and_(open_to, _rotate(builder, open_to, steps))
    return _any(builder, builder.and_(_rotate(builder, sliders, 1), arrivals))


def _to_first(builder: Any, rays: Any, men: Any) -> Any:
    """Each ray cut after the first of the ``men`` that stand on it."""
    one = constant(I64, 1, 8)
    climbing = builder.xor(men, builder.sub(men, one))
    zeros = call(builder, "llvm.ctlz.v8i64", LANES, [builder.or_(men, one), I1(0)])
    falling = builder.neg(builder.lshr(constant(I64, 1 << 63, 8), zeros))
    lower = constant(I1, [1] * 4 + [0] * 4)
    return builder.and_(rays, builder.select(lower, climbing, falling))


def _where(builder: Any, test: Any, lanes: Any) -> Any:
    """The lanes in which ``test`` is not 0, the others 0."""
    zero = constant(I64, 0, 8)
    return builder.select(builder.icmp_unsigned("!=", test, zero), lanes, zero)


@instruction(types.UniTuple(U64, 4), U64, U64, U64, U64, U64)
def king_rays(
    builder: Any, rays: Any, occupied: Any, own: Any, orthogonal: Any, diagonal: Any
) -> Any:
    """``(address of the king square's rays, occupied, own pieces, their rooks+queens, their
    bishops+queens) -> (checkers, check rays, orthogonal pins, diagonal pins)``, all ``uint64``.

    A check ray runs from beside the king to the checker and includes it, a pin ray to the pinner.
    """
    ray = builder.load(builder.inttoptr(rays, LANES.as_pointer()), align=8)
    sliders = _by_line(builder, orthogonal, diagonal)
    men = builder.and_(ray, splat(builder, occupied, 8))
    first = _to_first(builder, ray, men)
    checkers = builder.and_(first, sliders)
    second = _to_first(builder, ray, builder.and_(men, builder.not_(first)))
    own_first = builder.and_(first, splat(builder, own, 8))
    pinned = _where(builder, builder.and_(second, sliders), second)
    pinned = _where(builder, own_first, pinned)
    zero, mask = constant(I64, 0, 8), constant(I1, _ORTHOGONAL)
    return [
        _any(builder, checkers),
        _any(builder, _where(builder, checkers, first)),
        _any(builder, builder.select(mask, pinned, zero)),
        _any(builder, builder.select(mask, zero, pinned)),
    ]
