"""Sums over spikes on 8x8 boards: the cost is proportional to the number of spikes.

    bits:  uint64[n, I]           the spikes of a board and time step, a bitboard per channel
    masks: uint32[n, 64 * I / 32] the same, 32 channels of a square a word

reach is 1 for a 3x3 convolution, 0 for a linear map of every square by itself. A sum is

    sums[square, o] = bias[o] + sum over spikes (i, square + tap) of weight[tap, i, o]

Spikes of a rank lie side by side in a list, and so do the taps of a kernel rank in the weights, so
the spikes that reach a square from one rank are one stretch of the list, and the total stays in
vector registers. The gradient of a weight is the reverse,

    of_weight[tap, i, o] = sum over spikes (i, square) of upstream[square - tap, o]

and there the taps of a kernel rank stay in registers during a loop over the spikes of channel i.
Boards of gradients have an empty margin: no test inside the loop.
"""

from functools import partial
from typing import Any

import numpy as np
from numba import types

from vecchess.chess.bitboards.bits import tz
from vecchess.jit import cpu_has, inline, kernel
from vecchess.llvm import I1, I64, LANES, Loop, constant, instruction, load, splat, store, vector

TILE = 32
"""The fewest outputs that are summed at a time; O is a multiple of it."""
_WIDE = cpu_has("avx512f")
GRADIENT_WIDTH = 32 if _WIDE else 8
"""Outputs whose gradients of nine taps fit into registers."""
TOGETHER = 2
"""Boards whose spikes of a channel are added meanwhile: as many as fit into the first cache."""
_U = np.uint64


@instruction(types.void, None, types.int64, None, types.int64)
def _copy(builder, source, first, target, place) -> None:  # type: ignore[no-untyped-def]
    """``target[place:] = source[first : first + GRADIENT_WIDTH]``."""
    store(builder, load(builder, source, first, GRADIENT_WIDTH), target, place)


def _gradient_adder(across: int, width: int) -> Any:
    """``add(sums, at, words, boards, size)`` for kernels: gradients of the weights of one input.

    ``sums[at:]``, across x across taps of ``width`` outputs each, gets the squares around every
    spike: of ``words[i]`` from a board with a margin at ``boards[i * size]``, i below TOGETHER. The
    sums stay in registers.
    """
    lanes = min(width, LANES)
    parts = range(0, across * across * width, lanes)
    side = 7 + across
    reads = [divmod(part, across * width) for part in parts]

    @instruction(types.void, None, types.int64, None, None, types.int64)
    def add(builder, sums, at, words, boards, size) -> None:  # type: ignore[no-untyped-def]
        places = [builder.add(at, I64(part)) for part in parts]
        totals = [load(builder, sums, place, lanes) for place in places]
        for i in range(TOGETHER):
            board = builder.mul(I64(i), size)
            word = builder.load(builder.gep(words, [I64(i)]))
            any_left = partial(builder.icmp_unsigned, "!=", rhs=I64(0))
            loop = Loop(builder, word, any_left, totals)
            square = builder.cttz(loop.index, I1(1))
            skipped = builder.mul(builder.lshr(square, I64(3)), I64(across - 1))
            first = builder.add(board, builder.mul(builder.add(square, skipped), I64(width)))
            added = []
            for total, (rank, offset) in zip(loop.carried, reads, strict=True):
                place = builder.add(first, I64(rank * side * width + offset))
                added.append(builder.fadd(total, load(builder, boards, place, lanes)))
            left = builder.and_(loop.index, builder.sub(loop.index, I64(1)))
            totals = loop.close(left, added)
        for total, place in zip(totals, places, strict=True):
            store(builder, total, sums, place)

    return add


_add_taps, _add_single = _gradient_adder(3, GRADIENT_WIDTH), _gradient_adder(1, GRADIENT_WIDTH)


def _square_summer(width: int) -> Any:
    """``add(sums, at, bias, output, weight, bases, rows, ends)`` for kernels: sums of a square.

    ``sums[at : at + width]`` becomes ``bias[output:]`` plus ``weight[bases[s] + rows[i] +
    output:]`` for i in ends[2 s] .. ends[2 s + 1] - 1, the last one first, of each of the three
    stretches s. The sums stay in registers.
    """
    parts = range(0, width, LANES)

    @instruction(types.void, None, types.int64, None, types.int64, None, None, None, None)
    def add(builder, sums, at, bias, output, weight, bases, rows, ends) -> None:  # type: ignore[no-untyped-def]
        totals = [load(builder, bias, builder.add(output, I64(part))) for part in parts]

        def entry(array: Any, i: int) -> Any:
            return builder.load(builder.gep(array, [I64(i)]))

        for stretch in range(3):
            begin, end = entry(ends, 2 * stretch), entry(ends, 2 * stretch + 1)
            last = builder.sub(end, I64(1))
            loop = Loop(builder, last, partial(builder.icmp_signed, ">=", rhs=begin), totals)
            offset = builder.sext(builder.load(builder.gep(rows, [loop.index])), I64)
            first = builder.add(builder.add(entry(bases, stretch), output), offset)
            read = [load(builder, weight, builder.add(first, I64(part))) for part in parts]
            added = [builder.fadd(*pair) for pair in zip(loop.carried, read, strict=True)]
            totals = loop.close(builder.sub(loop.index, I64(1)), added)
        for total, part in zip(totals, parts, strict=True):
            store(builder, total, sums, builder.add(at, I64(part)))

    return add


_sum_32, _sum_64, _sum_96, _sum_128 = (_square_summer(width) for width in (32, 64, 96, 128))


@inline
def list_spikes(masks, num_channels, width, rows, starts):  # type: ignore[no-untyped-def]
    """``masks: uint32[64 * C / 32]`` of one board as a list of spikes.

    Those of square s are rows[starts[s] : starts[s + 1]], each as (file * C + channel) * width.
    """
    words = num_channels // 32
    count = 0
    for square in range(64):
        starts[square] = count
        first = (square & 7) * num_channels
        for word in range(words):
            mask = masks[square * words + word]
            while mask != 0:
                rows[count] = (first + word * 32 + np.int64(tz(mask))) * width
                count += 1
                mask &= mask - np.uint32(1)
    starts[64] = count


@kernel
def sum_boards(  # type: ignore[no-untyped-def]
    masks, weight, bias, channels, reach, begin, end, rows, starts, sums
):
    """Currents of boards begin..end.

    masks: uint32[n, 64 * I / 32]; weight: float32[taps * I * O] in the order tap, channel, output;
    bias: float32[O]; rows: int32[64 * I] and starts: int64[65 + 9], to work in; sums:
    float32[n, 64 * O], written.
    """
    outputs = bias.shape[0]
    across = 2 * reach + 1
    size = channels * outputs
    ends, bases = starts[65:71], starts[71:]
    for n in range(begin, end):
        list_spikes(masks[n], channels, outputs, rows, starts)
        for square in range(64):
            rank, file = square >> 3, square & 7
            at = square * outputs
            left, right = max(file - reach, 0), min(file + reach, 7)
            for stretch in range(3):
                source = rank + stretch - reach
                if stretch < across and 0 <= source < 8:
                    ends[2 * stretch] = starts[source * 8 + left]
                    ends[2 * stretch + 1] = starts[source * 8 + right + 1]
                else:
                    ends[2 * stretch], ends[2 * stretch + 1] = 0, 0
                bases[stretch] = stretch * across * size + (reach - file) * size
            if _WIDE and outputs % 128 == 0:
                for o in range(0, outputs, 128):
                    _sum_128(sums[n], at + o, bias, o, weight, bases, rows, ends)
            elif outputs % 96 == 0:
                for o in range(0, outputs, 96):
                    _sum_96(sums[n], at + o, bias, o, weight, bases, rows, ends)
            elif outputs % 64 == 0:
                for o in range(0, outputs, 64):
                    _sum_64(sums[n], at + o, bias, o, weight, bases, rows, ends)
            else:
                for o in range(0, outputs, 32):
                    _sum_32(sums[n], at + o, bias, o, weight, bases, rows, ends)


@instruction(types.void, None, types.int64, types.int64, None, types.int64)
def _turn(builder, masks, at, stride, bits, place) -> None:  # type: ignore[no-untyped-def]
    """``masks[at + square * stride]``, 32 channels each -> ``bits[place : place + 32]``."""
    loop = Loop(
        builder, I64(0), lambda i: builder.icmp_signed("<", i, I64(64)), [constant(I64, 0, 32)]
    )
    index = builder.add(at, builder.mul(loop.index, stride))
    lanes = builder.bitcast(builder.load(builder.gep(masks, [index])), vector(I1, 32))
    (before,) = loop.carried
    added = builder.or_(before, splat(builder, builder.shl(I64(1), loop.index), 32))
    turned = loop.close(builder.add(loop.index, I64(1)), [builder.select(lanes, added, before)])
    store(builder, turned[0], bits, place)


@kernel
def turn_masks(masks, begin, end, bits):  # type: ignore[no-untyped-def]
    """``masks: uint32[n, 64 * I / 32]`` -> ``bits: uint64[n, I]``, of begin..end."""
    words = bits.shape[1] // 32
    for n in range(begin, end):
        for word in range(words):
            _turn(masks[n], word, words, bits[n], word * 32)


@kernel
def pack_boards(boards, begin, end, bits):  # type: ignore[no-untyped-def]
    """``boards: float32[n, 64, I]`` of 0 and 1 -> ``bits: uint64[n, I]``, of begin..end."""
    for board in range(begin, end):
        for i in range(bits.shape[1]):
            bits[board, i] = _U(0)
        for square in range(64):
            place = _U(square)
            for i in range(bits.shape[1]):
                bits[board, i] |= _U(boards[board, square, i] != np.float32(0)) << place


@kernel
def add_weight_gradients(  # type: ignore[no-untyped-def]
    bits, upstream, reach, part, begin, end, padded, words, sums
):
    """Weight gradients of parts begin..end, ``part`` boards each (the last may have fewer).

    bits: uint64[n, I]; upstream: float32[n, 64 * O]; padded: float32[parts, TOGETHER, boards of
    GRADIENT_WIDTH outputs with a margin of ``reach``], zeros, and words: uint64[parts, TOGETHER],
    to work in; sums: float32[parts, O / GRADIENT_WIDTH, I, taps from the last to the first,
    GRADIENT_WIDTH], zeros, added to.
    """
    num_boards, channels = bits.shape
    taps, size = sums.shape[3] * GRADIENT_WIDTH, padded.shape[2]
    for p in range(begin, end):
        last = min((p + 1) * part, num_boards)
        for first in range(p * part, last, TOGETHER):
            count = min(TOGETHER, last - first)
            for block in range(sums.shape[1]):
                for i in range(count):
                    _pad(upstream[first + i], block, reach, padded[p, i])
                for channel in range(channels):
                    for i in range(TOGETHER):
                        words[p, i] = bits[first + i, channel] if i < count else _U(0)
                    at = (block * channels + channel) * taps
                    if reach == 1:
                        _add_taps(sums[p], at, words[p], padded[p], size)
                    else:
                        _add_single(sums[p], at, words[p], padded[p], size)


@inline
def _pad(board: Any, block: Any, reach: Any, padded: Any) -> None:
    """A block of the outputs of ``board: float32[64 * O]``, into one with a margin."""
    outputs = board.shape[0] // 64
    for square in range(64):
        place = (square // 8 + reach) * (8 + 2 * reach) + square % 8 + reach
        first = square * outputs + block * GRADIENT_WIDTH
        _copy(board, first, padded, place * GRADIENT_WIDTH)
