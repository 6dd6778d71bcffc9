"""Sums of the policy head, of a position's legal moves alone, on the processor.

An action is ``move * 64 + square``; its sum reads the spikes, or activations, of that square. A
position has about 30 legal moves where the head has 4,672 actions.
"""

from typing import Any, NamedTuple

import numpy as np

from vecchess.chess.bitboards.bits import msb, tz
from vecchess.jit import inline, kernel

_U = np.uint64
_ZERO = np.float32(0)


class HeadInputs(NamedTuple):
    """masks: uint32[T * B, 64 * C / 32], spikes, or values: float32[T * B, 64, C]; the other is
    empty. grid: float32, sums of values are rounded down to multiples of 1 / grid; 0: they are
    not."""

    masks: Any
    values: Any
    grid: Any


@kernel
def sum_moves(inputs, weight, bias, legal, begin, end, policy):  # type: ignore[no-untyped-def]
    """Boards begin..end.

    inputs: ``HeadInputs``; weight: float32[moves, C]; bias: float32[moves]; legal: int64[B, L],
    actions; policy: float32[T, B, L], written, added up over time.
    """
    num_steps, num_boards, width = policy.shape
    for b in range(begin, end):
        for t in range(num_steps):
            n = t * num_boards + b
            for column in range(width):
                move, square = legal[b, column] >> 6, legal[b, column] & 63
                if inputs.values.shape[0] > 0:
                    total = _sum_values(inputs.values[n, square], weight[move], inputs.grid)
                    policy[t, b, column] = total + bias[move]
                else:
                    policy[t, b, column] = _sum_spikes(
                        inputs.masks[n], square, weight[move], bias[move]
                    )
            if t > 0:
                for column in range(width):
                    policy[t, b, column] += policy[t - 1, b, column]


@inline
def _sum_spikes(masks: Any, square: Any, weight: Any, total: Any) -> Any:
    words = masks.shape[0] // 64
    for word in range(words - 1, -1, -1):
        left = _U(masks[square * words + word])
        while left != _U(0):
            highest = msb(left)
            total += weight[word * 32 + np.int64(tz(highest))]
            left ^= highest
    return total


@inline
def _sum_values(values: Any, weight: Any, grid: Any) -> Any:
    total = _ZERO
    for c in range(values.shape[0]):
        total += weight[c] * values[c]
    return total if grid == _ZERO else np.float32(np.floor(total * grid)) / grid


@kernel
def sum_moves_backward(  # type: ignore[no-untyped-def]
    inputs, weight, legal, upstream, part, begin, end, row, of_weight, of_bias, of_values
):
    """Gradients through ``sum_moves`` of parts begin..end, ``part`` boards each; rounding passes
    them on.

    upstream: float32[T, B, L]; row: float32[L], to work in; of_weight: float32[parts, moves, C] and
    of_bias: float32[parts, moves], zeros, added to; of_values: float32[T * B, 64, C], zeros, the
    gradients of the inputs are added.
    """
    num_steps, num_boards, width = upstream.shape
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
                        if inputs.values.shape[0] > 0:
                            _add_scaled(inputs.values[n, square], gradient, of_weight[p, move])
                        else:
                            _add_at_spikes(inputs.masks[n], square, gradient, of_weight[p, move])


@inline
def _add_at_spikes(masks: Any, square: Any, gradient: Any, target: Any) -> None:
    words = masks.shape[0] // 64
    for word in range(words):
        left = _U(masks[square * words + word])
        while left != _U(0):
            target[word * 32 + np.int64(tz(left))] += gradient
            left &= left - _U(1)


@inline
def _add_scaled(source: Any, factor: Any, target: Any) -> None:
    for i in range(target.shape[0]):
        target[i] += factor * source[i]
