"""Event-driven convolution on one 8x8 board: add the weight rows of the spikes, nothing else.

Spikes are kept as one list per board, ordered by square, then channel:

    starts: int32[65]     spikes of square s are rows[starts[s] : starts[s + 1]]
    rows:   int32[n]      (file * I + channel) * O, an offset into the flat weights [9, I, O]

Squares of a rank lie side by side in the list, and so do the taps of a kernel row in the weights.
Hence the spikes that reach output square (r, f) from rank r + d are *one* stretch of the list,
from file f - 1 to f + 1, and their weights start at row ((d + 1) * 3 + 1 - f) * I, the same for
all of them: three plain loops a square, without a test inside.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.cpython.unsafe.numbers import trailing_zeros
from numba.extending import intrinsic

from vecchess.jit import inline

GATHER_BITS = np.uint64(0x0102040810204080)
"""Multiplying eight bytes of 0 or 1 by this leaves them as eight bits in the top byte."""


def _row_summer(width: int) -> Any:
    """Compiled ``total[:width] += sum over i of weight[base + rows[i] :][:width]``.

    The total stays in vector registers across the loop, which numba cannot be talked into from
    Python (measured: half the time of the plain loop at 64 channels). LLVM splits the vector to
    what the processor has, so this is portable.
    """

    @intrinsic
    def add_rows(typing, total, weight, base, rows, begin, end):  # type: ignore[no-untyped-def]
        signature = types.void(total, weight, types.intp, rows, types.intp, types.intp)

        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            pointers = [
                context.make_array(kind)(context, builder, value).data
                for kind, value in zip(signature.args, args, strict=True)
                if isinstance(kind, types.Array)
            ]
            element = context.get_value_type(weight.dtype)
            vector = ir.VectorType(element, width)
            _emit_loop(builder, vector, pointers, args[2], args[4], args[5])
            return context.get_dummy_value()

        return signature, generate

    return add_rows


def _emit_loop(
    builder: Any, vector: Any, pointers: list[Any], base: Any, begin: Any, end: Any
) -> None:
    """LLVM of ``_row_summer``; pointers are those of total, weight, rows."""
    step = vector.element.width // 8
    total = builder.bitcast(pointers[0], vector.as_pointer())
    weight = builder.gep(pointers[1], [base])
    initial, entry = builder.load(total, align=step), builder.block
    loop, done = (builder.append_basic_block(name) for name in ("rows", "rows_done"))
    builder.cbranch(builder.icmp_signed("<", begin, end), loop, done)

    builder.position_at_end(loop)
    index, sums = builder.phi(begin.type), builder.phi(vector)
    offset = builder.sext(builder.load(builder.gep(pointers[2], [index])), begin.type)
    row = builder.bitcast(builder.gep(weight, [offset]), vector.as_pointer())
    following = builder.add(index, ir.Constant(begin.type, 1))
    added = builder.add(sums, builder.load(row, align=step))
    builder.cbranch(builder.icmp_signed("<", following, end), loop, done)
    for phi, first, again in ((index, begin, following), (sums, initial, added)):
        phi.add_incoming(first, entry)
        phi.add_incoming(again, loop)

    builder.position_at_end(done)
    result = builder.phi(vector)
    result.add_incoming(initial, entry)
    result.add_incoming(added, loop)
    builder.store(result, total, align=step)


_lowest: Any = trailing_zeros
_add_rows_32 = _row_summer(32)
_add_rows_64 = _row_summer(64)


@inline
def convolve(rows, starts, weight, num_inputs, scale, bias, total, out, add):  # type: ignore[no-untyped-def]
    """3x3 currents of one board: out[64, O] = or, with ``add``, += sum * scale[O] + bias[O].

    weight: int16|int32[9 * I * O] flat, total: the same dtype [O] (scratch), out: int32[64, O].
    """
    num_outputs = out.shape[1]
    for rank in range(8):
        for file in range(8):
            total[:] = 0
            left, right = max(file - 1, 0), min(file + 2, 8)
            for other in range(max(rank - 1, 0), min(rank + 2, 8)):
                base = ((other - rank + 1) * 3 + 1 - file) * num_inputs * num_outputs
                begin, end = starts[other * 8 + left], starts[other * 8 + right]
                if num_outputs % 64 == 0:
                    for tile in range(0, num_outputs, 64):
                        _add_rows_64(total[tile:], weight, base + tile, rows, begin, end)
                else:
                    for tile in range(0, num_outputs, 32):
                        _add_rows_32(total[tile:], weight, base + tile, rows, begin, end)
            square = out[rank * 8 + file]
            if add:
                for c in range(num_outputs):
                    square[c] += np.int32(np.int32(total[c]) * scale[c]) + bias[c]
            else:
                for c in range(num_outputs):
                    square[c] = np.int32(np.int32(total[c]) * scale[c]) + bias[c]


@inline
def fire(membrane, current, threshold, stride, fired, rows, starts):  # type: ignore[no-untyped-def]
    """One LIF step of a board, its spikes as a list with ``rows`` in units of ``stride`` (O).

    membrane, current: int32[64, C]; threshold: int32, 2^F; fired: uint8[C] (scratch).
    """
    num_channels = membrane.shape[1]
    words = fired.view(np.uint64)
    count = 0
    for square in range(64):
        starts[square] = count
        potential, inflow = membrane[square], current[square]
        for c in range(num_channels):
            v = potential[c]
            limit = np.int32(threshold + threshold) if v > threshold else threshold
            charged = np.int32(np.int32(v >> np.int32(1)) + inflow[c])
            spike = charged > limit
            fired[c] = spike
            potential[c] = np.int32(charged - threshold) if spike else charged
        first = (square & 7) * num_channels
        for word in range(0, num_channels // 8, 4):
            mask = np.uint64(0)
            for byte in range(4):
                bits = (words[word + byte] * GATHER_BITS) >> np.uint64(56)
                mask |= bits << np.uint64(8 * byte)
            while mask != 0:
                channel = word * 8 + np.int64(_lowest(mask))
                rows[count] = (first + channel) * stride
                count += 1
                mask &= mask - np.uint64(1)
    starts[64] = count


@inline
def list_planes(planes, stride, rows, starts):  # type: ignore[no-untyped-def]
    """Set bits of ``planes: uint64[P]`` as a list of spikes, a plane being a channel."""
    num_planes = planes.shape[0]
    count = 0
    for square in range(64):
        starts[square] = count
        first = (square & 7) * num_planes
        for plane in range(num_planes):
            rows[count] = (first + plane) * stride
            count += int((planes[plane] >> np.uint64(square)) & np.uint64(1))
    starts[64] = count
