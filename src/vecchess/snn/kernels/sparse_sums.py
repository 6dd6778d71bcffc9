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

import numpy as np
from numba import types

from vecchess.chess.bitboards.bits import tz
from vecchess.jit import inline, kernel
from vecchess.llvm import I1, I64, LANES, Loop, instruction, load, row_adder, store

RUN = 96
"""Numbers of a gradient that are added at a time; (2 * reach + 1) * O is a multiple of it."""
TILE = 32
"""The fewest outputs that are summed at a time; O is a multiple of it."""
_U = np.uint64
_add_32, _add_64, _add_96 = (row_adder(width, LANES, step=-1) for width in (32, 64, 96))


@instruction(types.void, None, types.int64, None, *[types.int64] * 4)
def _add_spikes(builder, sums, at, boards, first, word, stride, margin) -> None:  # type: ignore[no-untyped-def]
    """``sums[at : at + RUN] += boards[first + place(square) :]`` for every bit of ``word``.

    ``place``: of a square on a board with ``margin`` more files, ``stride`` numbers a square.
    """
    parts = range(0, RUN, LANES)
    places = [builder.add(at, I64(part)) for part in parts]
    before = [load(builder, sums, place) for place in places]
    loop = Loop(builder, word, lambda left: builder.icmp_unsigned("!=", left, I64(0)), before)
    square = builder.cttz(loop.index, I1(1))
    skipped = builder.mul(builder.lshr(square, I64(3)), margin)
    row = builder.add(first, builder.mul(builder.add(square, skipped), stride))
    rows = [load(builder, boards, builder.add(row, I64(part))) for part in parts]
    added = [builder.fadd(*pair) for pair in zip(loop.carried, rows, strict=True)]
    left = builder.and_(loop.index, builder.sub(loop.index, I64(1)))
    for total, place in zip(loop.close(left, added), places, strict=True):
        store(builder, total, sums, place)


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
    bias: float32[O]; rows: int32[64 * I] and starts: int64[65], to work in; sums:
    float32[n, 64 * O], written.
    """
    outputs = bias.shape[0]
    across = 2 * reach + 1
    size = channels * outputs
    for n in range(begin, end):
        list_spikes(masks[n], channels, outputs, rows, starts)
        for square in range(64):
            rank, file = square >> 3, square & 7
            at = square * outputs
            for o in range(outputs):
                sums[n, at + o] = bias[o]
            left, right = max(file - reach, 0), min(file + reach, 7)
            for source in range(max(rank - reach, 0), min(rank + reach, 7) + 1):
                first, last = starts[source * 8 + left], starts[source * 8 + right + 1]
                base = (source - rank + reach) * across * size + (reach - file) * size
                if outputs % 96 == 0:
                    for o in range(0, outputs, 96):
                        _add_96(sums[n], at + o, weight, base + o, rows, first, last)
                elif outputs % 64 == 0:
                    for o in range(0, outputs, 64):
                        _add_64(sums[n], at + o, weight, base + o, rows, first, last)
                else:
                    for o in range(0, outputs, 32):
                        _add_32(sums[n], at + o, weight, base + o, rows, first, last)


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
    bits, upstream, reach, part, begin, end, padded, sums
):
    """Weight gradients of parts begin..end, ``part`` boards each (the last may have fewer).

    bits: uint64[n, I]; upstream: float32[n, 64 * O]; padded: float32[parts, boards with a margin of
    ``reach``], zeros; sums: float32[parts, I * taps * O] in the order channel, tap from the last to
    the first, output; zeros, added to.
    """
    num_boards, channels = bits.shape
    outputs = upstream.shape[1] // 64
    side, across = 8 + 2 * reach, 2 * reach + 1
    run, edge = _U(across * outputs), _U(side * outputs)
    for p in range(begin, end):
        for n in range(p * part, min((p + 1) * part, num_boards)):
            for rank in range(8):
                first = ((rank + reach) * side + reach) * outputs
                for i in range(8 * outputs):
                    padded[p, first + i] = upstream[n, rank * 8 * outputs + i]
            for channel in range(channels):
                at = _U(channel * across) * run
                for rank in range(_U(across)):
                    for offset in range(_U(0), run, _U(RUN)):
                        _add_spikes(
                            sums[p], at + rank * run + offset, padded[p], rank * edge + offset,
                            bits[n, channel], _U(outputs), _U(2 * reach),
                        )  # fmt: skip


@kernel
def spread_heads(sums, moves, begin, end, policy, squeezed):  # type: ignore[no-untyped-def]
    """Sums of both heads over boards begin..end -> policy added up over time, and the rest.

    sums: float32[T, B, 64 * O], of a square ``moves`` for the policy, then V for the value; policy:
    float32[T, B, moves * 64]; squeezed: float32[T, B, 64 * V].
    """
    num_steps = sums.shape[0]
    outputs, values = sums.shape[2] // 64, squeezed.shape[2] // 64
    for b in range(begin, end):
        for t in range(num_steps):
            for move in range(moves):
                for square in range(64):
                    policy[t, b, move * 64 + square] = sums[t, b, square * outputs + move]
            if t > 0:
                for i in range(moves * 64):
                    policy[t, b, i] += policy[t - 1, b, i]
            for square in range(64):
                for v in range(values):
                    squeezed[t, b, square * values + v] = sums[t, b, square * outputs + moves + v]


@kernel
def gather_heads(of_policy, of_squeezed, moves, begin, end, row, upstream):  # type: ignore[no-untyped-def]
    """Gradients of ``spread_heads``; row: float32[moves * 64], to work in; upstream:
    float32[T, B, 64 * O], zeros for outputs that no head reads."""
    num_steps = upstream.shape[0]
    outputs, values = upstream.shape[2] // 64, of_squeezed.shape[2] // 64
    for b in range(begin, end):
        for i in range(moves * 64):
            row[i] = np.float32(0)
        for step in range(num_steps):
            t = num_steps - 1 - step
            for i in range(moves * 64):
                row[i] += of_policy[t, b, i]
            for square in range(64):
                at = square * outputs
                for move in range(moves):
                    upstream[t, b, at + move] = row[move * 64 + square]
                for v in range(values):
                    upstream[t, b, at + moves + v] = of_squeezed[t, b, square * values + v]
                for o in range(moves + values, outputs):
                    upstream[t, b, at + o] = np.float32(0)
