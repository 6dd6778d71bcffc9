"""The layers of a network in forward order, their connections and sizes.

    x[0] = stem(planes)                            two buffers of currents, x[0] and x[1]
    hidden layer l:  x[1 - l % 2] (+)= conv3x3(fire(x[l % 2]))      + where the layer ``adds``
    heads read fire(x[number of hidden layers % 2])
    policy of a move + moves(its inputs)           where the network reads inputs of moves

In a residual network every second hidden layer adds, so x[0] is the stream and x[1] the inside of
a block; in a plain one none does. Neurons spike, or are clipped ReLUs without a membrane: all of
the ReLU twin, and those in front of the heads where the readout is graded.
"""

from typing import NamedTuple

from vecchess.chess.move_inputs import NUM_MOVE_INPUTS
from vecchess.chess.planes import board_planes, reads_moves
from vecchess.shapes import NUM_ACTIONS, NUM_MOVE_PLANES, NUM_OUTCOMES, NUM_SQUARES
from vecchess.snn.presets import ACTIVATION_BITS, ACTIVATION_LIMIT, NetConfig

NUM_TAPS = 9
MOVES = "moves"
"""The layer of the inputs of moves: one output, for a move, of a one for each of its numbers."""
POOL_BITS = 6
"""A mean over the board divides a sum over 64 squares by 2^6."""


class HiddenLayer(NamedTuple):
    """A hidden 3x3 convolution: its name, I and O channels, and whether it adds to its target."""

    name: str
    inputs: int
    outputs: int
    adds: bool


def layer_key(name: str) -> str:
    """The name of a layer without dots: torch's modules, and tools that read NIR, want none."""
    return name.replace(".", "_")


def stem_channels(config: NetConfig) -> int:
    """O of the stem."""
    return config.widths[0] if config.kind == "plain" else config.channels


def stem_planes(config: NetConfig) -> int:
    """Planes that the stem reads."""
    return board_planes(config.num_planes)


def hidden_layers(config: NetConfig) -> list[HiddenLayer]:
    """The 3x3 convolutions behind the stem, in forward order: each reads the sum before it, and one
    that ``adds`` adds to the sum before that."""
    if config.kind == "plain":
        sizes = zip(config.widths[:-1], config.widths[1:], strict=True)
        return [HiddenLayer(f"conv{i}", *pair, adds=False) for i, pair in enumerate(sizes, start=1)]
    size = (config.channels, config.channels)
    halves = (("first", False), ("second", True))
    return [
        HiddenLayer(f"block{block}.{half}", *size, adds=adds)
        for block in range(config.blocks)
        for half, adds in halves
    ]


def neuron_layers(config: NetConfig) -> dict[str, int]:
    """Layers of neurons, named by the layer that reads them -> neurons of one board."""
    layers = {layer.name: NUM_SQUARES * layer.inputs for layer in hidden_layers(config)}
    layers["heads"] = NUM_SQUARES * config.channels
    if config.kind == "residual":
        layers["value.outcome"] = NUM_SQUARES * config.value_channels
    return layers


def reads_activations(config: NetConfig, name: str) -> bool:
    """True where the neurons in front of layer ``name`` (or of "heads") are clipped ReLUs."""
    if config.neuron == "relu":
        return name != "stem"
    return config.readout == "graded" and name in ("heads", "policy", "value.squeeze")


def membrane_layers(config: NetConfig) -> dict[str, int]:
    """Layers of ``neuron_layers`` that have membranes, and their sizes."""
    layers = neuron_layers(config).items()
    return {name: size for name, size in layers if not reads_activations(config, name)}


def layer_shapes(config: NetConfig) -> dict[str, tuple[int, int]]:
    """Name of every layer with weights, in forward order -> (O, K)."""
    shapes = {"stem": (stem_channels(config), NUM_TAPS * stem_planes(config))}
    for layer in hidden_layers(config):
        shapes[layer.name] = (layer.outputs, NUM_TAPS * layer.inputs)
    if config.kind == "plain":
        shapes["policy"] = (NUM_ACTIONS, config.channels)
        shapes["value.outcome"] = (NUM_OUTCOMES, config.channels)
    else:
        shapes["policy"] = (NUM_MOVE_PLANES, config.channels)
        shapes["value.squeeze"] = (config.value_channels, config.channels)
        shapes["value.outcome"] = (NUM_OUTCOMES, NUM_SQUARES * config.value_channels)
    if reads_moves(config.num_planes):
        shapes[MOVES] = (1, NUM_MOVE_INPUTS)
    return shapes


def input_bits(config: NetConfig, name: str) -> int:
    """The inputs of layer ``name`` are integers in units of 2^-this: 0 for planes and spikes."""
    if reads_activations(config, name):
        return ACTIVATION_BITS
    return POOL_BITS if _is_pooled(config, name) else 0


def input_limit(config: NetConfig, name: str) -> int:
    """The largest input of layer ``name``, in units of 2^-input_bits."""
    if reads_activations(config, name):
        return ACTIVATION_LIMIT
    return NUM_SQUARES if _is_pooled(config, name) else 1


def _is_pooled(config: NetConfig, name: str) -> bool:
    return config.kind == "plain" and name in ("policy", "value.outcome")
