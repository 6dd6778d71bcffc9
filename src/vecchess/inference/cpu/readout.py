"""The heads on one board: currents of the legal moves and of win, draw and loss, from the spikes.

spikes: uint8[8 * 10 * C], masks: uint32[64 * C / 32]       as ``neurons`` leaves them; activations
                                                            stand for spikes in a graded readout
policy: int32[L], wdl: int32[3]                             one step's currents are added
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards.bits import tz
from vecchess.inference.cpu.dense import sum_square
from vecchess.inference.cpu.neurons import PADDED_FILES
from vecchess.jit import inline, part
from vecchess.llvm import LANES


class Head(NamedTuple):
    """weight: int8[O, K] or [K, O], or ``dense_weights``; bias: int32[O] (units 2^-F);
    shift: int32[O], what a sum is shifted to the left by.

    bits: the inputs are in units of 2^-bits.
    """

    weight: NDArray[np.int8]
    shift: NDArray[np.int32]
    bias: NDArray[np.int32]
    bits: np.int32


class Heads(NamedTuple):
    """policy [73, C], squeeze in tiles of LANES outputs, V of them in all, outcome [64 * V, 3] of a
    residual network; policy [4672, C], outcome [C, 3] and an empty squeeze of a plain one.

    moves: int32[codes], what a move adds to its policy by its inputs; empty where none are read."""

    policy: Head
    squeeze: Head
    outcome: Head
    moves: NDArray[np.int32]


@inline
def _place(square):  # type: ignore[no-untyped-def]
    """Index of a square on the padded board."""
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
        current = np.int32(total << head.shift[plane]) >> head.bits
        policy[move] += np.int32(current) + head.bias[plane]


@part
def add_moves(table, codes, num_legal, policy):  # type: ignore[no-untyped-def]
    """Add the weights of each legal move's inputs. table: int32[codes]; codes: uint64[M], four to a
    word."""
    for move in range(num_legal):
        code = codes[move >> 2] >> np.uint64((move & 3) << 4) & np.uint64(0xFFFF)
        policy[move] += table[np.int64(code)]


@part
def squeeze(weight, channels, spikes, total):  # type: ignore[no-untyped-def]
    """Per square: sums of the value's neurons. weight: int8[C * V]; total: int32[64 * V]."""
    num_values = weight.shape[0] // channels
    for square in range(64):
        here, at = _place(square) * channels, square * num_values
        for v in range(0, num_values, LANES):
            sum_square(spikes, here, weight, v * channels, total, at + v, channels)


@part
def add_outcome(heads, num_values, spikes, masks, sums, wdl):  # type: ignore[no-untyped-def]
    """Win, draw and loss from the value's neurons. masks: uint16[64 * V / 16]; sums: int32[3]."""
    words = num_values // LANES
    for o in range(3):
        sums[o] = 0
    for square in range(64):
        for word in range(words):
            mask = np.uint32(masks[square * words + word])
            while mask != 0:
                v = word * LANES + np.int64(tz(mask))
                mask &= mask - np.uint32(1)
                spike = np.int32(spikes[_place(square) * num_values + v])
                for o in range(3):
                    sums[o] += spike * np.int32(heads.outcome.weight[square * num_values + v, o])
    _to_wdl(heads, sums, wdl)


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
        current = np.int32(total << head.shift[action]) >> head.bits
        policy[move] += np.int32(current) + head.bias[action]
    for o in range(3):
        sums[o] = 0
        for c in range(channels):
            sums[o] += np.int32(heads.outcome.weight[c, o]) * pooled[c]
    _to_wdl(heads, sums, wdl)


@inline
def _to_wdl(heads, sums, wdl):  # type: ignore[no-untyped-def]
    for o in range(3):
        current = np.int32(sums[o] << heads.outcome.shift[o]) >> heads.outcome.bits
        wdl[o] += np.int32(current) + heads.outcome.bias[o]
