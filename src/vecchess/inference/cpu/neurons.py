"""A layer of neurons on one board: scale and bias of the sums, shortcut, neuron, spikes; one pass.

    x = (total * scale >> bits) + bias        total: int16 or int32, sums of the layer before
    x += base;  stream = x                    where a residual stream begins or is added to
    Leaky:        u = (v >> 1) + x;  s = u > (2 * th if v > th else th);  v = u - s * th
    ClippedRelu:  a = clamp(x >> (F - 6), 0, 127)

Spikes leave twice: as bytes (0 or 1, or the twin's activations) for the dense kernel, on a board
with an empty file on either side, uint8[8, 10, C]; and as bits, uint16[64 * C / 16].

Decision 7.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from vecchess.jit import part
from vecchess.llvm import (
    I8,
    I16,
    I32,
    I64,
    LANES,
    Loop,
    build,
    constant,
    load,
    load_wide,
    prefetch_line,
    splat,
    store,
    vector,
)
from vecchess.snn.presets import ACTIVATION_LIMIT

PADDED_FILES = 10
"""Files of a board of bytes: an empty one on either side."""


class Leaky(NamedTuple):
    """LIF neurons, see ``snn/modules/neuron.py``; threshold: int32, 2^F."""

    threshold: np.int32


class ClippedRelu(NamedTuple):
    """The ReLU twin's neurons, without a membrane; shift: int32, F - 6."""

    shift: np.int32


def _leaky(builder: Any, current: Any, membrane: Any, threshold: Any) -> tuple[Any, Any]:
    """Spikes (<16 x i1>) and the membrane after reset, as in ``snn/modules/neuron.py``."""
    above = builder.icmp_signed(">", membrane, threshold)
    limit = builder.select(above, builder.add(threshold, threshold), threshold)
    charged = builder.add(builder.ashr(membrane, constant(I32, 1)), current)
    fired = builder.icmp_signed(">", charged, limit)
    return fired, builder.select(fired, builder.sub(charged, threshold), charged)


def _clipped_relu(builder: Any, current: Any, shift: Any) -> tuple[Any, Any]:
    """Which neurons are active (<16 x i1>), and the activations of the ReLU twin."""
    low, top = constant(I32, 0), constant(I32, ACTIVATION_LIMIT)
    level = builder.ashr(current, shift)
    level = builder.select(builder.icmp_signed(">", level, low), level, low)
    level = builder.select(builder.icmp_signed(">", level, top), top, level)
    return builder.icmp_signed("!=", level, low), level


def _emit_update(  # type: ignore[no-untyped-def]
    streams, is_leaky, builder, total, scale, bias, bits, base, stream, at, before, old, after, new,
    ahead, channels, neuron, spikes, place, masks, count,
) -> None:  # fmt: skip
    """Update the C neurons of one square; arguments as of ``update_board``."""
    level = splat(builder, builder.extract_value(neuron, 0))
    fired_before = builder.load(count)
    loop = Loop(builder, I64(0), lambda c: builder.icmp_signed("<", c, channels), [fired_before])
    c, here = loop.index, builder.add(at, loop.index)
    x = builder.mul(load_wide(builder, total, here), load(builder, scale, c))
    x = builder.add(builder.ashr(x, splat(builder, bits)), load(builder, bias, c))
    if streams:
        x = builder.add(x, load(builder, base, here))
        store(builder, x, stream, here)
    if is_leaky:
        membrane = load(builder, before, builder.add(old, c))
        fired, membrane = _leaky(builder, x, membrane, level)
        here_after = builder.add(new, c)
        store(builder, membrane, after, here_after)
        place_ahead = builder.gep(after, [builder.add(here_after, ahead)])
        prefetch_line(builder, place_ahead, is_written=True)
        values = builder.zext(fired, vector(I8))
    else:
        fired, values = _clipped_relu(builder, x, level)
        values = builder.trunc(values, vector(I8))
    store(builder, values, spikes, builder.add(place, c))
    mask = builder.bitcast(fired, I16)
    word = builder.udiv(here, I64(LANES))
    builder.store(mask, builder.gep(masks, [word]))
    number = builder.zext(builder.ctpop(mask), fired_before.type)
    (fired_now,) = loop.close(builder.add(c, I64(LANES)), [builder.add(loop.carried[0], number)])
    builder.store(fired_now, count)


def _updater(streams: bool) -> Any:
    """The intrinsic that updates one square; ``streams`` as of ``update_board``."""

    @intrinsic
    def update(  # type: ignore[no-untyped-def]
        typing, total, scale, bias, bits, base, stream, at, before, old, after, new, ahead,
        channels, neuron, spikes, place, masks, count,
    ):  # fmt: skip
        n, i = types.intp, types.int32
        given = (total, scale, bias, i, base, stream, n, before, n, after, n, n, n, neuron, spikes)
        emit = partial(_emit_update, streams, neuron.instance_class is Leaky)
        return build(emit, *given, n, masks, count)

    return update


_update_inside: Any = _updater(streams=False)
_update_stream: Any = _updater(streams=True)


@part
def update_board(  # type: ignore[no-untyped-def]
    total, scale, bias, bits, streams, base, stream, before, old, after, new, ahead, channels,
    neuron, spikes, masks, count,
):  # fmt: skip
    """The neurons of one board, from the sums of the layer before to spikes.

    total: int16|int32[64 * C]; scale, bias: int32[C]; bits: int32
    base, stream: int32[64 * C], read and written where ``streams``
    before[old:], after[new:]: int32[64 * C], membranes (may be the same place; Leaky alone)
    ahead: distance from here to the membranes needed next, which are prefetched
    neuron: Leaky or ClippedRelu
    spikes: uint8[8 * 10 * C]; masks: uint16[64 * C / 16]; count: int64[1], spikes are added
    """
    for rank in range(8):
        edge = rank * PADDED_FILES * channels
        for c in range(channels):
            spikes[edge + c] = 0
            spikes[edge + (PADDED_FILES - 1) * channels + c] = 0
        for file in range(8):
            at = (rank * 8 + file) * channels
            place = edge + (file + 1) * channels
            if streams:
                _update_stream(
                    total, scale, bias, bits, base, stream, at, before, old + at, after, new + at,
                    ahead, channels, neuron, spikes, place, masks, count,
                )  # fmt: skip
            else:
                _update_inside(
                    total, scale, bias, bits, base, stream, at, before, old + at, after, new + at,
                    ahead, channels, neuron, spikes, place, masks, count,
                )  # fmt: skip
