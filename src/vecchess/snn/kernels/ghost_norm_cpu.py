"""Ghost batch norm on the processor: of a group of boards, while it is in the cache.

A group is some consecutive boards with all their steps and 64 squares: ``values[:, first:last]`` of
float32[S, B, N], N = 64 * C, channels last. Rows are float32[R]: a stretch of R / C squares, so
that inner loops are long, the processor's vectors full, and the rows in its first cache. Sums are
kept for each place of a row in float32, and added up over squares and boards in float64.
"""

from typing import Any

import numpy as np

from vecchess.jit import inline

_ZERO = np.float32(0)


@inline
def fill(row: Any, value: Any) -> None:
    """``value`` in every place of ``row``."""
    for i in range(row.shape[0]):
        row[i] = value


@inline
def add_over_squares(row: Any, total: Any) -> None:
    """``row`` summed over squares is added to ``total: float64[C]``, and is 0 then."""
    channels = total.shape[0]
    for at in range(0, row.shape[0], channels):
        for c in range(channels):
            total[c] += row[at + c]
    fill(row, _ZERO)


@inline
def _to_squares(channel: Any, row: Any) -> None:
    """``channel: float64[C]`` for every square of ``row``."""
    channels = channel.shape[0]
    for at in range(0, row.shape[0], channels):
        for c in range(channels):
            row[at + c] = channel[c]


@inline
def begin_moments(board: Any, mean: Any, variance: Any, rows: Any) -> None:
    """Start with the first ``board: float32[N]``: differences from its mean are added up, so that
    their squares cancel little. rows: float32[3, R], the sums of differences and of their squares,
    and that mean; mean, variance: float64[C]."""
    channels = mean.shape[0]
    mean[:], variance[:] = 0.0, 0.0
    for at in range(0, board.shape[0], channels):
        for c in range(channels):
            mean[c] += board[at + c]
    for c in range(channels):
        mean[c] = mean[c] * channels / board.shape[0]
    _to_squares(mean, rows[2])
    mean[:] = 0.0
    fill(rows[0], _ZERO)
    fill(rows[1], _ZERO)


@inline
def add_moments(board: Any, rows: Any) -> None:
    """Add ``board: float32[N]``."""
    total, squares, centre = rows[0], rows[1], rows[2]
    stretch = rows.shape[1]
    for at in range(0, board.shape[0], stretch):
        read = board[at : at + stretch]
        for i in range(stretch):
            apart = read[i] - centre[i]
            total[i] += apart
            squares[i] += apart * apart


@inline
def end_moments(count: Any, rows: Any, mean: Any, variance: Any) -> None:
    """Mean and variance of ``count`` numbers a channel, from their sums."""
    for c in range(mean.shape[0]):
        moved = mean[c] / count
        mean[c] = rows[2, c] + moved
        variance[c] = max(variance[c] / count - moved * moved, 0.0)


@inline
def write_affine(gain: Any, bias: Any, mean: Any, variance: Any, eps: Any, rows: Any) -> None:
    """``rows: float32[3, R]``, such that (value - rows[0]) * rows[1] + rows[2] is normalised.

    mean, variance, gain, bias: float64[C], or [0] where values stay as they are.
    """
    channels = gain.shape[0]
    if channels == 0:
        fill(rows[0], _ZERO)
        fill(rows[1], np.float32(1))
        fill(rows[2], _ZERO)
        return
    _to_squares(mean, rows[0])
    _to_squares(bias, rows[2])
    for at in range(0, rows.shape[1], channels):
        for c in range(channels):
            rows[1, at + c] = gain[c] / np.sqrt(variance[c] + eps)


@inline
def normalise(values: Any, affine: Any, shortcut: Any, out: Any) -> None:
    """A row, normalised by ``affine: float32[3, R]``; ``shortcut`` is added, if not empty."""
    centre, scale, start = affine[0], affine[1], affine[2]
    if shortcut.shape[0] == 0:
        for i in range(out.shape[0]):
            out[i] = (values[i] - centre[i]) * scale[i] + start[i]
    else:
        for i in range(out.shape[0]):
            normed = (values[i] - centre[i]) * scale[i] + start[i]
            out[i] = normed + shortcut[i]


@inline
def write_slants(
    gain: Any, mean: Any, variance: Any, eps: Any, of_gain: Any, of_bias: Any, count: Any, rows: Any
) -> None:
    """``rows: float32[3, R]``, such that gradient * rows[0] + value * rows[1] + rows[2] is the
    gradient of a value, its share in the statistics of ``count`` values included:

        gain / spread * (gradient - its mean - normed * mean of (gradient * normed))

    of_gain: float64[C], the sums of gradient * (value - mean), made those of gradient * normed;
    of_bias: float64[C], the sums of gradients.
    """
    channels = gain.shape[0]
    for c in range(channels):
        of_gain[c] /= np.sqrt(variance[c] + eps)
    for at in range(0, rows.shape[1], channels):
        for c in range(channels):
            inverse = 1 / np.sqrt(variance[c] + eps)
            factor = gain[c] * inverse
            slant = -factor * inverse * of_gain[c] / count
            rows[0, at + c] = factor
            rows[1, at + c] = slant
            rows[2, at + c] = -factor * of_bias[c] / count - slant * mean[c]


@inline
def finish(values: Any, slants: Any, gradient: Any) -> None:
    """The gradient float32[N] of a board's values in place of that of the normed ones."""
    factor, slant, start = slants[0], slants[1], slants[2]
    stretch = slants.shape[1]
    for at in range(0, values.shape[0], stretch):
        read, target = values[at : at + stretch], gradient[at : at + stretch]
        for i in range(stretch):
            target[i] = target[i] * factor[i] + (read[i] * slant[i] + start[i])
