"""The heads on one board: currents of the legal moves and of win, draw and loss, from the spikes.

spikes: uint8[8 * 10 * C], masks: uint32[64 * C / 32]       as ``neurons`` leaves them
policy: int32[L], wdl: int32[3]                             one step's currents are added
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.cpu.events import lowest_bit
from vecchess.inference.cpu.neurons import PADDED_FILES
from vecchess.jit import inline, part
from vecchess.snn.presets import ACTIVATION_LIMIT


class Head(NamedTuple):
    """weight: int8[O, K] or [K, O] for the squeeze; scale, bias: int32[O] (units 2^-F)."""

    weight: NDArray[np.int8]
    scale: NDArray[np.int32]
    bias: NDArray[np.int32]


class Heads(NamedTuple):
    """policy [73, C], squeeze [C, V], outcome [64 * V, 3] of a residual network; policy [4672, C],
    outcome [C, 3] and an empty squeeze of a plain one. bits: the inputs are in units of 2^-bits."""

    policy: Head
    squeeze: Head
    outcome: Head
    bits: np.int32


@inline
def _place(square):  # type: ignore[no-untyped-def]
    """Where a square of the padded board lies."""
    return (square >> 3) * PADDED_FILES + (square & 7) + 1


@part
def add_policy(heads, legal, num_legal, channels, spikes, policy):  # type: ignore[no-untyped-def]
    """Per square: a move's plane reads the spikes of the square it starts from."""
    head = heads.policy
    for move in range(num_legal):
        plane, square = np.int64(legal[move]) >> 6, np.int64(legal[move]) & 63
        here = _place(square) * channels
        total = np.int32(0)
        for c in range(channels):
            total += np.int32(head.weight[plane, c]) * np.int32(spikes[here + c])
        current = np.int32(total * head.scale[plane]) >> heads.bits
        policy[move] += np.int32(current) + head.bias[plane]


@part
def add_value(heads, membrane, level, is_leaky, channels, spikes, masks, sums, wdl, count):  # type: ignore[no-untyped-def]
    """Per square: V neurons, then win, draw, loss. membrane: int32[64 * V]; sums: int32[V + 3].

    level: threshold 2^F of leaky neurons, shift of the twin's; count: int64[1], spikes are added.
    """
    num_values = heads.squeeze.weight.shape[1]
    squeeze, outcome = heads.squeeze, heads.outcome
    words = channels // 32
    first = num_values  # of the three outcomes
    for o in range(3):
        sums[first + o] = 0
    for square in range(64):
        for v in range(num_values):
            sums[v] = 0
        here = _place(square) * channels
        for word in range(words):
            mask = masks[square * words + word]
            while mask != 0:
                c = word * 32 + np.int64(lowest_bit(mask))
                mask &= mask - np.uint32(1)
                for v in range(num_values):
                    sums[v] += np.int32(squeeze.weight[c, v]) * np.int32(spikes[here + c])
        for v in range(num_values):
            scaled = np.int32(np.int32(sums[v] * squeeze.scale[v]) >> heads.bits)
            inflow = np.int32(scaled + squeeze.bias[v])
            at = square * num_values + v
            spike = _fire(membrane, at, inflow, level, is_leaky)
            if spike != 0:
                count[0] += 1
                for o in range(3):
                    sums[first + o] += spike * np.int32(outcome.weight[at, o])
    _add_outcome(heads, sums, first, wdl)


@inline
def _fire(membrane, at, inflow, level, is_leaky):  # type: ignore[no-untyped-def]
    """Spike (or activation) of one neuron; see ``neurons``."""
    if not is_leaky:
        return np.int32(min(max(inflow >> level, 0), ACTIVATION_LIMIT))
    limit = 2 * level if membrane[at] > level else level
    charged = (membrane[at] >> 1) + inflow
    spike = np.int32(1) if charged > limit else np.int32(0)
    membrane[at] = charged - spike * level
    return spike


@part
def add_pooled(heads, legal, num_legal, channels, spikes, pooled, sums, policy, wdl):  # type: ignore[no-untyped-def]
    """On the mean over the board: each legal action and outcome reads the spikes of a channel.

    pooled: int32[C], scratch; sums: int32[3], scratch.
    """
    for c in range(channels):
        pooled[c] = 0
    for square in range(64):
        here = _place(square) * channels
        for c in range(channels):
            pooled[c] += np.int32(spikes[here + c])
    head = heads.policy
    for move in range(num_legal):
        action = np.int64(legal[move])
        total = np.int32(0)
        for c in range(channels):
            total += np.int32(head.weight[action, c]) * pooled[c]
        current = np.int32(total * head.scale[action]) >> heads.bits
        policy[move] += np.int32(current) + head.bias[action]
    for o in range(3):
        sums[o] = 0
        for c in range(channels):
            sums[o] += np.int32(heads.outcome.weight[c, o]) * pooled[c]
    _add_outcome(heads, sums, 0, wdl)


@inline
def _add_outcome(heads, sums, first, wdl):  # type: ignore[no-untyped-def]
    for o in range(3):
        current = np.int32(sums[first + o] * heads.outcome.scale[o]) >> heads.bits
        wdl[o] += np.int32(current) + heads.outcome.bias[o]
