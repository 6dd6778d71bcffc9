"""Packs a stored network for the kernels of the processor, and allocates their memory."""

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.cpu.dense import dense_weights
from vecchess.inference.cpu.events import event_weights
from vecchess.inference.cpu.kernels import Convolutions, Network, Scratch, State, Sums
from vecchess.inference.cpu.neurons import PADDED_FILES, ClippedRelu, Leaky
from vecchess.inference.cpu.readout import Head, Heads
from vecchess.llvm import LANES
from vecchess.shapes import NUM_OUTCOMES, NUM_SQUARES
from vecchess.snn.integer.integer_net import IntegerNet, Layer
from vecchess.snn.presets import ACTIVATION_BITS, NetConfig
from vecchess.snn.topology import (
    NUM_TAPS,
    HiddenLayer,
    hidden_layers,
    input_bits,
    membrane_layers,
    neuron_layers,
    reads_activations,
    stem_channels,
)

GROUP_NEURONS = 64 * 1024
"""Neurons of a layer in a group of members: what the group works on fits the second-level cache,
and the weights that are fetched for it are used often."""
PADDED_SQUARES = 8 * PADDED_FILES


def group_size(config: NetConfig) -> int:
    """Members that go through the layers together."""
    return max(1, GROUP_NEURONS // (NUM_SQUARES * widest(config)))


def widest(config: NetConfig) -> int:
    """Channels of the widest layer."""
    values = _whole_lanes(config.value_channels)
    return max(config.channels, stem_channels(config), values, *config.widths)


def cpu_network(net: IntegerNet) -> Network:
    """Weights, scales and neurons of ``net``."""
    config = net.config
    return Network(
        convolutions=_convolutions(net),
        neuron=_neurons(config, "value.outcome"),
        readout=_neurons(config, "heads"),
        heads=_heads(net),
        is_plain=config.kind == "plain",
        rate=config.input_rate,
    )


def _neurons(config: NetConfig, reader: str) -> Leaky | ClippedRelu:
    """The neurons in front of layer ``reader``."""
    if reads_activations(config, reader):
        return ClippedRelu(np.int32(config.grid_bits - ACTIVATION_BITS))
    return Leaky(np.int32(1 << config.grid_bits))


def _convolutions(net: IntegerNet) -> Convolutions:
    config = net.config
    stem = HiddenLayer("stem", _listed_planes(config), stem_channels(config), adds=False)
    layers = [stem, *hidden_layers(config)]
    stored = [_with_whole_words(config, net.layers["stem"])]
    stored += [net.layers[layer.name] for layer in layers[1:]]
    unused = np.zeros(stored[0].weight.size, np.int8)  # the stem is always done by events
    width = widest(config)
    return Convolutions(
        event=np.concatenate([event_weights(layer.weight) for layer in stored]),
        dense=np.concatenate([unused, *(dense_weights(layer.weight) for layer in stored[1:])]),
        scale=np.stack([_padded(_scale(config, layer), width) for layer in stored]),
        bias=np.stack([_padded(_bias(config, layer), width) for layer in stored]),
        inputs=np.array([layer.inputs for layer in layers]),
        outputs=np.array([layer.outputs for layer in layers]),
        offset=np.cumsum([0, *(layer.weight.size for layer in stored[:-1])]),
        adds=np.array([layer.adds for layer in layers]),
        bits=np.array([input_bits(config, layer.name) for layer in layers], np.int32),
    )


def _listed_planes(config: NetConfig) -> int:
    """Input planes filled up with silent ones to whole words of masks."""
    return -(-config.num_planes // 32) * 32


def _with_whole_words(config: NetConfig, stem: Layer) -> Layer:
    missing = _listed_planes(config) - config.num_planes
    taps = stem.weight.reshape(len(stem.weight), NUM_TAPS, config.num_planes)
    filled = np.pad(taps, ((0, 0), (0, 0), (0, missing))).reshape(len(stem.weight), -1)
    return Layer(filled, stem.shift, stem.bias)


def _heads(net: IntegerNet) -> Heads:
    config = net.config
    policy, outcome = net.layers["policy"], net.layers["value.outcome"]
    squeeze = net.layers.get("value.squeeze")
    if squeeze is None:
        squeeze = Layer(np.zeros((0, 0), np.int8), np.zeros(0, np.uint8), np.zeros(0, np.int32))
    else:
        squeeze, outcome = _with_whole_lanes(squeeze, outcome)
    return Heads(
        policy=_head(config, "policy", policy, policy.weight),
        squeeze=_head(config, "value.squeeze", squeeze, dense_weights(squeeze.weight, LANES)),
        outcome=_head(config, "value.outcome", outcome, outcome.weight.T),
    )


def _with_whole_lanes(squeeze: Layer, outcome: Layer) -> tuple[Layer, Layer]:
    """The value's neurons filled up with silent ones to a multiple of LANES."""
    values = len(squeeze.weight)
    missing = _whole_lanes(values) - values
    boards = outcome.weight.reshape(NUM_OUTCOMES, NUM_SQUARES, values)
    filled = np.pad(boards, ((0, 0), (0, 0), (0, missing))).reshape(NUM_OUTCOMES, -1)
    return (
        Layer(
            np.pad(squeeze.weight, ((0, missing), (0, 0))),
            np.pad(squeeze.shift, (0, missing)),
            np.pad(squeeze.bias, (0, missing)),
        ),
        Layer(filled, outcome.shift, outcome.bias),
    )


def _whole_lanes(count: int) -> int:
    return -(-count // LANES) * LANES


def _head(config: NetConfig, name: str, layer: Layer, weight: NDArray[np.int8]) -> Head:
    bits = np.int32(input_bits(config, name))
    return Head(np.ascontiguousarray(weight), _scale(config, layer), _bias(config, layer), bits)


def _scale(config: NetConfig, layer: Layer) -> NDArray[np.int32]:
    """int32[O]: what a sum in units of 2^-shift is multiplied by to be in units of 2^-F."""
    return np.left_shift(1, config.grid_bits - layer.shift.astype(np.int32)).astype(np.int32)


def _bias(config: NetConfig, layer: Layer) -> NDArray[np.int32]:
    return (layer.bias << (config.grid_bits - config.weight_bits)).astype(np.int32)


def _padded(values: NDArray[np.int32], width: int) -> NDArray[np.int32]:
    return np.pad(values, (0, width - len(values)))


def new_state(config: NetConfig, num_slots: int, sums: Sums, keep_layers: bool = True) -> State:
    """Empty slots. Without ``keep_layers`` the neuron layers share one place, for groups that hold
    all steps of their boards, and so finish a layer before the next begins."""
    tower = {name: size for name, size in neuron_layers(config).items() if name != "value.outcome"}
    kept = membrane_layers(config)
    sizes = [kept.get(name, 0) for name in tower]
    starts = np.cumsum([0, *sizes[:-1]]) if keep_layers else np.zeros(len(tower), np.int64)
    membranes = sum(sizes) if keep_layers else max(sizes)
    stem = 0 if config.is_rate_coded else NUM_SQUARES * stem_channels(config)
    value = NUM_SQUARES * _whole_lanes(config.value_channels) if config.kind == "residual" else 0
    return State(
        stem=np.zeros((num_slots, stem), sums),
        membrane=np.zeros((num_slots, membranes), np.int32),
        membrane_at=starts,
        value=np.zeros((num_slots, value), np.int32),
    )


def new_scratch(config: NetConfig, members: int, sums: Sums) -> Scratch:
    """Memory of one thread for groups of so many members; ``sums``: dtype of weighted sums."""
    width = widest(config)
    board = NUM_SQUARES * width
    listed = NUM_SQUARES * max(width, _listed_planes(config)) + 1
    words = NUM_SQUARES * max(width, _listed_planes(config)) // 32
    return Scratch(
        sums=np.zeros((members, board), sums),
        stream=np.zeros((members, board), np.int32),
        spikes=np.zeros((members, PADDED_SQUARES * width), np.uint8),
        masks=np.zeros((members, words), np.uint32),
        rows=np.zeros((members, listed), np.int32),
        starts=np.zeros((members, NUM_SQUARES + 1), np.int32),
        own=np.arange(members, dtype=np.int32),
        silent=np.zeros(board, np.int32),
        coded=np.zeros(config.num_planes, np.uint64),
        pooled=np.zeros(width, np.int32),
        outcome=np.zeros(NUM_OUTCOMES, np.int32),
        fired=np.zeros(len(neuron_layers(config)), np.int64),
    )
