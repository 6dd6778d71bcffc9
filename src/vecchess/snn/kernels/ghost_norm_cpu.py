"""Ghost batch norm on the processor: a group of boards at a time, while it is in the cache.

A group is some consecutive boards with all their T steps and 64 squares: ``values[:, group]`` of
float32[T, B, N], N = 64 * C, channels last. Sums are kept for each square and channel in float32
and added up over squares in float64; so inner loops are N long, and the processor's vectors full.
"""

from typing import Any

import numpy as np

from vecchess.jit import inline, kernel

_ZERO = np.float32(0)


@inline
def _fill(row: Any, value: Any) -> None:
    for i in range(row.shape[0]):
        row[i] = value


@inline
def _over_squares(row: Any, total: Any) -> None:
    """``row: float32[64 * C]`` summed over squares into ``total: float64[C]``."""
    channels = total.shape[0]
    for c in range(channels):
        total[c] = 0.0
    for at in range(0, row.shape[0], channels):
        for c in range(channels):
            total[c] += row[at + c]


@inline
def _to_squares(channel: Any, row: Any) -> None:
    """``channel: float64[C]`` for every square of ``row: float32[64 * C]``."""
    channels = channel.shape[0]
    for at in range(0, row.shape[0], channels):
        for c in range(channels):
            row[at + c] = channel[c]


@inline
def _moments(values: Any, first: Any, last: Any, rows: Any, mean: Any, variance: Any) -> None:
    """Mean and variance of boards first..last of ``values: float32[T, B, N]``, float64[C] each.

    In one pass, of differences from the first board's mean, so that their squares cancel little.
    """
    size, channels = values.shape[2], mean.shape[0]
    count = values.shape[0] * (last - first) * (size // channels)
    total, squares, centre = rows[0], rows[1], rows[2]
    _over_squares(values[0, first], mean)
    for c in range(channels):
        mean[c] = mean[c] * channels / size
    _to_squares(mean, centre)
    _fill(total, _ZERO)
    _fill(squares, _ZERO)
    for t in range(values.shape[0]):
        for b in range(first, last):
            for i in range(size):
                apart = values[t, b, i] - centre[i]
                total[i] += apart
                squares[i] += apart * apart
    _over_squares(squares, variance)
    _over_squares(total, mean)
    for c in range(channels):
        moved = mean[c] / count
        mean[c] = centre[c] + moved
        variance[c] = max(variance[c] / count - moved * moved, 0.0)


@kernel
def normalise_groups(  # type: ignore[no-untyped-def]
    values, shortcut, gain, bias, eps, group, begin, end, rows, mean, variance, out
):
    """Groups begin..end of ``group`` boards each (the last may have fewer).

    values, out: float32[T, B, N]; shortcut: float32[T, B, N], added to the result, or [1, B, N] for
    the same at every step, or [0, B, N] for none; gain, bias: float64[C]; rows: float32[groups, 3,
    N], to work in; mean, variance: float64[groups, C], written.
    """
    num_steps, num_boards, size = values.shape
    channels = gain.shape[0]
    for g in range(begin, end):
        first, last = g * group, min((g + 1) * group, num_boards)
        _moments(values, first, last, rows[g], mean[g], variance[g])
        start, scale, centre = rows[g, 0], rows[g, 1], rows[g, 2]
        _to_squares(mean[g], centre)
        for at in range(0, size, channels):
            for c in range(channels):
                start[at + c] = bias[c]
                scale[at + c] = gain[c] / np.sqrt(variance[g, c] + eps)
        for t in range(num_steps):
            s = min(t, shortcut.shape[0] - 1)
            for b in range(first, last):
                if s < 0:
                    for i in range(size):
                        out[t, b, i] = (values[t, b, i] - centre[i]) * scale[i] + start[i]
                else:
                    for i in range(size):
                        normed = (values[t, b, i] - centre[i]) * scale[i] + start[i]
                        out[t, b, i] = normed + shortcut[s, b, i]


@kernel
def normalise_groups_backward(  # type: ignore[no-untyped-def]
    values, upstream, gain, mean, inverse, group, begin, end, rows, of_gain, of_bias, out
):
    """Gradients through ``normalise_groups``, its statistics included.

    values, upstream, out: float32[T, B, N]; gain: float64[C]; mean, inverse (1 / spread):
    float64[groups, C]; rows: float32[groups, 3, N], to work in; of_gain, of_bias:
    float64[groups, C], written.

        out = gain / spread * (upstream - its mean - normed * mean of (upstream * normed))
    """
    num_steps, num_boards, size = values.shape
    channels = gain.shape[0]
    for g in range(begin, end):
        first, last = g * group, min((g + 1) * group, num_boards)
        count = num_steps * (last - first) * (size // channels)
        plain, tilted, centre = rows[g, 0], rows[g, 1], rows[g, 2]
        _fill(plain, _ZERO)
        _fill(tilted, _ZERO)
        _to_squares(mean[g], centre)
        for t in range(num_steps):
            for b in range(first, last):
                for i in range(size):
                    gradient = upstream[t, b, i]
                    plain[i] += gradient
                    tilted[i] += gradient * (values[t, b, i] - centre[i])
        _over_squares(plain, of_bias[g])
        _over_squares(tilted, of_gain[g])
        for c in range(channels):
            of_gain[g, c] *= inverse[g, c]
        # out = upstream * centre + values * tilted + plain, the factors gathered
        for at in range(0, size, channels):
            for c in range(channels):
                factor = gain[c] * inverse[g, c]
                slant = -factor * inverse[g, c] * of_gain[g, c] / count
                centre[at + c] = factor
                tilted[at + c] = slant
                plain[at + c] = -factor * of_bias[g, c] / count - slant * mean[g, c]
        for t in range(num_steps):
            for b in range(first, last):
                for i in range(size):
                    steep = values[t, b, i] * tilted[i] + plain[i]
                    out[t, b, i] = upstream[t, b, i] * centre[i] + steep
