"""One time step, and one admission, of the integer network on the CPU, slot by slot.

The definition is ``snn/integer_net.py``; all numbers are int32 in units of 2^-F, and the bounds
the exporter proves say that none overflows.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.events import convolve, fire, list_planes
from vecchess.jit import inline, kernel

GROUP = 8
"""Slots that pass a block together: its weights are fetched once for all of them, and their
residual streams (8 * 64 * C * 4 bytes) stay in the second-level cache beside the weights."""


class Convolutions(NamedTuple):
    """weight: int16|int32[N, 9 * I * O], input-major; scale, bias: int32[N, O] (units 2^-F)."""

    weight: NDArray[Any]
    scale: NDArray[np.int32]
    bias: NDArray[np.int32]


class Heads(NamedTuple):
    """Weights of policy [73, C], squeeze [C, V], outcome [64 * V, 3], scale and bias of each."""

    policy: NDArray[np.int32]
    policy_scale: NDArray[np.int32]
    policy_bias: NDArray[np.int32]
    squeeze: NDArray[np.int32]
    squeeze_scale: NDArray[np.int32]
    squeeze_bias: NDArray[np.int32]
    outcome: NDArray[np.int32]
    outcome_scale: NDArray[np.int32]
    outcome_bias: NDArray[np.int32]


class Membranes(NamedTuple):
    """current: int32[S, 64, C] (x0); tower: int32[2 * blocks + 1, S, 64, C], the last before the
    heads; value: int32[S, 64, V]."""

    current: NDArray[np.int32]
    tower: NDArray[np.int32]
    value: NDArray[np.int32]


class Scratch(NamedTuple):
    """What one thread needs: stream int32[GROUP, 64, C], inner int32[64, C], total [C] in the
    dtype of the weights, fired uint8[C], rows int32[64 * max(C, P) + 1], starts int32[65],
    sums int32[3]."""

    stream: NDArray[np.int32]
    inner: NDArray[np.int32]
    total: NDArray[Any]
    fired: NDArray[np.uint8]
    rows: NDArray[np.int32]
    starts: NDArray[np.int32]
    sums: NDArray[np.int32]


@kernel
def seat(slots, planes, requests, stem, membranes, scratch):  # type: ignore[no-untyped-def]
    """Silence the membranes of ``slots`` and compute x0 from ``planes[requests[k]]``."""
    num_channels = membranes.current.shape[2]
    for k in range(slots.shape[0]):
        slot = slots[k]
        membranes.tower[:, slot] = 0
        membranes.value[slot] = 0
        question = planes[requests[k]]
        list_planes(question, num_channels, scratch.rows, scratch.starts)
        convolve(
            scratch.rows,
            scratch.starts,
            stem.weight[0],
            planes.shape[1],
            stem.scale[0],
            stem.bias[0],
            scratch.total,
            membranes.current[slot],
            False,
        )


@inline
def _half_block(layer, slot, threshold, current, out, add, tower, membranes, scratch):  # type: ignore[no-untyped-def]
    """out (+)= conv3x3(LIF(current)) of one slot."""
    num_channels = current.shape[1]
    fire(
        membranes.tower[layer, slot],
        current,
        threshold,
        num_channels,
        scratch.fired,
        scratch.rows,
        scratch.starts,
    )
    convolve(
        scratch.rows,
        scratch.starts,
        tower.weight[layer],
        num_channels,
        tower.scale[layer],
        tower.bias[layer],
        scratch.total,
        out,
        add,
    )


@inline
def _add_policy(heads, legal, num_legal, num_channels, rows, starts, policy):  # type: ignore[no-untyped-def]
    """Add one step's current to ``policy: int32[L]``, for legal actions only."""
    for move in range(num_legal):
        plane, square = np.int64(legal[move]) >> 6, np.int64(legal[move]) & 63
        first = (square & 7) * num_channels
        total = np.int32(0)
        for event in range(starts[square], starts[square + 1]):
            total += heads.policy[plane, rows[event] - first]
        policy[move] += total * heads.policy_scale[plane] + heads.policy_bias[plane]


@inline
def _add_value(heads, membrane, threshold, num_channels, rows, starts, sums, wdl):  # type: ignore[no-untyped-def]
    """Add one step's current to ``wdl: int32[3]``; membrane: int32[64, V]; sums: scratch."""
    sums[:] = 0
    for square in range(64):
        first = (square & 7) * num_channels
        for v in range(membrane.shape[1]):
            total = np.int32(0)
            for event in range(starts[square], starts[square + 1]):
                total += heads.squeeze[rows[event] - first, v]
            inflow = total * heads.squeeze_scale[v] + heads.squeeze_bias[v]
            limit = 2 * threshold if membrane[square, v] > threshold else threshold
            potential = (membrane[square, v] >> 1) + inflow
            if potential > limit:
                potential -= threshold
                for outcome in range(wdl.shape[0]):
                    sums[outcome] += heads.outcome[square * membrane.shape[1] + v, outcome]
            membrane[square, v] = potential
    for outcome in range(wdl.shape[0]):
        wdl[outcome] += sums[outcome] * heads.outcome_scale[outcome] + heads.outcome_bias[outcome]


@kernel
def step(slots, threshold, tower, heads, membranes, scratch, legal, num_legal, policy, wdl):  # type: ignore[no-untyped-def]
    """One time step of ``slots: int32[K]``: work is proportional to K and to the spikes."""
    num_layers, num_channels = tower.weight.shape[0], membranes.current.shape[2]
    for start in range(0, slots.shape[0], GROUP):
        group = slots[start : start + GROUP]
        for k in range(group.shape[0]):
            for square in range(64):  # an array assignment would allocate
                for c in range(num_channels):
                    scratch.stream[k, square, c] = membranes.current[group[k], square, c]
        for first in range(0, num_layers, 2):
            for k in range(group.shape[0]):
                stream, slot = scratch.stream[k], group[k]
                inner = scratch.inner
                _half_block(first, slot, threshold, stream, inner, False, tower, membranes, scratch)
                _half_block(
                    first + 1, slot, threshold, inner, stream, True, tower, membranes, scratch
                )
        for k in range(group.shape[0]):
            slot, rows, starts = group[k], scratch.rows, scratch.starts
            last = membranes.tower[num_layers, slot]
            fire(last, scratch.stream[k], threshold, 1, scratch.fired, rows, starts)
            count = num_legal[slot]
            _add_policy(heads, legal[slot], count, num_channels, rows, starts, policy[slot])
            value = membranes.value[slot]
            _add_value(heads, value, threshold, num_channels, rows, starts, scratch.sums, wdl[slot])
