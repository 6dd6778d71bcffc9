"""3x3 convolutions of boards of numbers by Winograd's algorithm F(4x4, 3x3), on the processor.

A board is four tiles of 4x4 results, each of which reads 6x6 squares. Both are transformed, so that
a tile takes 36 products a pair of channels where the sum over taps takes 144 (Lavin and Gray 2015,
"Fast Algorithms for Convolutional Neural Networks"). Results differ from the sum over taps by
rounding, so this is for gradients, not for the exact forward of a quantised network. The result of
a board does not depend on the boards beside it.

What is multiplied is float32, an error of 2e-6 of the results' spread, or bfloat16 as uint16 where
the processor has products of its pairs (``HAS_PAIRS``), summed in float32: half the time, an error
of 3e-2 (tested). A block of boards, transformed, is word[36, TILES * K + GAP], four tiles a board.

Decisions 225 and 240.
"""

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from vecchess.jit import cpu_has, inline, kernel
from vecchess.llvm import (
    BF16,
    F32,
    I16,
    I32,
    I64,
    LANES,
    Loop,
    call,
    constant,
    instruction,
    load,
    splat,
    store,
    vector,
)

TILES = 16
"""Tiles of a block: the transformed weights are read once a block."""
PLACES = 36
"""Transformed numbers of a tile and channel."""
GAP = LANES
"""Numbers between places: at multiples of 4 KB they would all want the same cache lines."""
_BLOCK = TILES // 4
_ROWS, _COLUMNS = (8, 2) if cpu_has("avx512f") else (4, 1)
"""Tiles and vectors of outputs whose sums are held in registers."""
_WIDTH = _COLUMNS * LANES
HAS_PAIRS = cpu_has("avx512f", "avx512bf16")
"""Whether bfloat16 can be multiplied."""
_PAIRS = vector(BF16, 2 * LANES)

_KERNEL = [[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]
KERNEL: NDArray[np.float64] = np.kron(_KERNEL, _KERNEL) / 24**2
"""[36, 9]: the transform of the taps of a kernel."""


def _scaled(builder: Any, terms: list[tuple[float, Any]]) -> Any:
    """The sum of factors times vectors; None is zero."""
    total: Any = None
    for factor, value in terms:
        if value is None:
            continue
        if total is None and factor == 1:
            total = value
        elif total is None:
            total = builder.fmul(value, splat(builder, F32(factor)))
        elif factor == 1:
            total = builder.fadd(total, value)
        elif factor == -1:
            total = builder.fsub(total, value)
        else:
            given = [value, splat(builder, F32(factor)), total]
            total = call(builder, "llvm.fmuladd.v16f32", vector(F32), given)
    return total


def _inputs(builder: Any, d: list[Any]) -> list[Any]:
    """Six numbers in a line -> six transformed."""
    a, b = (_scaled(builder, [(1, d[i + 2]), (-4, d[i])]) for i in (2, 1))
    c, e = (_scaled(builder, [(1, d[i + 2]), (-1, d[i])]) for i in (2, 1))
    return [
        _scaled(builder, [(1, d[4]), (-5, d[2]), (4, d[0])]),
        _scaled(builder, [(1, a), (1, b)]),
        _scaled(builder, [(1, a), (-1, b)]),
        _scaled(builder, [(1, c), (2, e)]),
        _scaled(builder, [(1, c), (-2, e)]),
        _scaled(builder, [(4, d[1]), (-5, d[3]), (1, d[5])]),
    ]


def _results(builder: Any, m: list[Any]) -> list[Any]:
    """Six transformed sums in a line -> four results."""
    a, b = builder.fadd(m[1], m[2]), builder.fsub(m[1], m[2])
    c, d = builder.fadd(m[3], m[4]), builder.fsub(m[3], m[4])
    return [
        builder.fadd(m[0], builder.fadd(a, c)),
        _scaled(builder, [(1, b), (2, d)]),
        _scaled(builder, [(1, a), (4, c)]),
        _scaled(builder, [(1, b), (8, d), (1, m[5])]),
    ]


def _both_axes(builder: Any, transform: Any, values: list[list[Any]]) -> list[list[Any]]:
    """A transform of the columns, then of the rows, of a square of vectors."""
    for _ in range(2):
        lines = [transform(builder, list(line)) for line in zip(*values, strict=True)]
        values = lines
    return values


def _words(builder: Any, numbers: Any, work: Any) -> Any:
    """A vector of numbers as they are kept in ``work`` to be multiplied."""
    if work.type.pointee == F32:
        return numbers
    return builder.bitcast(builder.fptrunc(numbers, vector(BF16)), vector(I16))


def _corner(rank: int, file: int) -> Any:
    """Transforms of the tile whose first square is (rank, file), 16 channels at a time."""

    @instruction(types.void, None, types.int64, types.int64, None, types.int64, types.int64)
    def read(builder, board, at, channels, work, place, stride) -> None:  # type: ignore[no-untyped-def]
        """``board[at:]``, a square every ``channels`` -> ``work[place:]``, one every ``stride``."""

        def value(r: int, f: int) -> Any:
            if not (0 <= r < 8 and 0 <= f < 8):
                return None
            square = builder.mul(I64(r * 8 + f), channels)
            return load(builder, board, builder.add(at, square))

        tile = [[value(rank - 1 + i, file - 1 + j) for j in range(6)] for i in range(6)]
        for i, row in enumerate(_both_axes(builder, _inputs, tile)):
            for j, transformed in enumerate(row):
                target = builder.add(place, builder.mul(I64(i * 6 + j), stride))
                store(builder, _words(builder, transformed, work), work, target)

    @instruction(types.void, None, types.int64, types.int64, None, types.int64, types.int64)
    def write(builder, work, place, stride, board, at, channels) -> None:  # type: ignore[no-untyped-def]
        """The other way: sums in ``work`` -> results on the board."""

        def value(i: int, j: int) -> Any:
            return load(builder, work, builder.add(place, builder.mul(I64(i * 6 + j), stride)))

        sums = [[value(i, j) for j in range(6)] for i in range(6)]
        for i, row in enumerate(_both_axes(builder, _results, sums)):
            for j, result in enumerate(row):
                square = builder.mul(I64((rank + i) * 8 + file + j), channels)
                store(builder, result, board, builder.add(at, square))

    return read, write


(_read_a, _write_a), (_read_b, _write_b), (_read_c, _write_c), (_read_d, _write_d) = (
    _corner(rank, file) for rank in (0, 4) for file in (0, 4)
)


def _splat_factor(builder: Any, rows: Any, at: Any) -> Any:
    """The factor at ``rows[at]``, or the pair of factors from there on, in every lane."""
    pointer = builder.gep(rows, [at])
    if rows.type.pointee == F32:
        return splat(builder, builder.load(pointer))
    return splat(builder, builder.load(builder.bitcast(pointer, I32.as_pointer()), align=2))


def _add_products(builder: Any, total: Any, factors: Any, column: Any) -> Any:
    """``total`` and the products of a factor, or of a pair, and each of 16 outputs."""
    if column.type.element == F32:
        return call(builder, "llvm.fmuladd.v16f32", vector(F32), [factors, column, total])
    given = [total, builder.bitcast(factors, _PAIRS), builder.bitcast(column, _PAIRS)]
    return call(builder, "llvm.x86.avx512bf16.dpbf16ps.512", vector(F32), given)


@instruction(types.void, None, types.int64, None, types.int64, None, *[types.int64] * 3)
def _multiply(builder, rows, first, weight, base, out, place, depth, width) -> None:  # type: ignore[no-untyped-def]
    """A product of _ROWS tiles, ``rows[first:]`` of ``depth`` numbers each, and _WIDTH columns.

    weight[base:]: ``depth`` rows, one every ``width`` numbers, as those of out[place:]; of
    bfloat16 the numbers of two rows in turns.
    """
    step = 1 if rows.type.pointee == F32 else 2
    starts = [builder.add(first, builder.mul(I64(r), depth)) for r in range(_ROWS)]
    zeros = [constant(F32, 0)] * (_ROWS * _COLUMNS)
    loop = Loop(builder, I64(0), lambda k: builder.icmp_signed("<", k, depth), zeros)
    row = builder.add(base, builder.mul(loop.index, width))
    places = [builder.add(row, I64(step * c * LANES)) for c in range(_COLUMNS)]
    columns = [load(builder, weight, at, step * LANES) for at in places]
    sums = []
    for r, start in enumerate(starts):
        factors = _splat_factor(builder, rows, builder.add(start, loop.index))
        for before, column in zip(loop.carried[r * _COLUMNS :], columns, strict=False):
            sums.append(_add_products(builder, before, factors, column))
    for i, total in enumerate(loop.close(builder.add(loop.index, I64(step)), sums)):
        r, c = divmod(i, _COLUMNS)
        target = builder.add(place, builder.mul(I64(r), width))
        store(builder, total, out, builder.add(target, I64(c * LANES)))


@inline
def _transform_block(boards: Any, first: Any, last: Any, channels: Any, work: Any) -> None:
    """Boards first..last -> ``work``."""
    stride = work.shape[1]
    for n in range(first, last):
        for c in range(0, channels, LANES):
            place = (n - first) * 4 * channels + c
            _read_a(boards[n], c, channels, work, place, stride)
            _read_b(boards[n], c, channels, work, place + channels, stride)
            _read_c(boards[n], c, channels, work, place + 2 * channels, stride)
            _read_d(boards[n], c, channels, work, place + 3 * channels, stride)


@inline
def _restore_block(work: Any, first: Any, last: Any, channels: Any, boards: Any) -> None:
    """``work`` -> boards first..last."""
    stride = work.shape[1]
    for n in range(first, last):
        for c in range(0, channels, LANES):
            place = (n - first) * 4 * channels + c
            _write_a(work, place, stride, boards[n], c, channels)
            _write_b(work, place + channels, stride, boards[n], c, channels)
            _write_c(work, place + 2 * channels, stride, boards[n], c, channels)
            _write_d(work, place + 3 * channels, stride, boards[n], c, channels)


@kernel
def convolve_boards(boards, weight, begin, end, work, sums, out):  # type: ignore[no-untyped-def]
    """Boards begin..end.

    boards: float32[n, 64 * K]; weight: word[36, K, N], transformed, see ``_multiply``; work:
    word[36, TILES * K + GAP] and sums: float32[36, TILES * N + GAP], to work in, zeros; out:
    float32[n, 64 * N], written. K and N are multiples of 32.
    """
    depth, width = weight.shape[1:]
    step = 4 // weight.itemsize
    for first in range(begin, end, _BLOCK):
        last = min(first + _BLOCK, end)
        _transform_block(boards, first, last, depth, work)
        for p in range(PLACES):
            for column in range(0, width, _WIDTH):
                base = p * depth * width + column * step
                for row in range(0, 4 * (last - first), _ROWS):
                    _multiply(
                        work, p * work.shape[1] + row * depth, weight, base,
                        sums, p * sums.shape[1] + row * width + column, depth, width,
                    )  # fmt: skip
        _restore_block(sums, first, last, width, out)
