"""Event-driven convolution on 8x8 boards: adds the weight rows of the spikes, and nothing else.

Spikes are kept as one list per board, ordered by square, then channel:

    starts: int32[65]     spikes of square s are rows[starts[s] : starts[s + 1]]
    rows:   int32[n]      (file * I + channel) * TILE: offset of the spike's weights

Weights are int8, cut so that what one pass needs stays in the first-level cache:

    weight[O / WIDTH][3 ranks][3 files][I][WIDTH]        WIDTH: 64, or 32 where O is odd times 32

A pass adds one tile of outputs from one kernel rank to all boards of a group. Squares of a rank lie
side by side in a list, and so do the taps of a kernel rank in the weights; hence the spikes that
reach output square (r, f) from rank r + d are *one* stretch of the list, from file f - 1 to f + 1,
and their weights start at row (1 - f) * I, the same for all of them: no test inside the loop.
"""

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from vecchess.chess.bitboards.bits import tz
from vecchess.jit import inline
from vecchess.llvm import row_adder
from vecchess.snn.kernels.sparse_sums import list_spikes

TILE = 32
"""The narrowest tile; C is a multiple of it."""


_add_tile, _add_two_tiles = (row_adder(width) for width in (TILE, 2 * TILE))


@register_jitable
def tile_width(num_outputs: int) -> int:
    """Width of the tiles that weights for so many outputs are cut into."""
    return 2 * TILE if num_outputs % (2 * TILE) == 0 else TILE


def event_weights(weight: NDArray[np.int8]) -> NDArray[np.int8]:
    """int8[O, 9 * I] -> int8[9 * I * O] in the order above."""
    outputs, inputs = weight.shape
    width = tile_width(outputs)
    tiles = weight.reshape(outputs // width, width, inputs)
    return np.ascontiguousarray(tiles.transpose(0, 2, 1)).ravel()


@inline
def convolve_events(  # type: ignore[no-untyped-def]
    rows, starts, count, weight, offset, num_inputs, num_outputs, totals
):
    """Weighted sums of ``count`` boards: totals[M, 64 * O] (int16 or int32, units of the row)."""
    width = tile_width(num_outputs)
    rank_weights = 3 * num_inputs * width
    for board in range(count):
        total = totals[board]
        for i in range(64 * num_outputs):
            total[i] = 0
    for tile in range(0, num_outputs, width):
        for kernel_rank in range(3):
            for board in range(count):
                _add_rank(
                    rows[board],
                    starts[board],
                    weight,
                    offset,
                    kernel_rank,
                    num_inputs,
                    width,
                    totals[board],
                    num_outputs,
                    tile,
                )
            offset += rank_weights


@inline
def _add_rank(  # type: ignore[no-untyped-def]
    rows, starts, weight, offset, kernel_rank, num_inputs, width, total, num_outputs, tile
):
    """One board, one tile of outputs, the taps of one kernel rank."""
    num_files = starts.shape[0] >> 3  # 8, but unknown to LLVM, which would unroll everything
    for rank in range(max(0, 1 - kernel_rank), min(8, 9 - kernel_rank)):
        other = (rank + kernel_rank - 1) * 8
        for file in range(num_files):
            begin = np.int64(starts[other + max(file - 1, 0)])
            end = np.int64(starts[other + min(file + 2, 8)])
            first = offset + (1 - file) * num_inputs * width
            at = (rank * 8 + file) * num_outputs + tile
            if width > TILE:
                _add_two_tiles(total, at, weight, first, rows, begin, end)
            else:
                _add_tile(total, at, weight, first, rows, begin, end)


@inline
def mask_planes(planes, masks):  # type: ignore[no-untyped-def]
    """Bitboards ``planes: uint64[P]`` of one board as ``masks``, a plane being a channel."""
    words = (planes.shape[0] + 31) // 32
    for i in range(64 * words):
        masks[i] = 0
    for plane in range(planes.shape[0]):
        bit, word = np.uint32(1) << np.uint32(plane & 31), plane >> 5
        left = planes[plane]
        while left != 0:
            masks[np.int64(tz(left)) * words + word] |= np.uint32(bit)
            left &= left - np.uint64(1)


@inline
def convolve_by_events(  # type: ignore[no-untyped-def]
    masks, count, weight, offset, num_inputs, num_outputs, rows, starts, totals
):
    """From masks to weighted sums: ``list_spikes``, then ``convolve_events``."""
    width = tile_width(num_outputs)
    for board in range(count):
        list_spikes(masks[board], num_inputs, width, rows[board], starts[board])
    convolve_events(rows, starts, count, weight, offset, num_inputs, num_outputs, totals)
