"""Packs a stored network for the kernels of the processor, and allocates their memory."""

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.cpu.dense import dense_weights
from vecchess.inference.cpu.events import event_weights, mask_words
from vecchess.inference.cpu.kernels import Convolutions, Network, Scratch, Sums
from vecchess.inference.cpu.neurons import (
    ADDS,
    BEGINS,
    ENDS,
    INSIDE,
    PADDED_FILES,
    ClippedRelu,
    Leaky,
)
from vecchess.inference.cpu.readout import Head, Heads
from vecchess.llvm import LANES
from vecchess.shapes import NUM_OUTCOMES, NUM_SQUARES
from vecchess.snn.integer.integer_net import IntegerNet, Layer, move_currents, with_value_channels
from vecchess.snn.presets import ACTIVATION_BITS, NetConfig
from vecchess.snn.topology import (
    HiddenLayer,
    hidden_layers,
    input_bits,
    membrane_layers,
    neuron_layers,
    reads_activations,
    stem_channels,
    stem_planes,
)

GROUP_NEURONS = 128 * 1024
"""Neurons of a layer, of all boards and time steps that pass the layers together: what they work on
fits the second-level cache, and the weights that are fetched for them are used often."""
MOST_STEPS = 4
"""Time steps that a board takes at once at most."""
PADDED_SQUARES = 8 * PADDED_FILES


def group_size(config: NetConfig) -> int:
    """Boards that go through the layers together."""
    steps = min(config.time_steps, MOST_STEPS)
    return max(1, GROUP_NEURONS // (NUM_SQUARES * widest(config) * steps))


def widest(config: NetConfig) -> int:
    """Channels of the widest layer."""
    values = _whole_lanes(config.value_channels)
    return max(config.channels, stem_channels(config), values, *config.widths)


def cpu_network(net: IntegerNet, sums: Sums) -> Network:
    """Weights, shifts and neurons of ``net``; ``sums``: dtype of weighted sums."""
    config = net.config
    return Network(
        convolutions=_convolutions(net, sums),
        neuron=_neurons(config, "value.outcome"),
        readout=_neurons(config, "heads"),
        heads=_heads(net),
        is_plain=config.kind == "plain",
        rate=config.input_rate,
        membrane_at=np.cumsum([0, *_membranes(config)[:-1]]),
        time_steps=config.time_steps,
    )


def _neurons(config: NetConfig, reader: str) -> Leaky | ClippedRelu:
    """The neurons in front of layer ``reader``."""
    if reads_activations(config, reader):
        return ClippedRelu(np.int32(config.grid_bits - ACTIVATION_BITS))
    return Leaky(np.int32(1 << config.grid_bits))


def _convolutions(net: IntegerNet, sums: Sums) -> Convolutions:
    config = net.config
    stem = HiddenLayer("stem", stem_planes(config), stem_channels(config), adds=False)
    layers = [stem, *hidden_layers(config)]
    stored = [net.layers[layer.name] for layer in layers]
    unused = np.zeros(stored[0].weight.size, np.int8)  # the stem is always done by events
    width, sum_bytes = widest(config), np.dtype(sums).itemsize
    return Convolutions(
        event=np.concatenate([event_weights(layer.weight, sum_bytes) for layer in stored]),
        dense=np.concatenate([unused, *(dense_weights(layer.weight) for layer in stored[1:])]),
        shift=np.stack([_padded(layer.left_shift(config), width) for layer in stored]),
        bias=np.stack(
            [_padded(layer.grid_bias(config), width) for layer in stored], dtype=np.int32
        ),
        inputs=np.array([layer.inputs for layer in layers]),
        outputs=np.array([layer.outputs for layer in layers]),
        offset=np.cumsum([0, *(layer.weight.size for layer in stored[:-1])]),
        role=np.array(_roles(layers)),
        bits=np.array([input_bits(config, layer.name) for layer in layers], np.int32),
    )


def _roles(layers: list[HiddenLayer]) -> list[int]:
    """The role of each layer in the residual stream, if there is one."""
    adding = [n for n, layer in enumerate(layers) if layer.adds]
    roles = [ADDS if layer.adds else INSIDE for layer in layers]
    if adding:
        roles[0], roles[adding[-1]] = BEGINS, ENDS
    return roles


def _heads(net: IntegerNet) -> Heads:
    config = net.config
    policy, outcome = net.layers["policy"], net.layers["value.outcome"]
    squeeze = net.layers.get("value.squeeze")
    if squeeze is None:
        squeeze = Layer(np.zeros((0, 0), np.int8), np.zeros(0, np.uint8), np.zeros(0, np.int32))
    else:
        values = _whole_lanes(config.value_channels)
        squeeze, outcome = with_value_channels(squeeze, outcome, values)
    return Heads(
        policy=_head(config, "policy", policy, policy.weight),
        squeeze=_head(config, "value.squeeze", squeeze, dense_weights(squeeze.weight, LANES)),
        outcome=_head(config, "value.outcome", outcome, outcome.weight.T),
        moves=move_currents(net).astype(np.int32),
    )


def _whole_lanes(count: int) -> int:
    return -(-count // LANES) * LANES


def _head(config: NetConfig, name: str, layer: Layer, weight: NDArray[np.int8]) -> Head:
    bits = np.int32(input_bits(config, name))
    shift, bias = layer.left_shift(config), layer.grid_bias(config).astype(np.int32)
    return Head(np.ascontiguousarray(weight), shift, bias, bits)


def _padded(values: NDArray[np.integer], width: int) -> NDArray[np.integer]:
    return np.pad(values, (0, width - len(values)))


def _membranes(config: NetConfig) -> list[int]:
    """Membranes of the neuron layers of the tower, in forward order; 0 where there are none."""
    kept = membrane_layers(config)
    return [kept.get(name, 0) for name in neuron_layers(config) if name != "value.outcome"]


def new_scratch(config: NetConfig, boards: int, sums: Sums) -> Scratch:
    """Memory of one thread for so many boards at a time; ``sums``: dtype of weighted sums."""
    width, steps = widest(config), min(config.time_steps, MOST_STEPS)
    board, rows = NUM_SQUARES * width, boards * steps
    words = NUM_SQUARES * mask_words(max(width, stem_planes(config)))
    masks = np.zeros((rows, words), np.uint64)
    values = _whole_lanes(config.value_channels)
    return Scratch(
        stem=np.zeros((boards, NUM_SQUARES * stem_channels(config)), sums),
        sums=np.zeros((steps, board), sums),
        stream=np.zeros((rows, board), np.int32),
        spikes=np.zeros((rows, PADDED_SQUARES * width), np.uint8),
        masks=masks,
        halves=masks.view(np.uint32),
        membrane=np.zeros((boards, sum(_membranes(config))), np.int32),
        value=np.zeros((boards, NUM_SQUARES * values), np.int32),
        value_spikes=np.zeros((steps, PADDED_SQUARES * values), np.uint8),
        value_masks=np.zeros((steps, NUM_SQUARES * values // LANES), np.uint16),
        lanes=np.zeros(boards, np.int32),
        rows=np.zeros(boards, np.int32),
        best=np.zeros(boards, np.int32),
        wdl=np.zeros((boards, NUM_OUTCOMES), np.int32),
        settles=np.zeros(1, np.bool_),
        coded=np.zeros(stem_planes(config), np.uint64),
        pooled=np.zeros(width, np.int32),
        outcome=np.zeros(NUM_OUTCOMES, np.int32),
        fired=np.zeros(len(neuron_layers(config)), np.int64),
    )
