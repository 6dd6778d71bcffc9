"""The neuron of ``modules/neuron.py`` on the processor: rows of neurons, float32[R], in the cache.

A row is a stretch of a board's squares, short enough that all that a neuron needs stays in the
first cache for all T steps. Same operations in the same order as in torch: the same bits.
"""

from typing import Any

import numpy as np
from numba import types

from vecchess.chess.bitboards.bits import popcount
from vecchess.jit import inline
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
def copy_row(source: Any, target: Any) -> None:
    """``target[:] = source``."""
    for i in range(target.shape[0]):
        target[i] = source[i]


@inline
def add_row(source: Any, target: Any) -> None:
    """``target[:] += source``."""
    for i in range(target.shape[0]):
        target[i] += source[i]


@inline
def charge(current: Any, scale: Any, membrane: Any, excess: Any) -> None:
    """A time step; excess: the charge above the threshold, written, a spike where it is above 0."""
    unit = _HALF / scale
    for i in range(excess.shape[0]):
        before = membrane[i]
        limit = _TWO if before > _ONE else _ONE
        charged = _floor(before * scale) * unit + current[i]
        above = charged - limit
        excess[i] = above
        membrane[i] = charged - (_ONE if above > _ZERO else _ZERO)


@inline
def pack(excess: Any, masks: Any) -> Any:
    """The spikes, a bit each, into ``masks: uint32[R / 32]``; returns their number."""
    count = np.int64(0)
    for word in range(masks.shape[0]):
        mask = _mask(excess, word * 32)
        masks[word] = mask
        count += np.int64(popcount(np.uint64(mask)))
    return count


@inline
def write_spikes(excess: Any, spikes: Any) -> None:
    """The spikes as 0 or 1."""
    for i in range(spikes.shape[0]):
        spikes[i] = _ONE if excess[i] > _ZERO else _ZERO


@inline
def discharge(
    excess: Any, upstream: Any, share: Any, surrogate: Any, row: Any, carried: Any
) -> None:
    """Back through a time step: the reset is detached.

    excess is replaced by the gradient of the current; upstream: of the spikes, may be empty, and
    share: what each of them gets besides; surrogate: its number and slope; carried: the gradient of
    the membrane after the step, replaced by that of the one before it; row: to work in.
    """
    number, slope = surrogate
    write_derivatives(number, slope, excess, row)
    if upstream.shape[0] > 0:
        for i in range(row.shape[0]):
            excess[i] = (upstream[i] + share) * row[i] + carried[i]
    else:
        for i in range(row.shape[0]):
            excess[i] = share * row[i] + carried[i]
    for i in range(row.shape[0]):
        carried[i] = excess[i] * _HALF
