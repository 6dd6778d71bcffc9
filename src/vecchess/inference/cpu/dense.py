"""Dense convolution on 8x8 boards: int8 dot products of four, the instruction made for them.

    spikes: uint8[8, 10, I]                       a board with an empty file on either side
    weight: int8[O / 32][3 ranks][3 files][I / 4][32][4]

A tile is one rank of eight squares and 32 outputs; its sums stay in registers while it walks over
the taps. Where the processor has VNNI a product is one instruction (vpdpbusd); with AVX2 alone
three (vpmaddubsw adds pairs in int16: 127 * 127 * 2 fits, so nothing saturates); elsewhere LLVM
compiles plain arithmetic.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from vecchess.inference.cpu.neurons import PADDED_FILES
from vecchess.jit import cpu_has, part
from vecchess.llvm import (
    I8,
    I16,
    I32,
    I64,
    LANES,
    Loop,
    call,
    constant,
    instruction,
    load,
    load_wide,
    splat,
    store,
    store_narrow,
    vector,
)

WIDTH = 32
"""Outputs of a tile."""
GROUP = 4
"""Inputs that are multiplied and added by one instruction."""


def dense_weights(weight: NDArray[np.int8], width: int = WIDTH) -> NDArray[np.int8]:
    """int8[O, 9 * I] -> int8[9 * I * O] in the order above; ``width`` outputs a tile."""
    outputs, inputs = weight.shape
    tiles = weight.reshape(outputs // width, width, inputs // GROUP, GROUP)
    return np.ascontiguousarray(tiles.transpose(0, 2, 1, 3)).ravel()


DotProduct = tuple[int, Callable[..., Any]]
"""Outputs of a vector, and the function that emits ``sums + products of bytes, four by four``."""


def _by_vnni(name: str, lanes: int) -> DotProduct:
    """One instruction for ``lanes`` outputs."""

    def add_products(builder: Any, sums: Any, inputs: Any, weights: Any) -> Any:
        return call(builder, name, sums.type, [sums, inputs, weights])

    return lanes, add_products


def _by_pairs() -> DotProduct:
    """AVX2: products of unsigned and signed bytes, added in pairs, then pairs of pairs."""

    def add_products(builder: Any, sums: Any, inputs: Any, weights: Any) -> Any:
        pairs = vector(I16, 16)
        products = call(builder, "llvm.x86.avx2.pmadd.ub.sw", pairs, [inputs, weights])
        joined = call(builder, "llvm.x86.avx2.pmadd.wd", sums.type, [products, constant(I16, 1)])
        return builder.add(sums, joined)

    return 8, add_products


def _by_arithmetic() -> DotProduct:
    """Any processor."""

    def add_products(builder: Any, sums: Any, inputs: Any, weights: Any) -> Any:
        lanes, wide = 8, vector(I32, 8 * GROUP)
        products = builder.mul(builder.zext(inputs, wide), builder.sext(weights, wide))
        for nth in range(GROUP):
            order = constant(I32, [GROUP * i + nth for i in range(lanes)])
            sums = builder.add(sums, builder.shuffle_vector(products, products, order))
        return sums

    return 8, add_products


def dot_product() -> DotProduct:
    """The fastest dot product of this processor."""
    if cpu_has("avx512vnni", "avx512f"):
        return _by_vnni("llvm.x86.avx512.vpdpbusd.512", 16)
    if cpu_has("avxvnni") or cpu_has("avx512vnni", "avx512vl"):
        return _by_vnni("llvm.x86.avx512.vpdpbusd.256", 8)
    return _by_pairs() if cpu_has("avx2") else _by_arithmetic()


_N = types.int64


@instruction(types.void, None, _N, None, _N, _N, None, _N, _N)
def _add_tile(builder, spikes, place, weight, first, inputs, total, at, outputs) -> None:  # type: ignore[no-untyped-def]
    """Add one kernel rank to the sums of 8 squares and WIDTH outputs; ``inputs`` is 3 * I."""
    lanes, add_products = dot_product()

    def offset(start: Any, times: int, step: Any) -> Any:
        return builder.add(start, builder.mul(I64(times), step))

    parts = range(0, WIDTH, lanes)
    places = [offset(offset(at, f, outputs), part, I64(1)) for f in range(8) for part in parts]
    before = [load_wide(builder, total, p, lanes) for p in places]
    loop = Loop(builder, I64(0), lambda i: builder.icmp_signed("<", i, inputs), before)
    row = offset(first, WIDTH, loop.index)
    weights = [load(builder, weight, offset(row, p * GROUP, I64(1)), lanes * GROUP) for p in parts]
    channels = builder.udiv(inputs, I64(3))
    sums, after = iter(loop.carried), []
    for file in range(8):
        here = builder.add(offset(place, file, channels), loop.index)
        four = _spread_four(builder, spikes, here, lanes)
        after += [add_products(builder, next(sums), four, row) for row in weights]
    results = loop.close(builder.add(loop.index, I64(GROUP)), after)
    for result, p in zip(results, places, strict=True):
        store_narrow(builder, result, total, p)


def _spread_four(builder: Any, spikes: Any, place: Any, lanes: int) -> Any:
    """Four bytes from ``spikes[place]`` on, ``lanes`` times over."""
    word = builder.bitcast(builder.gep(spikes, [place]), I32.as_pointer())
    spread = splat(builder, builder.load(word, align=1), lanes)
    return builder.bitcast(spread, vector(I8, lanes * GROUP))


@instruction(types.void, None, _N, None, _N, None, _N, _N)
def sum_square(builder, spikes, place, weight, first, total, at, inputs) -> None:  # type: ignore[no-untyped-def]
    """``total[at : at + LANES]``: sums of LANES outputs over ``inputs`` bytes of one square.

    weight: from ``first`` on a tile of ``dense_weights`` that is LANES wide.
    """
    lanes, add_products = dot_product()
    parts = range(0, LANES, lanes)
    before = [constant(I32, 0, lanes) for _ in parts]
    loop = Loop(builder, I64(0), lambda i: builder.icmp_signed("<", i, inputs), before)
    row = builder.add(first, builder.mul(loop.index, I64(LANES)))
    four = _spread_four(builder, spikes, builder.add(place, loop.index), lanes)
    after = []
    for p, sums in zip(parts, loop.carried, strict=True):
        weights = load(builder, weight, builder.add(row, I64(p * GROUP)), lanes * GROUP)
        after.append(add_products(builder, sums, four, weights))
    for p, result in zip(
        parts, loop.close(builder.add(loop.index, I64(GROUP)), after), strict=True
    ):
        store(builder, result, total, builder.add(at, I64(p)))


@part
def convolve_dense(  # type: ignore[no-untyped-def]
    spikes, weight, offset, num_inputs, num_outputs, total
):
    """Weighted sums of one board: total int16|int32[64 * O] (units of the row)."""
    for i in range(64 * num_outputs):
        total[i] = 0
    rank_inputs = 3 * num_inputs
    for tile in range(0, num_outputs, WIDTH):
        for kernel_rank in range(3):
            for rank in range(max(0, 1 - kernel_rank), min(8, 9 - kernel_rank)):
                _add_tile(
                    spikes,
                    (rank + kernel_rank - 1) * PADDED_FILES * num_inputs,
                    weight,
                    offset,
                    rank_inputs,
                    total,
                    rank * 8 * num_outputs + tile,
                    num_outputs,
                )
            offset += rank_inputs * WIDTH
