"""A layer of neurons on one board, for some time steps: from the sums of a convolution to spikes.

    x = (total << shift >> bits) + bias      total: int16 or int32, sums of the layer before
    x += stream;  stream = x                 where the residual stream is added to
    Leaky:        u = (v >> 1) + x;  s = u > (2 * th if v > th else th);  v = u - s * th
    ClippedRelu:  a = clamp(x >> (F - 6), 0, 127)

The steps of a neuron follow one another, with its membrane in a register: it is read only where
steps were taken before, and written only where some may follow.

Spikes leave as bits, and as bytes (0 or 1, or the twin's activations) where they are asked for, for
dense products, on a board with an empty file on either side: uint8[8, 10, C].

Decisions 7 and 246.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from vecchess.jit import inline, part
from vecchess.llvm import (
    I8,
    I32,
    I64,
    Loop,
    build,
    constant,
    load,
    load_as,
    load_if,
    splat,
    store,
    vector,
)
from vecchess.snn.presets import ACTIVATION_LIMIT

PADDED_FILES = 10
"""Files of a board of bytes: an empty one on either side."""

INSIDE, BEGINS, ADDS, ENDS = range(4)
"""What a layer has to do with the residual stream: nothing; its currents are the first of it; they
are added to it; they are added, and nothing follows."""


class Leaky(NamedTuple):
    """LIF neurons, see ``snn/modules/neuron.py``; threshold: int32, 2^F."""

    threshold: np.int32


class ClippedRelu(NamedTuple):
    """The ReLU twin's neurons, without a membrane; shift: int32, F - 6."""

    shift: np.int32


class Steps(NamedTuple):
    """Where one board's time steps lie: ``num`` of them, in rows ``first`` and on of arrays with
    a row for each.

    lane: the row of its membranes, which begin at column ``at``; reads, writes: 1 where they are
    """

    num: int
    first: int
    lane: np.int64
    at: int
    reads: int
    writes: int


def _leaky(builder: Any, current: Any, membrane: Any, threshold: Any) -> tuple[Any, Any]:
    """Spikes (i1) and the membrane after reset, as in ``snn/modules/neuron.py``."""
    above = builder.icmp_signed(">", membrane, threshold)
    limit = builder.select(above, builder.add(threshold, threshold), threshold)
    charged = builder.add(builder.ashr(membrane, constant(I32, 1, membrane.type.count)), current)
    fired = builder.icmp_signed(">", charged, limit)
    return fired, builder.select(fired, builder.sub(charged, threshold), charged)


def _clipped_relu(builder: Any, current: Any, shift: Any) -> tuple[Any, Any]:
    """Which neurons are active (i1), and the activations of the ReLU twin."""
    width = current.type.count
    low, top = constant(I32, 0, width), constant(I32, ACTIVATION_LIMIT, width)
    level = builder.ashr(current, shift)
    level = builder.select(builder.icmp_signed(">", level, low), level, low)
    level = builder.select(builder.icmp_signed(">", level, top), top, level)
    return builder.icmp_signed("!=", level, low), level


class _Given(NamedTuple):
    """What the kernel that ``_Block`` emits is given, as values of LLVM.

    A row of ``total``, ``stream``, ``spikes`` and ``masks`` is a time step, of ``num``: the first
    begins at ``_at``, the next ``_step`` further on. Bytes are written where ``spikes_step`` is not
    0. words: masks of a square; fired: int64[1]
    """

    num: Any
    total: Any
    total_at: Any
    total_step: Any
    shift: Any
    bias: Any
    bits: Any
    stream: Any
    stream_at: Any
    stream_step: Any
    membrane: Any
    membrane_at: Any
    reads: Any
    writes: Any
    channels: Any
    channel: Any
    neuron: Any
    spikes: Any
    spikes_at: Any
    spikes_step: Any
    masks: Any
    mask_at: Any
    mask_step: Any
    words: Any
    fired: Any


class _Block:
    """Emits the update of as many neurons of every square as a mask has bits, from ``channel``."""

    def __init__(self, role: int, is_leaky: bool, builder: Any, given: _Given) -> None:
        self.role, self.is_leaky, self.builder, self.given = role, is_leaky, builder, given
        self.word = given.masks.type.pointee
        self.width = int(self.word.width)
        self.level = splat(builder, builder.extract_value(given.neuron, 0), self.width)
        self.shifts = load(builder, given.shift, given.channel, self.width)
        self.biases = load(builder, given.bias, given.channel, self.width)
        self.bits = splat(builder, given.bits, self.width)
        self.rest = constant(I32, 0, self.width)

    def emit(self) -> None:
        """All squares; the number of spikes is carried along."""
        builder, given = self.builder, self.given
        is_square = partial(builder.icmp_signed, "<", rhs=I64(64))
        squares = Loop(builder, I64(0), is_square, [builder.load(given.fired)])
        number = self._add_square(squares.index, squares.carried[0])
        (number,) = squares.close(builder.add(squares.index, I64(1)), [number])
        builder.store(number, given.fired)

    def _add_square(self, square: Any, number: Any) -> Any:
        """All steps of one square, its membranes in registers; returns the spikes so far."""
        builder, given = self.builder, self.given
        here = builder.add(builder.mul(square, given.channels), given.channel)
        place = builder.add(given.membrane_at, here)
        before = self.rest
        if self.is_leaky:
            before = load_if(builder, given.reads, given.membrane, place, self.rest)
        is_step = partial(builder.icmp_signed, "<", rhs=given.num)
        steps = Loop(builder, I64(0), is_step, [number, before])
        current = self._current(steps.index, here)
        if self.is_leaky:
            active, after = _leaky(builder, current, steps.carried[1], self.level)
            values = builder.zext(active, vector(I8, self.width))
        else:
            active, values = _clipped_relu(builder, current, self.level)
            values, after = builder.trunc(values, vector(I8, self.width)), self.rest
        number = builder.add(steps.carried[0], self._write(steps.index, square, active, values))
        number, after = steps.close(builder.add(steps.index, I64(1)), [number, after])
        if self.is_leaky:
            with builder.if_then(builder.icmp_signed("!=", given.writes, I64(0))):
                store(builder, after, given.membrane, place)
        return number

    def _at(self, step: Any, first: Any, between: Any, here: Any) -> Any:
        """Index in an array with a row for each step."""
        builder = self.builder
        return builder.add(builder.add(first, builder.mul(step, between)), here)

    def _current(self, step: Any, here: Any) -> Any:
        """The current of a step, which enters the residual stream as the layer's role says."""
        builder, given = self.builder, self.given
        place = self._at(step, given.total_at, given.total_step, here)
        current = load_as(builder, given.total, place, self.shifts.type)
        current = builder.ashr(builder.shl(current, self.shifts), self.bits)
        current = builder.add(current, self.biases)
        place = self._at(step, given.stream_at, given.stream_step, here)
        if self.role in (ADDS, ENDS):
            current = builder.add(current, load(builder, given.stream, place, self.width))
        if self.role in (BEGINS, ADDS):
            store(builder, current, given.stream, place)
        return current

    def _write(self, step: Any, square: Any, active: Any, values: Any) -> Any:
        """Write the spikes of a step as bits, and as bytes if asked for; returns how many."""
        builder, given = self.builder, self.given
        rank, file = builder.lshr(square, I64(3)), builder.and_(square, I64(7))
        padded = builder.add(builder.mul(rank, I64(PADDED_FILES)), builder.add(file, I64(1)))
        here = builder.add(builder.mul(padded, given.channels), given.channel)
        with builder.if_then(builder.icmp_signed("!=", given.spikes_step, I64(0))):
            place = self._at(step, given.spikes_at, given.spikes_step, here)
            store(builder, values, given.spikes, place)
        mask = builder.bitcast(active, self.word)
        nth = builder.udiv(given.channel, I64(self.width))
        here = builder.add(builder.mul(square, given.words), nth)
        place = self._at(step, given.mask_at, given.mask_step, here)
        builder.store(mask, builder.gep(given.masks, [place]))
        return builder.zext(builder.ctpop(mask), I64)


def _updater(role: int) -> Any:
    """The intrinsic for layers of one role in the residual stream."""

    @intrinsic
    def update(  # type: ignore[no-untyped-def]
        typing, count, total, total_at, total_step, shift, bias, bits, stream, stream_at,
        stream_step, membrane, membrane_at, reads, writes, channels, c, neuron, spikes, spikes_at,
        spikes_step, masks, mask_at, mask_step, words, fired,
    ):  # fmt: skip
        n, i = types.intp, types.int32
        given = (n, total, n, n, shift, bias, i, stream, n, n, membrane, n, n, n, n, n, neuron)
        is_leaky = neuron.instance_class is Leaky

        def emit(builder: Any, *values: Any) -> None:
            _Block(role, is_leaky, builder, _Given(*values)).emit()

        return build(emit, *given, spikes, n, n, masks, n, n, n, fired)

    return update


_update_inside, _update_begins, _update_adds, _update_ends = (_updater(role) for role in range(4))


@part
def update_board(  # type: ignore[no-untyped-def]
    steps, total, total_at, total_step, shift, bias, bits, role, stream, membrane, channels,
    neuron, spikes, writes_bytes, masks, words, fired,
):  # fmt: skip
    """The neurons of one board from the sums of the layer before to spikes, ``steps.num`` steps.

    total[total_at:]: int16|int32, sums of the first step; those of the next ``total_step`` further
    shift, bias: int32[C]; bits: int32; role: INSIDE, BEGINS, ADDS or ENDS
    stream: int32[M, 64 * C or more], by step, read and written as ``role`` says
    membrane: int32[lanes, ...]; neuron: Leaky or ClippedRelu
    spikes: uint8[M, 8 * 10 * C or more], by step, where ``writes_bytes``
    masks: uint32|uint16[M, 64 * words or more], by step; fired: int64[1], spikes are added
    """
    stream_step, mask_step, width = stream.shape[1], masks.shape[1], masks.itemsize * 8
    spikes_step = spikes.shape[1] if writes_bytes else 0
    spikes_at, mask_at = steps.first * spikes.shape[1], steps.first * mask_step
    stream_at = steps.first * stream_step
    membrane_at = steps.lane * membrane.shape[1] + steps.at
    for m in range(steps.first, steps.first + steps.num):
        if writes_bytes:
            _clear_edges(spikes[m], channels)
        if channels < words * width:
            _clear_last(masks[m], words)
    for c in range(0, channels, width):
        given = (
            steps.num, total, total_at, total_step, shift, bias, bits, stream, stream_at,
            stream_step, membrane, membrane_at, steps.reads, steps.writes, channels, c, neuron,
            spikes, spikes_at, spikes_step, masks, mask_at, mask_step, words, fired,
        )  # fmt: skip
        if role == INSIDE:
            _update_inside(*given)
        elif role == BEGINS:
            _update_begins(*given)
        elif role == ADDS:
            _update_adds(*given)
        else:
            _update_ends(*given)


@inline
def _clear_last(masks, words):  # type: ignore[no-untyped-def]
    """No spikes in the last word of every square, which the channels do not reach."""
    for square in range(64):
        masks[square * words + words - 1] = 0


@part
def _clear_edges(spikes, channels):  # type: ignore[no-untyped-def]
    """Empty the files on either side of a board of bytes."""
    for rank in range(8):
        edge = rank * PADDED_FILES * channels
        for c in range(channels):
            spikes[edge + c] = 0
            spikes[edge + (PADDED_FILES - 1) * channels + c] = 0
