"""One time step of the integer network on the CPU.

The definition is ``snn/integer/integer_net.py``; currents and membranes are int32 in units of 2^-F,
and the bounds that are proved for every network say that nothing overflows.

A *member* is a board at a time step. Members pass through the layers together, a group at a time,
so that weights are fetched once a group. Slots at whatever step they are make one kind of group;
all steps of a few boards, in order, another: the neurons of a layer see the steps one after the
other, and the whole layer is done before the next begins.

Parts take plain arrays and are compiled once; passing whole structures takes seconds to compile.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.cpu.dense import convolve_dense
from vecchess.inference.cpu.events import convolve_by_events, mask_planes
from vecchess.inference.cpu.neurons import ClippedRelu, Leaky, update_board
from vecchess.inference.cpu.readout import Heads, add_outcome, add_policy, add_pooled, squeeze
from vecchess.jit import kernel, part
from vecchess.snn.modules.rate_coding import rate_code
from vecchess.snn.presets import DIRECT

Sums = Any
"""dtype of weighted sums: np.int16 where it is proved to hold them, else np.int32."""


class Convolutions(NamedTuple):
    """Stem and hidden 3x3 layers, N of them; layer n's weights begin at ``offset[n]``.

    event, dense: int8[...]        the weights in the order of either kernel
    scale, bias: int32[N, max O]   units 2^-F
    inputs, outputs, offset: int64[N];  adds: bool[N], to the residual stream
    bits: int32[N], inputs are in units of 2^-bits
    """

    event: NDArray[np.int8]
    dense: NDArray[np.int8]
    scale: NDArray[np.int32]
    bias: NDArray[np.int32]
    inputs: NDArray[np.int64]
    outputs: NDArray[np.int64]
    offset: NDArray[np.int64]
    adds: NDArray[np.bool_]
    bits: NDArray[np.int32]


class Network(NamedTuple):
    """The weights. readout: the neurons that policy and value head read, neuron: all others;
    is_plain: the heads read the mean over the board; rate: sixteenths of the time steps at which
    input planes spike."""

    convolutions: Convolutions
    neuron: Leaky | ClippedRelu
    readout: Leaky | ClippedRelu
    heads: Heads
    is_plain: bool
    rate: int


class State(NamedTuple):
    """Neurons of the slots. stem: int16|int32[S, 64 * O], sums of the stem, units of the row;
    value: int32[S, 64 * V]; membrane: int32[S, ...], layer n's begin at ``membrane_at[n]``, if it
    has any."""

    stem: NDArray[Any]
    membrane: NDArray[np.int32]
    membrane_at: NDArray[np.int64]
    value: NDArray[np.int32]


class Scratch(NamedTuple):
    """Work space of one thread for a group of M members; W is the widest layer.

    sums: int16|int32[M, 64 * W]    of a convolution, units of its rows
    stream: int32[M, 64 * W]        residual stream; sums of the value's neurons behind it
    spikes: uint8[M, 80 * W]        masks: uint32[M, 2 * W]
    rows: int32[M, 64 * W + 1]      starts: int32[M, 65]
    own: int32[M], 0, 1, 2 ...      silent: int32[64 * W], membranes at rest
    coded: uint64[P]                pooled: int32[W]          outcome: int32[3]
    fired: int64[N or N + 1]        spikes by neuron layer since the start, the value's last
    """

    sums: NDArray[Any]
    stream: NDArray[np.int32]
    spikes: NDArray[np.uint8]
    masks: NDArray[np.uint32]
    rows: NDArray[np.int32]
    starts: NDArray[np.int32]
    own: NDArray[np.int32]
    silent: NDArray[np.int32]
    coded: NDArray[np.uint64]
    pooled: NDArray[np.int32]
    outcome: NDArray[np.int32]
    fired: NDArray[np.int64]


@kernel
def sum_layer(  # type: ignore[no-untyped-def]
    count, is_dense, spikes, masks, dense, event, offset, inputs, outputs, rows, starts, sums
):
    """A convolution of ``count`` boards by either kernel; arrays as in ``Scratch``."""
    if is_dense:
        for m in range(count):
            convolve_dense(spikes[m], dense, offset, inputs, outputs, sums[m])
    else:
        convolve_by_events(masks, count, event, offset, inputs, outputs, rows, starts, sums)


@part
def _sum_stem(slots, rows, times, rate, planes_of, state, layers, s):  # type: ignore[no-untyped-def]
    """Sums of the stem: for slots at step 0, and for all where planes spike anew at each step."""
    size = 64 * layers.outputs[0]
    for m in range(slots.shape[0]):
        planes, out = planes_of[rows[m]], state.stem[slots[m]]
        if rate != DIRECT:
            rate_code(planes, np.int64(times[m]), rate, s.coded)
            planes = s.coded
        elif times[m] != 0:
            continue
        mask_planes(planes, s.masks[m])
        sum_layer(
            1, False, s.spikes, s.masks[m : m + 1], layers.dense, layers.event, layers.offset[0],
            layers.inputs[0], layers.outputs[0], s.rows[m : m + 1], s.starts[m : m + 1],
            s.sums[m : m + 1],
        )  # fmt: skip
        if rate == DIRECT:
            for i in range(size):
                out[i] = s.sums[m, i]


@part
def _update(  # type: ignore[no-untyped-def]
    slots, times, totals, which, scale, bias, bits, begins, adds, stream, membrane, at, next_at,
    silent, channels, neuron, spikes, masks, fired,
):  # fmt: skip
    """The neurons behind a convolution, of a group: member m's sums are ``totals[which[m]]``.

    A slot at time 0 starts from rest, and x0 begins the residual stream. While one member's
    membranes are read, those of the next member are prefetched; after the last member those of the
    first in the next layer, at ``next_at``.
    """
    count = slots.shape[0]
    for m in range(count):
        after = membrane[slots[m]]
        before, old = after, at
        if times[m] == 0:
            before, old = silent, 0
        following, place = (slots[m + 1], at) if m + 1 < count else (slots[0], next_at)
        ahead = (np.int64(following) - slots[m]) * membrane.shape[1] + place - at
        base = silent if begins else stream[m]
        update_board(
            totals[which[m]], scale, bias, bits, begins or adds, base, stream[m], before, old,
            after, at, ahead, channels, neuron, spikes[m], masks[m].view(np.uint16), fired,
        )  # fmt: skip


@part
def _add_answers(slots, rows, times, network, value, requests, s, fired):  # type: ignore[no-untyped-def]
    """Add one step of the heads; the value's neurons overwrite the spikes of the last layer."""
    heads, channels = network.heads, network.convolutions.outputs[-1]
    values = heads.squeeze.scale.shape[0]
    for m in range(slots.shape[0]):
        row, spikes, masks = rows[m], s.spikes[m], s.masks[m]
        legal, count, policy = requests.legal[row], requests.num_legal[row], requests.policy[row]
        wdl, after = requests.wdl[row], value[slots[m]]
        if network.is_plain:
            add_pooled(heads, legal, count, channels, spikes, s.pooled, s.outcome, policy, wdl)
            continue
        add_policy(heads, legal, count, channels, spikes, policy)
        squeeze(heads.squeeze.weight, channels, spikes, s.stream[m])
        update_board(
            s.stream[m], heads.squeeze.scale, heads.squeeze.bias, heads.squeeze.bits, False,
            s.silent, s.silent, s.silent if times[m] == 0 else after, 0, after, 0, 0, values,
            network.neuron, spikes, masks.view(np.uint16), fired,
        )  # fmt: skip
        add_outcome(heads, values, spikes, masks.view(np.uint16), s.outcome, wdl)


@kernel
def step(  # type: ignore[no-untyped-def]
    slots, rows, times, group, is_dense, network, state, requests, scratch
):
    """Advance members (slots[i]: int32, at time step times[i]: 0 first) by one step each.

    group: members that go through the layers together, at most M; is_dense: bool[N], the kernel of
    each layer. Work is proportional to the members and, by events, to their spikes.
    """
    layers, s = network.convolutions, scratch
    num_layers = layers.outputs.shape[0]
    for start in range(0, slots.shape[0], group):
        end = start + group
        now, row, at = slots[start:end], rows[start:end], times[start:end]
        _sum_stem(now, row, at, network.rate, requests.planes, state, layers, s)
        # a rate-coded slot has other sums at every step: they stay with the member
        totals, which = (state.stem, now) if network.rate == DIRECT else (s.sums, s.own)
        for n in range(num_layers):
            at_n, at_next = state.membrane_at[n], state.membrane_at[min(n + 1, num_layers - 1)]
            if n > 0:
                totals, which = s.sums, s.own
                sum_layer(
                    now.shape[0], is_dense[n], s.spikes, s.masks, layers.dense, layers.event,
                    layers.offset[n], layers.inputs[n], layers.outputs[n], s.rows, s.starts, s.sums,
                )  # fmt: skip
            synapses = layers.scale[n], layers.bias[n], layers.bits[n], n == 0, layers.adds[n]
            neurons = s.stream, state.membrane, at_n, at_next, s.silent, layers.outputs[n]
            written = s.spikes, s.masks, s.fired[n:]
            if n == num_layers - 1:
                _update(now, at, totals, which, *synapses, *neurons, network.readout, *written)
            else:
                _update(now, at, totals, which, *synapses, *neurons, network.neuron, *written)
        _add_answers(now, row, at, network, state.value, requests, s, s.fired[num_layers:])
