"""The neuron of ``modules/neuron.py`` over all time steps of a board at once, on the processor.

A torch operator walks over all neurons of all boards and allocates its result; a step of a leaky
neuron takes about ten of them, and their gradients again as many. Here the membranes of one board
stay in the first-level cache for all T steps. Same operations in the same order: the same bits.
"""

from typing import Any

import numpy as np
from numba import types

from vecchess.jit import inline, kernel
from vecchess.llvm import F32, I32, call, constant, instruction, load
from vecchess.snn.kernels.surrogate import write_derivatives

_ZERO, _HALF, _ONE, _TWO = (np.float32(value) for value in (0, 0.5, 1, 2))


@instruction(types.float32, types.float32)
def _floor(builder: Any, value: Any) -> Any:
    """numba's own floor converts to int64 and back."""
    return call(builder, "llvm.floor.f32", F32, [value])


@instruction(types.uint32, None, types.int64)
def _mask(builder: Any, values: Any, at: Any) -> Any:
    """uint32: a bit for each of ``values[at : at + 32]`` that is above 0."""
    zeros = constant(F32, 0, 32)
    return builder.bitcast(builder.fcmp_ordered(">", load(builder, values, at, 32), zeros), I32)


@inline
def _pack(excess: Any, bits: Any, masks: Any) -> None:
    """Spikes of a board and step, ``excess: float32[64 * C]``, as bitboards and as masks."""
    channels = bits.shape[0]
    for c in range(channels):
        bits[c] = np.uint64(0)
    for square in range(64):
        place = np.uint64(square)
        for c in range(channels):
            bits[c] |= np.uint64(excess[square * channels + c] > _ZERO) << place
    for word in range(masks.shape[0]):
        masks[word] = _mask(excess, word * 32)


@kernel
def lif_boards(  # type: ignore[no-untyped-def]
    currents, before, scale, begin, end, excess, after, counts, bits, masks
):
    """LIF over T steps of boards begin..end.

    currents: float32[T, B, N], or [1, B, N] for the same at every step; before, after:
    float32[B, N] membranes; scale: float32, 2^(F - 1); excess: float32[T, B, N], the charge above
    the threshold, a spike where it is above 0; counts: int64[B], spikes of a board; bits, masks:
    [T * B, ...] the spikes as ``sparse_sums`` reads them, or [0, 0] where they are not needed.
    """
    num_steps, num_boards, size = excess.shape
    unit = _HALF / scale
    for b in range(begin, end):
        count = np.int64(0)
        for i in range(size):
            after[b, i] = before[b, i]
        for t in range(num_steps):
            s = min(t, currents.shape[0] - 1)
            for i in range(size):
                membrane = after[b, i]
                limit = _TWO if membrane > _ONE else _ONE
                charged = _floor(membrane * scale) * unit + currents[s, b, i]
                above = charged - limit
                excess[t, b, i] = above
                after[b, i] = charged - (_ONE if above > _ZERO else _ZERO)
                count += np.int64(above > _ZERO)
            if bits.shape[0] > 0:
                _pack(excess[t, b], bits[t * num_boards + b], masks[t * num_boards + b])
        counts[b] = count


@kernel
def lif_boards_backward(  # type: ignore[no-untyped-def]
    upstream, share, number, slope, begin, end, row, excess, carried
):
    """Gradients of the currents of boards begin..end, back through time; the reset is detached.

    upstream: float32[T, B, N]; share: float32, what every spike gets besides ``upstream``; number,
    slope: the surrogate; row: float32[N], to work in; excess: float32[T, B, N], replaced by the
    gradients; carried: float32[B, N], in the gradient of the membranes after the last step, out of
    those before the first, or one row to work in where there is no such gradient.
    """
    num_steps, num_boards, size = excess.shape
    for b in range(begin, end):
        board = b
        if carried.shape[0] < num_boards:
            board = 0
            carried[0, :] = _ZERO
        for step in range(num_steps):
            t = num_steps - 1 - step
            write_derivatives(number, slope, excess[t, b], row)
            for i in range(size):
                gradient = (upstream[t, b, i] + share) * row[i] + carried[board, i]
                excess[t, b, i] = gradient
                carried[board, i] = gradient * _HALF
