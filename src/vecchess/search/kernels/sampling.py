"""Drawing a move from the policy, with the same result on every machine.

Accumulators become weights out of 2**24 by a fixed polynomial for 2**x in float32, whose every
operation is IEEE exact-rounded; all after that is in integers. No libm, no fused
multiply-add, no order of summation that matters.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vecchess.chess.bitboards.bits import load_i32, store_i32
from vecchess.jit import inline, kernel, paste
from vecchess.shapes import MAX_MOVES

LOG2_E = np.float32(1.4426950408889634)
ONE = np.float32(16777216.0)
LOWEST = np.float32(-25.0)
"""Below this exponent a weight is less than one part in 2**24: it becomes zero."""

# 2**f on [0, 1]: least squares of the relative error with both ends exact; error below 2e-7.
C1 = np.float32(0.6931517124176025)
C2 = np.float32(0.24015969038009644)
C3 = np.float32(0.05581672117114067)
C4 = np.float32(0.00899391621351242)
C5 = np.float32(0.0018779411911964417)


def softmax_scale(scale: ArrayLike) -> NDArray[np.float32]:
    """float32: logits of an accumulator unit, in powers of two; no further than float32 reaches,
    where 0 times infinity would be no number."""
    largest = np.finfo(np.float32).max
    return np.minimum(np.asarray(scale, np.float64) * float(LOG2_E), largest).astype(np.float32)


@inline
def softmax_weight(difference: Any, scale: Any) -> Any:
    """2**(difference * scale) as uint32 out of 2**24; ``difference`` (int32) is at most 0."""
    x = max(np.float32(difference) * scale, LOWEST)
    whole = np.int32(x)
    fraction = x - np.float32(whole)
    below = np.int32(fraction < np.float32(0.0))
    whole -= below
    f = fraction + np.float32(below)
    power = np.float32(1.0) + f * (C1 + f * (C2 + f * (C3 + f * (C4 + f * C5))))
    return np.uint32(np.int32(power * ONE)) >> np.uint32(-whole)


@inline
def write_softmax_weights(accumulators: Any, count: Any, scale: Any, weights: Any) -> Any:
    """Softmax weights of ``count`` accumulators; returns their sum, uint32.

    ``accumulators`` is the address of int32[L], ``weights`` of uint32[L], which is written.
    ``scale`` (float32) takes an accumulator to a logit in powers of two; 0 means temperature 0:
    the first of the best moves has all the weight.
    """
    best = load_i32(accumulators, 0)
    for i in range(1, count):
        best = max(best, load_i32(accumulators, i))
    if scale == np.float32(0.0):
        return _weigh_first_best(accumulators, count, best, weights)
    total = np.uint32(0)
    for i in range(count):
        weight = softmax_weight(np.int32(load_i32(accumulators, i) - best), scale)
        store_i32(weights, i, weight)
        total += weight
    return total


@paste
def _weigh_first_best(accumulators: Any, count: Any, best: Any, weights: Any) -> Any:
    is_found = False
    for i in range(count):
        first = load_i32(accumulators, i) == best and not is_found
        is_found = is_found or first
        store_i32(weights, i, np.int64(first))
    return np.uint32(1)


@inline
def draw_index(weights: Any, count: Any, total: Any, random: Any) -> Any:
    """Index below ``count``, drawn in proportion to weights at the address ``weights`` (uint32,
    below 2**31).

    ``random`` is uint64, ``total`` the sum of the weights; were it wrong, the last one is drawn.
    """
    left = np.int64(((random >> np.uint64(32)) * np.uint64(total)) >> np.uint64(32))
    index = np.int64(0)
    left -= load_i32(weights, 0)
    while left >= 0 and index < count - 1:
        index += 1
        left -= load_i32(weights, index)
    return index


@kernel
def _softmax_rows(accumulators, counts, scales, weights, totals):  # type: ignore[no-untyped-def]
    bytes_a_row = np.int64(4 * accumulators.shape[1])
    for b in range(len(counts)):
        row = np.int64(accumulators.ctypes.data) + b * bytes_a_row
        into = np.int64(weights.ctypes.data) + b * (4 * MAX_MOVES)
        totals[b] = write_softmax_weights(row, np.int64(counts[b]), scales[b], into)


def softmax_weights(
    accumulators: NDArray[np.int32], counts: NDArray[np.uint8], scales: NDArray[np.float32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Integer softmax of B rows.

    accumulators: int32[B, L], counts: uint8[B] entries that count, scales: float32[B], log2 of
    the weight's ratio for one unit of accumulator (0: all weight on the first best).
    Returns weights uint32[B, L] out of 2**24 for the best move, and their sums uint32[B].
    """
    accumulators = np.ascontiguousarray(accumulators, np.int32)
    weights = np.zeros((len(counts), MAX_MOVES), np.uint32)
    totals = np.zeros(len(counts), np.uint32)
    _softmax_rows(accumulators, counts, scales, weights, totals)
    return weights, totals
