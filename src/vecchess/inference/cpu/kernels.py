"""Answers of the integer network on the CPU.

The definition is ``snn/integer/integer_net.py``; currents and membranes are int32 in units of 2^-F,
and the bounds that are proved for every network say that nothing overflows.

Boards pass through the layers a few at a time, a few time steps at once: a layer does all these
steps of a board, then the next board, then the next layer follows. So what the boards carry from
layer to layer and from step to step stays in the second-level cache. Boards that leave are dropped,
the others take further steps, until all have left; then the next boards come.

Parts take plain arrays and are compiled once, and what takes whole structures is pasted into its
caller: passing them takes seconds to compile.

Decision 246.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.planes import MOVE_WORDS
from vecchess.inference.cpu.dense import convolve_dense
from vecchess.inference.cpu.events import convolve_events, count_spikes, mask_planes, mask_words
from vecchess.inference.cpu.neurons import (
    INSIDE,
    ClippedRelu,
    Leaky,
    Steps,
    update_board,
)
from vecchess.inference.cpu.readout import (
    Heads,
    add_moves,
    add_outcome,
    add_policy,
    add_pooled,
    squeeze,
)
from vecchess.inference.exit_rule import NO_BEST, judge
from vecchess.jit import kernel, part, paste
from vecchess.llvm import LANES
from vecchess.snn.modules.rate_coding import rate_code
from vecchess.snn.presets import DIRECT

Sums = Any
"""dtype of weighted sums: np.int16 where it is proved to hold them, else np.int32."""


class Convolutions(NamedTuple):
    """Stem and hidden 3x3 layers, N of them; layer n's weights begin at ``offset[n]``.

    event, dense: int8[...]        the weights in the order of either kernel
    shift, bias: int32[N, max O]   what a sum is shifted to the left by, to be in units of 2^-F
    inputs, outputs, offset: int64[N]
    role: int64[N], in the residual stream, see ``neurons``
    bits: int32[N], inputs are in units of 2^-bits
    """

    event: NDArray[np.int8]
    dense: NDArray[np.int8]
    shift: NDArray[np.int32]
    bias: NDArray[np.int32]
    inputs: NDArray[np.int64]
    outputs: NDArray[np.int64]
    offset: NDArray[np.int64]
    role: NDArray[np.int64]
    bits: NDArray[np.int32]


class Network(NamedTuple):
    """The weights. readout: the neurons that policy and value head read, neuron: all others;
    is_plain: the heads read the mean over the board; rate: sixteenths of the time steps at which
    input planes spike; membrane_at: int64[N], column of the first membrane of each layer;
    time_steps: T."""

    convolutions: Convolutions
    neuron: Leaky | ClippedRelu
    readout: Leaky | ClippedRelu
    heads: Heads
    is_plain: bool
    rate: int
    membrane_at: NDArray[np.int64]
    time_steps: int


class Scratch(NamedTuple):
    """Memory of one thread for B boards in as many lanes and at most K steps at once; M = B * K
    rows, those of a board side by side; W is the widest layer, V the value's neurons.

    stem: int16|int32[B, 64 * O]    sums of the stem, units of the row
    sums: int16|int32[K, 64 * W]    of a convolution of one board, units of its rows
    stream: int32[M, 64 * W]        residual stream; sums of the value's neurons behind it
    spikes: uint8[M, 80 * W]        bytes
    masks: uint64[M, words]         halves: uint32[M, 2 * words], the same memory
    membrane: int32[B, ...]         of the lanes, written where further steps may follow
    value: int32[B, 64 * V]         membranes of the value's neurons
    value_spikes: uint8[K, 80 * V]  value_masks: uint16[K, 64 * V / 16]
    lanes, rows: int32[B]           lanes that go on, and the rows of their boards
    best: int32[B]                  wdl: int32[B, 3], both as of the step before, by lane
    settles: bool[1]                coded: uint64[P]
    pooled: int32[W]                outcome: int32[3]
    fired: int64[N or N + 1]        spikes by neuron layer since the start, the value's last
    """

    stem: NDArray[Any]
    sums: NDArray[Any]
    stream: NDArray[np.int32]
    spikes: NDArray[np.uint8]
    masks: NDArray[np.uint64]
    halves: NDArray[np.uint32]
    membrane: NDArray[np.int32]
    value: NDArray[np.int32]
    value_spikes: NDArray[np.uint8]
    value_masks: NDArray[np.uint16]
    lanes: NDArray[np.int32]
    rows: NDArray[np.int32]
    best: NDArray[np.int32]
    wdl: NDArray[np.int32]
    settles: NDArray[np.bool_]
    coded: NDArray[np.uint64]
    pooled: NDArray[np.int32]
    outcome: NDArray[np.int32]
    fired: NDArray[np.int64]


@kernel
def sum_layer(  # type: ignore[no-untyped-def]
    first, count, is_dense, spikes, masks, dense, event, offset, inputs, outputs, sums
):
    """A convolution of rows ``first`` .. of ``spikes`` or ``masks`` by either kernel, ``count`` of
    them, steps of a board, into rows 0 .. of ``sums``; arrays as in ``Scratch``."""
    size = 64 * mask_words(inputs)
    for m in range(count):
        if is_dense:
            convolve_dense(spikes[first + m], dense, offset, inputs, outputs, sums[m])
            continue
        now, old = masks[first + m], masks[first + max(m - 1, 0)]
        fired, changed = count_spikes(now, old, size)
        is_change = int(m > 0 and changed < fired)
        convolve_events(
            now, old, sums[max(m - 1, 0)], is_change, event, offset, inputs, outputs, sums[m]
        )


@part
def _sum_stem(planes, masks, event, offset, outputs, sums):  # type: ignore[no-untyped-def]
    """Sums of the stem of one board."""
    mask_planes(planes, masks)
    convolve_events(masks, masks, sums, 0, event, offset, planes.shape[0], outputs, sums)


@paste
def _take_in(rows, start, count, network, planes, s):  # type: ignore[no-untyped-def]
    """Seat the boards of ``rows`` from ``start`` on in lanes 0 .. count - 1."""
    layers = network.convolutions
    for i in range(count):
        s.lanes[i], s.rows[i], s.best[i] = i, rows[start + i], NO_BEST
        for outcome in range(3):
            s.wdl[i, outcome] = 0
        if network.rate == DIRECT:
            seen = planes[rows[start + i]][: layers.inputs[0]]
            _sum_stem(
                seen, s.masks[0], layers.event, layers.offset[0], layers.outputs[0], s.stem[i]
            )


@paste
def _sum_coded(planes, masks, time, steps, rate, layers, s):  # type: ignore[no-untyped-def]
    """Sums of the stem of one board whose planes spike anew at each step."""
    for step in range(steps):
        rate_code(planes, np.int64(time + step), rate, s.coded)
        _sum_stem(s.coded, masks, layers.event, layers.offset[0], layers.outputs[0], s.sums[step])


@paste
def _pass_layers(count, time, steps, is_dense, network, planes, s):  # type: ignore[no-untyped-def]
    """Take ``steps`` steps, the first at ``time``, with the boards of ``count`` lanes."""
    layers, most = network.convolutions, s.sums.shape[0]
    num_layers = layers.outputs.shape[0]
    reads, writes = int(time > 0), int(time + steps < network.time_steps)
    for n in range(num_layers):
        is_last = n == num_layers - 1
        channels, bits = layers.outputs[n], layers.bits[n]
        writes_bytes = is_last or is_dense[n + 1]
        words = 2 * mask_words(channels)
        for i in range(count):
            first, lane = i * most, np.int64(s.lanes[i])
            totals, at, between = s.sums, 0, s.sums.shape[1]
            if n > 0:
                sum_layer(
                    first, steps, is_dense[n], s.spikes, s.masks, layers.dense, layers.event,
                    layers.offset[n], layers.inputs[n], channels, s.sums,
                )  # fmt: skip
            elif network.rate != DIRECT:
                rate = network.rate
                _sum_coded(planes[s.rows[i]], s.masks[first], time, steps, rate, layers, s)
            else:  # a constant current
                totals, at, between = s.stem, lane * s.stem.shape[1], 0
            now = Steps(steps, first, lane, network.membrane_at[n], reads, writes)
            synapses = layers.shift[n], layers.bias[n], bits, layers.role[n]
            places = s.stream, s.membrane, channels
            spikes = s.spikes, writes_bytes, s.halves, words, s.fired[n:]
            if is_last:
                update_board(now, totals, at, between, *synapses, *places, network.readout, *spikes)
            else:
                update_board(now, totals, at, between, *synapses, *places, network.neuron, *spikes)


@paste
def _value_neurons(i, time, steps, network, s):  # type: ignore[no-untyped-def]
    """Spikes of the value's neurons of one board."""
    head, first = network.heads.squeeze, i * s.sums.shape[0]
    channels, values = network.convolutions.outputs[-1], head.shift.shape[0]
    for step in range(steps):
        squeeze(head.weight, channels, s.spikes[first + step], s.stream[first + step])
    reads, writes = int(time > 0), int(time + steps < network.time_steps)
    now = Steps(steps, 0, np.int64(s.lanes[i]), 0, reads, writes)
    update_board(
        now, s.stream, first * s.stream.shape[1], s.stream.shape[1], head.shift, head.bias,
        head.bits, INSIDE, s.stream, s.value, values, network.neuron, s.value_spikes, True,
        s.value_masks, values // LANES, s.fired[-1:],
    )  # fmt: skip


@paste
def _add_step(i, step, network, requests, s):  # type: ignore[no-untyped-def]
    """Add one step of one board to its answer."""
    heads, channels = network.heads, network.convolutions.outputs[-1]
    row, spikes = s.rows[i], s.spikes[i * s.sums.shape[0] + step]
    legal, num_legal = requests.legal[row], requests.num_legal[row]
    policy, wdl = requests.policy[row], requests.wdl[row]
    if heads.moves.shape[0] > 0:
        words = requests.planes[row]
        add_moves(heads.moves, words[words.shape[0] - MOVE_WORDS :], num_legal, policy)
    if network.is_plain:
        add_pooled(heads, legal, num_legal, channels, spikes, s.pooled, s.outcome, policy, wdl)
    else:
        add_policy(heads, legal, num_legal, channels, spikes, policy)
        values = heads.squeeze.shift.shape[0]
        add_outcome(heads, values, s.value_spikes[step], s.value_masks[step], s.outcome, wdl)
    requests.steps[row] += 1


@paste
def _leaves(i, rule, time_steps, requests, s):  # type: ignore[no-untyped-def]
    """Whether a board leaves after the step that was added last."""
    judge(
        s.lanes[i : i + 1], s.rows[i : i + 1], rule, time_steps, requests.policy,
        requests.num_legal, requests.wdl, requests.steps, s.best, s.wdl, s.settles,
    )  # fmt: skip
    return s.settles[0]


@paste
def _add_answers(count, time, steps, rule, network, requests, s):  # type: ignore[no-untyped-def]
    """Add the steps taken to the answers, up to the one at which a board leaves; returns how many
    boards go on, which take the first places of ``s.lanes``."""
    kept = 0
    for i in range(count):
        if not network.is_plain:
            _value_neurons(i, time, steps, network, s)
        has_left = False
        for step in range(steps):
            if not has_left:
                _add_step(i, step, network, requests, s)
                has_left = _leaves(i, rule, network.time_steps, requests, s)
        if not has_left:
            s.lanes[kept], s.rows[kept] = s.lanes[i], s.rows[i]
            kept += 1
    return kept


@kernel
def answer(rows, rule, earliest, is_dense, network, requests, scratch):  # type: ignore[no-untyped-def]
    """Write the answers of ``rows: int32[K]``, whose policy, wdl and steps are 0, by the exit rule
    (``ExitRule.as_integers``); returns the time steps that boards took, exits or not.

    earliest: steps that are taken at once, for hardly a board leaves before; is_dense: bool[N], the
    kernel of each layer. Work is proportional to the boards and, by events, to their spikes.
    """
    s, taken = scratch, 0
    boards, most = s.lanes.shape[0], s.sums.shape[0]
    for start in range(0, rows.shape[0], boards):
        count = min(boards, rows.shape[0] - start)
        _take_in(rows, start, count, network, requests.planes, s)
        time = 0
        while count > 0:
            steps = min(most, network.time_steps - time, max(1, earliest - time))
            _pass_layers(count, time, steps, is_dense, network, requests.planes, s)
            taken += count * steps
            count = _add_answers(count, time, steps, rule, network, requests, s)
            time += steps
    return taken
