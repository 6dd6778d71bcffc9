"""The neuron of ``modules/neuron.py`` on the processor: rows of neurons, float32[R], in the cache.

A row is a stretch of a board's squares, short enough that all that a neuron needs stays in the
first cache for all T steps. Same operations in the same order as in torch: the same bits.
Clipped ReLUs take whole boards: currents to activations of 7 bits and back, in one pass each.
"""

from typing import Any

import numpy as np
from numba import types

from vecchess.jit import inline, kernel
from vecchess.llvm import (
    F32,
    I32,
    I64,
    Loop,
    call,
    constant,
    instruction,
    load,
    splat,
    store,
    vector,
)
from vecchess.snn.kernels.surrogate import write_derivatives
from vecchess.snn.presets import ACTIVATION_BITS, ACTIVATION_LIMIT

_ZERO, _HALF, _ONE = (np.float32(value) for value in (0, 0.5, 1))


def _normed(builder: Any, value: Any, affine: Any, size: Any, at: Any) -> Any:
    """32 values at ``at`` of a row, normalised by ``affine: float32[3, size]``."""
    places = [builder.add(at, builder.mul(I64(row), size)) for row in range(3)]
    centre, scale, start = (load(builder, affine, place, 32) for place in places)
    return builder.fadd(builder.fmul(builder.fsub(value, centre), scale), start)


def _packed(builder: Any, fired: Any, masks: Any, at: Any) -> Any:
    """The number of spikes among 32 neurons at ``at``, which are written to a word of ``masks``."""
    mask = builder.bitcast(fired, I32)
    builder.store(mask, builder.gep(masks, [builder.lshr(at, I64(5))]))
    return builder.zext(call(builder, "llvm.ctpop.i32", I32, [mask]), I64)


def _charger(is_normed: bool, adds: bool, packs: bool) -> Any:
    """``charge(values, R, affine, shortcut, scale, membrane, current, excess, masks)`` for kernels.

    A time step of a row: ``values`` are normalised by ``affine: float32[3, R]`` if ``is_normed``,
    ``shortcut`` is added if ``adds``. excess: the charge above the threshold, written, a spike
    where it is above 0. packs: what neurons get is written to ``current``, their spikes to ``masks:
    uint32[R / 32]``, a bit each. Returns the number of spikes packed.
    """
    given = [None, types.int64, *[None] * 2, types.float32, *[None] * 4]

    @instruction(types.int64, *given)
    def charge(builder, values, size, affine, shortcut, scale, membrane, current, excess, masks):  # type: ignore[no-untyped-def]
        ones, twos, zeros = (constant(F32, number, 32) for number in (1, 2, 0))
        scales = splat(builder, scale, 32)
        unit = splat(builder, builder.fdiv(F32(0.5), scale), 32)
        kind = vector(F32, 32)
        loop = Loop(builder, I64(0), lambda i: builder.icmp_signed("<", i, size), [I64(0)])
        at = loop.index
        value = load(builder, values, at, 32)
        if is_normed:
            value = _normed(builder, value, affine, size, at)
        if adds:
            value = builder.fadd(value, load(builder, shortcut, at, 32))
        if packs:
            store(builder, value, current, at)
        before = load(builder, membrane, at, 32)
        limit = builder.select(builder.fcmp_ordered(">", before, ones), twos, ones)
        floor = call(builder, "llvm.floor.v32f32", kind, [builder.fmul(before, scales)])
        charged = builder.fadd(builder.fmul(floor, unit), value)
        above = builder.fsub(charged, limit)
        fired = builder.fcmp_ordered(">", above, zeros)
        store(builder, above, excess, at)
        store(builder, builder.fsub(charged, builder.select(fired, ones, zeros)), membrane, at)
        (count,) = loop.carried
        if packs:
            count = builder.add(count, _packed(builder, fired, masks, at))
        return loop.close(builder.add(at, I64(32)), [count])[0]

    return charge


fire_row, fire_row_added = _charger(True, False, True), _charger(True, True, True)
charge_row, charge_row_normed = _charger(False, False, False), _charger(True, False, False)


def _collector(adds: bool, is_normed: bool) -> Any:
    """``collect(gradient, R, more, values, centre, out, plain, tilted)`` for kernels.

    The gradient of a row of currents, with ``more`` if ``adds``, is written to ``out`` and added to
    ``plain``, and if ``is_normed`` times (value - centre) to ``tilted``. ``out`` may be
    ``gradient``.
    """

    @instruction(types.void, None, types.int64, *[None] * 6)
    def collect(builder, gradient, size, more, values, centre, out, plain, tilted) -> None:  # type: ignore[no-untyped-def]
        loop = Loop(builder, I64(0), lambda i: builder.icmp_signed("<", i, size), [])
        at = loop.index
        found = load(builder, gradient, at, 32)
        if adds:
            found = builder.fadd(found, load(builder, more, at, 32))
        store(builder, found, out, at)
        store(builder, builder.fadd(load(builder, plain, at, 32), found), plain, at)
        if is_normed:
            apart = builder.fsub(load(builder, values, at, 32), load(builder, centre, at, 32))
            before = load(builder, tilted, at, 32)
            store(builder, builder.fadd(before, builder.fmul(found, apart)), tilted, at)
        loop.close(builder.add(at, I64(32)), [])

    return collect


collect_row, collect_row_added = _collector(False, False), _collector(True, False)
collect_row_normed, collect_row_all = _collector(False, True), _collector(True, True)


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
            gradient = (upstream[i] + share) * row[i] + carried[i]
            excess[i] = gradient
            carried[i] = gradient * _HALF
    else:
        for i in range(row.shape[0]):
            gradient = share * row[i] + carried[i]
            excess[i] = gradient
            carried[i] = gradient * _HALF


_LEVELS = np.float32(2**ACTIVATION_BITS)
_UNIT = np.float32(2.0**-ACTIVATION_BITS)
_TOP = np.float32(ACTIVATION_LIMIT)
_END = np.float32((ACTIVATION_LIMIT + 1) * 2.0**-ACTIVATION_BITS)


@kernel
def activate_boards(currents: Any, begin: Any, end: Any, activations: Any, counts: Any) -> None:
    """Boards begin..end of ``currents: float32[n, N]`` -> activations, written, and how many of
    them are not 0, ``counts: int64[n]``."""
    for n in range(begin, end):
        count = np.int32(0)
        for i in range(currents.shape[1]):
            level = currents[n, i] * _LEVELS
            level = level if level > _ZERO else _ZERO
            level = level if level < _TOP else _TOP
            count += np.int32(level >= _ONE)
            activations[n, i] = np.float32(np.int32(level)) * _UNIT
        counts[n] = count


@kernel
def activate_back(currents: Any, upstream: Any, begin: Any, end: Any, gradient: Any) -> None:
    """Straight through where the activation is not clipped: float32[n, N] each, ``gradient``
    written."""
    for n in range(begin, end):
        for i in range(currents.shape[1]):
            current = currents[n, i]
            is_inside = (current >= _ZERO) & (current < _END)
            gradient[n, i] = upstream[n, i] if is_inside else _ZERO
