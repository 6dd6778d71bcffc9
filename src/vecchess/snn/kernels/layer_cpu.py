"""A whole layer on the processor: sums over spikes, ghost norm, shortcut, neurons; and back.

A torch operator walks over all neurons of all boards and allocates its result. Here a group of
boards, as the norm takes them, goes through everything while it is in the cache: what is written
for others is the spikes, a bit each, and for the backward the sums, which charges the neurons
again. The backward goes twice over a group, because the norm's gradient needs sums over all of it;
behind the second pass the gradients of a few boards go on to weights and inputs at once.

Arrays that are not needed are empty. Letters: S steps of values, T or 1 where all are the same;
N = 64 * C; R: a row, a stretch of squares of a board; W words of 32 channels.

Decision 231.
"""

from typing import Any, NamedTuple

import numpy as np

from vecchess.jit import inline, kernel
from vecchess.snn.kernels.ghost_norm_cpu import (
    add_moments,
    add_over_squares,
    begin_moments,
    end_moments,
    fill,
    finish,
    normalise,
    write_affine,
    write_slants,
)
from vecchess.snn.kernels.lif_cpu import (
    add_row,
    charge_row,
    charge_row_normed,
    collect_row,
    collect_row_added,
    collect_row_all,
    collect_row_normed,
    copy_row,
    discharge,
    fire_row,
    fire_row_added,
    write_spikes,
)
from vecchess.snn.kernels.sparse_sums import add_weight_gradients, sum_boards, turn_masks
from vecchess.snn.kernels.winograd import convolve_boards

_ZERO = np.float32(0)
BOARDS = 4
"""Boards whose gradients go on to weights and inputs together."""


class Synapses(NamedTuple):
    """masks: uint32[T, B, W], spikes; weight: float32[9 * I * O] in the order tap, input, output;
    bias: float32[O]; rows: int32[64 * I] and starts: int64[74], to work in."""

    masks: Any
    weight: Any
    bias: Any
    rows: Any
    starts: Any


class Norm(NamedTuple):
    """gain, bias: float64[C]; mean, variance: float64[groups, C]; eps: added to the variance."""

    gain: Any
    bias: Any
    mean: Any
    variance: Any
    eps: Any


class Neurons(NamedTuple):
    """before: float32[B, N], membranes, or [1, N], the same of every board; scale: float32,
    2^(F - 1); surrogate: its number and slope."""

    before: Any
    scale: Any
    surrogate: Any


class Results(NamedTuple):
    """currents: float32[T, B, N], normalised, with shortcut; spikes: float32[T, B, N], 0 or 1;
    masks: uint32[T, B, N / 32]; after: float32[B, N], membranes; counts: int64[groups], spikes."""

    currents: Any
    spikes: Any
    masks: Any
    after: Any
    counts: Any


class Upstream(NamedTuple):
    """Gradients of the results: spikes, currents: float32[T, B, N]; share: float32, what every
    spike gets besides; after: float32[B, N], replaced by those of the membranes before."""

    spikes: Any
    currents: Any
    share: Any
    after: Any


class Gradients(NamedTuple):
    """gain, bias: float64[groups, C]; shortcut: as the shortcut, may be the memory of the currents;
    values: float32[S, B, N], or [S, group, N] to work in, where they go on to inputs."""

    gain: Any
    bias: Any
    shortcut: Any
    values: Any


class SynapseGradients(NamedTuple):
    """masks: as of ``Synapses``; turned: word[36, O, I], the weight as ``winograd`` wants it;
    weight: float32[groups, O / GRADIENT_WIDTH, I, 9, GRADIENT_WIDTH], zeros, added to; inputs:
    float32[T, B, 64 * I], written; the rest to work in: see ``add_weight_gradients`` and
    ``convolve_boards``; bits: uint64[BOARDS, I]."""

    masks: Any
    turned: Any
    weight: Any
    inputs: Any
    bits: Any
    padded: Any
    words: Any
    tiles: Any
    products: Any


@inline
def _step(array: Any, t: Any) -> Any:
    """The step of ``array: [S, ...]`` that time step ``t`` reads."""
    return min(t, array.shape[0] - 1)


@kernel
def fire_groups(  # type: ignore[no-untyped-def]
    synapses, norm, neurons, values, shortcut, group, begin, end, rows, results
):
    """Groups begin..end of ``group`` boards each (the last may have fewer).

    values: float32[S, B, N], written where there are synapses; shortcut: float32[S, B, N]; rows:
    float32[6, R], to work in. Without a gain there is no norm, without ``before`` no neurons.
    """
    num_boards, size = values.shape[1:]
    affine = rows[:3]
    for g in range(begin, end):
        first, last = g * group, min((g + 1) * group, num_boards)
        mean, variance = norm.mean[g], norm.variance[g]
        _sum_and_measure(synapses, values, first, last, affine, mean, variance)
        write_affine(norm.gain, norm.bias, mean, variance, norm.eps, affine)
        count = 0
        for b in range(first, last):
            for at in range(0, size, rows.shape[1]):
                count += _fire(neurons, values, affine, shortcut, b, at, rows[3:], results)
        results.counts[g] = count


@inline
def _sum_and_measure(
    synapses: Any, values: Any, first: Any, last: Any, rows: Any, mean: Any, variance: Any
) -> None:
    """Sums of boards first..last over spikes, and their moments while they are in the cache."""
    masks, weight, bias, found, starts = synapses
    is_normed = mean.shape[0] > 0
    for t in range(values.shape[0]):
        for b in range(first, last):
            if masks.shape[0] > 0:
                channels = masks.shape[2] // 2
                sum_boards(masks[t], weight, bias, channels, 1, b, b + 1, found, starts, values[t])
            if is_normed and t == 0 and b == first:
                begin_moments(values[t, b], mean, variance, rows)
            if is_normed:
                add_moments(values[t, b], rows)
        if is_normed:
            add_over_squares(rows[0], mean)
            add_over_squares(rows[1], variance)
    if is_normed:
        count = values.shape[0] * (last - first) * (values.shape[2] // mean.shape[0])
        end_moments(count, rows, mean, variance)


@inline
def _fire(
    neurons: Any, values: Any, affine: Any, shortcut: Any, b: Any, at: Any, rows: Any, results: Any
) -> Any:
    """The neurons from ``at`` on of board ``b``; returns the number of spikes."""
    before, currents = neurons.before, results.currents
    row, excess, membrane = rows[0], rows[1], rows[2]
    size = row.shape[0]
    here, words = slice(at, at + size), slice(at // 32, (at + size) // 32)
    fires, adds = before.shape[0] > 0, shortcut.shape[0] > 0
    count = np.int64(0)
    if fires:
        copy_row(before[min(b, before.shape[0] - 1), here], membrane)
    for t in range(max(results.masks.shape[0], currents.shape[0])):
        value = values[_step(values, t), b, here]
        added = shortcut[_step(shortcut, t), b, here] if adds else row[:0]
        current = currents[t, b, here] if currents.shape[0] > 0 else row
        if fires:
            packed = results.masks[t, b, words]
            state = neurons.scale, membrane, current, excess, packed
            if adds:
                count += fire_row_added(value, size, affine, added, *state)
            else:
                count += fire_row(value, size, affine, added, *state)
            if results.spikes.shape[0] > 0:
                write_spikes(excess, results.spikes[t, b, here])
        else:
            normalise(value, affine, added, current)
    if fires:
        copy_row(membrane, results.after[b, here])
    return count


@kernel
def fire_groups_backward(  # type: ignore[no-untyped-def]
    norm, neurons, values, currents, upstream, group, begin, end, rows, grads, gradients, synapses
):
    """Gradients through ``fire_groups``, the statistics included.

    values: as written; currents: as written, or empty, and then there was no shortcut; rows:
    float32[7, R], grads: float32[T, R], to work in; synapses: ``SynapseGradients``.
    """
    num_boards, size = values.shape[1:]
    affine, plain, tilted = rows[:3], rows[5], rows[6]
    is_normed = norm.gain.shape[0] > 0
    for g in range(begin, end):
        first, last = g * group, min((g + 1) * group, num_boards)
        mean, variance = norm.mean[g], norm.variance[g]
        of_gain, of_bias = gradients.gain[g], gradients.bias[g]
        write_affine(norm.gain, norm.bias, mean, variance, norm.eps, affine)
        of_gain[:], of_bias[:] = 0.0, 0.0
        fill(plain, _ZERO)
        fill(tilted, _ZERO)
        offset = first if synapses.masks.shape[0] > 0 else 0
        for b in range(first, last):
            for at in range(0, size, rows.shape[1]):
                _fire_back(
                    neurons, values, affine, currents, upstream, b, at, rows, grads, gradients,
                    offset,
                )  # fmt: skip
            add_over_squares(plain, of_bias)
            if is_normed:
                add_over_squares(tilted, of_gain)
        if is_normed:
            count = values.shape[0] * (last - first) * (size // mean.shape[0])
            write_slants(norm.gain, mean, variance, norm.eps, of_gain, of_bias, count, affine)
        _pass_back(values, affine, is_normed, g, first, last, gradients.values, synapses)


@inline
def _fire_back(
    neurons: Any, values: Any, affine: Any, currents: Any, upstream: Any, b: Any, at: Any,
    rows: Any, grads: Any, gradients: Any, offset: Any,
) -> None:  # fmt: skip
    """Gradients at the neurons from ``at`` on of board ``b``, and their sums for the norm."""
    here = slice(at, at + rows.shape[1])
    _discharge_all(neurons, values, affine, currents, upstream, b, at, rows, grads)
    for t in range(grads.shape[0]):
        gradient, value = grads[t], values[_step(values, t), b, here]
        more = upstream.currents[t, b, here] if upstream.currents.shape[0] > 0 else rows[0, :0]
        is_normed = gradients.gain.shape[1] > 0
        if t < gradients.values.shape[0]:
            out = gradients.values[t, b - offset, here]
            _collect(is_normed, gradient, more, value, rows, out)
            _put(out, gradients.shortcut, t, b, at)
        else:
            _collect(is_normed, gradient, more, value, rows, gradient)
            _put(gradient, gradients.values, t, b - offset, at)
            _put(gradient, gradients.shortcut, t, b, at)


@inline
def _collect(is_normed: Any, gradient: Any, more: Any, value: Any, rows: Any, out: Any) -> None:
    size, adds = gradient.shape[0], more.shape[0] > 0
    state = value, rows[0], out, rows[5], rows[6]
    if adds and is_normed:
        collect_row_all(gradient, size, more, *state)
    elif is_normed:
        collect_row_normed(gradient, size, more, *state)
    elif adds:
        collect_row_added(gradient, size, more, *state)
    else:
        collect_row(gradient, size, more, *state)


@inline
def _put(gradient: Any, target: Any, t: Any, b: Any, at: Any) -> None:
    """The row at time step ``t`` into ``target: [S, B, N]``, added up where S is 1."""
    if target.shape[0] > 0:
        row = target[_step(target, t), b, at : at + gradient.shape[0]]
        if t < target.shape[0]:
            copy_row(gradient, row)
        else:
            add_row(gradient, row)


@inline
def _discharge_all(
    neurons: Any, values: Any, affine: Any, currents: Any, upstream: Any, b: Any, at: Any,
    rows: Any, grads: Any,
) -> None:  # fmt: skip
    """``grads``: of the currents by way of the spikes and membranes; 0 without neurons."""
    before, row, carried = neurons.before, rows[3], rows[4]
    if before.shape[0] == 0:
        grads[:] = _ZERO
        return
    here = slice(at, at + row.shape[0])
    copy_row(before[min(b, before.shape[0] - 1), here], carried)
    for t in range(grads.shape[0]):
        state = affine, row[:0], neurons.scale, carried, row, grads[t], row[:0]
        if currents.shape[0] > 0:
            charge_row(currents[t, b, here], row.shape[0], *state)
        else:
            charge_row_normed(values[_step(values, t), b, here], row.shape[0], *state)
    if upstream.after.shape[0] > 0:
        copy_row(upstream.after[b, here], carried)
    else:
        fill(carried, _ZERO)
    for step in range(grads.shape[0]):
        t = grads.shape[0] - 1 - step
        spikes = upstream.spikes[t, b, here] if upstream.spikes.shape[0] > 0 else row[:0]
        discharge(grads[t], spikes, upstream.share, neurons.surrogate, row, carried)
    if upstream.after.shape[0] > 0:
        copy_row(carried, upstream.after[b, here])


@inline
def _pass_back(
    values: Any, slants: Any, is_normed: Any, g: Any, first: Any, last: Any, found: Any, s: Any
) -> None:
    """The second pass over gradients ``found`` of boards first..last, and on to the synapses."""
    has_synapses = s.masks.shape[0] > 0
    offset = first if has_synapses else 0
    for t in range(values.shape[0]):
        for b in range(first, last, BOARDS):
            until = min(b + BOARDS, last)
            if is_normed:
                for i in range(b, until):
                    finish(values[t, i], slants, found[t, i - offset])
            if has_synapses:
                here, num = found[t, b - offset : until - offset], until - b
                turn_masks(s.masks[t, b:until], 0, num, s.bits)
                add_weight_gradients(
                    s.bits[:num], here, 1, num, 0, 1, s.padded, s.words, s.weight[g : g + 1]
                )
                out = s.inputs[t, b:until]
                convolve_boards(here, s.turned, 0, num, s.tiles, s.products, out)
