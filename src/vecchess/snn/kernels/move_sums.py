"""Sums of the policy head over spikes, of a position's legal moves alone, on the processor.

An action is ``move * 64 + square``; its sum reads the spikes of that square. A position has about
30 legal moves where the head has 4,672 actions.
"""

from typing import Any

import numpy as np

from vecchess.chess.bitboards.bits import msb, tz
from vecchess.jit import inline, kernel

_U = np.uint64
_ZERO = np.float32(0)


@kernel
def sum_moves(masks, weight, bias, legal, begin, end, policy):  # type: ignore[no-untyped-def]
    """Boards begin..end.

    masks: uint32[T * B, 64 * C / 32]; weight: float32[moves, C]; bias: float32[moves]; legal:
    int64[B, L], actions; policy: float32[T, B, L], written, added up over time.
    """
    num_steps, num_boards, width = policy.shape
    words = masks.shape[1] // 64
    for b in range(begin, end):
        for t in range(num_steps):
            spikes = masks[t * num_boards + b]
            for column in range(width):
                move, square = legal[b, column] >> 6, legal[b, column] & 63
                total = bias[move]
                for word in range(words - 1, -1, -1):
                    left = _U(spikes[square * words + word])
                    while left != _U(0):
                        highest = msb(left)
                        total += weight[move, word * 32 + np.int64(tz(highest))]
                        left ^= highest
                policy[t, b, column] = total
            if t > 0:
                for column in range(width):
                    policy[t, b, column] += policy[t - 1, b, column]


@kernel
def sum_moves_backward(  # type: ignore[no-untyped-def]
    masks, weight, legal, upstream, part, begin, end, row, of_weight, of_bias, of_values
):
    """Gradients through ``sum_moves`` of parts begin..end, ``part`` boards each.

    upstream: float32[T, B, L]; row: float32[L], to work in; of_weight: float32[parts, moves, C] and
    of_bias: float32[parts, moves], zeros, added to; of_values: float32[T * B, 64, C], zeros, the
    gradients of the spikes are added.
    """
    num_steps, num_boards, width = upstream.shape
    words = masks.shape[1] // 64
    for p in range(begin, end):
        for b in range(p * part, min((p + 1) * part, num_boards)):
            row[:] = _ZERO
            for step in range(num_steps):
                t = num_steps - 1 - step
                n = t * num_boards + b
                for column in range(width):
                    row[column] += upstream[t, b, column]
                    gradient = row[column]
                    if gradient != _ZERO:  # columns without a move, for one
                        move, square = legal[b, column] >> 6, legal[b, column] & 63
                        _add_scaled(weight[move], gradient, of_values[n, square])
                        of_bias[p, move] += gradient
                        for word in range(words):
                            left = _U(masks[n, square * words + word])
                            while left != _U(0):
                                of_weight[p, move, word * 32 + np.int64(tz(left))] += gradient
                                left &= left - _U(1)


@inline
def _add_scaled(source: Any, factor: Any, target: Any) -> None:
    for i in range(target.shape[0]):
        target[i] += factor * source[i]
