"""A network as a graph of NIR: every value the same bits where the graph is run exactly.

    planes            Input [P, 8, 8]: at each time step the input planes, 0 or 1, square a1 first
    stem, block0_first, ...   Conv2d: weights int8 * 2^-k, biases; both exact in float32
    block0_first_neurons, ... NIRGraph: the neurons whose output the layer reads (``nir_neurons``)
    policy_sum, value_sum     I: accumulators over the time steps so far
    output_policy [4672], output_value [3]
                              Output: accumulators, by action code and win, draw, loss

A step takes ``DT`` seconds and the leaks are forward Euler; all edges but those out of a Delay act
within the step. A logit is an accumulator / t * scale * 2^F. The description of the network is the
graph's metadata, as in a network file, so that ``nir_network`` gives the same file.

Decisions 261 and 262.
"""

import json
from typing import Any, Literal

import nir
import numpy as np
from numpy.typing import NDArray

from vecchess.export.nir_neurons import (
    DT,
    NodeGraph,
    Shape,
    activation_graph,
    floor_graph,
    lif_graph,
    lif_node,
)
from vecchess.shapes import NUM_OUTCOMES, NUM_SQUARES
from vecchess.snn.integer.bounds import BoundsReport, check_bounds
from vecchess.snn.integer.integer_net import IntegerNet, describe
from vecchess.snn.presets import NetConfig
from vecchess.snn.topology import hidden_layers, input_bits, layer_shapes, reads_activations

Neurons = Literal["exact", "lif"]
"""Layers of neurons as graphs with our reset, or as NIR's LIF nodes, which reset to 0."""
BOARD = (8, 8)
DESCRIPTION = "vecchess"
SHIFT = "shift"
"""Keys of metadata: of the graph, and of a node with weights."""


def to_nir(net: IntegerNet, neurons: Neurons = "exact") -> nir.NIRGraph:
    """``net`` as a graph. Raises NetworkError for a network that is not exact."""
    report = check_bounds(net)
    report.require_exact()
    facts = describe(net) | {"neurons": neurons, "dt": DT}
    if net.calibration is not None:
        facts["calibration"] = net.calibration
    tower = _NirTower(net, neurons, report)
    tower.run()
    return tower.done(**{DESCRIPTION: json.dumps(facts, sort_keys=True)})


class _NirTower(NodeGraph):
    """Adds the nodes of a network in forward order."""

    def __init__(self, net: IntegerNet, neurons: Neurons, report: BoundsReport) -> None:
        super().__init__()
        self._net, self._config, self._neurons, self._report = net, net.config, neurons, report

    def run(self) -> None:
        """All nodes, down to the outputs."""
        config = self._config
        self.add("planes", nir.Input(np.array([config.num_planes, *BOARD])))
        stem = [self._convolution("stem", "planes")]
        hidden = hidden_layers(config)
        buffers = [stem, stem]
        for index, layer in enumerate(hidden):
            source, target = index % 2, 1 - index % 2
            fired = self._fired(layer.name, (layer.inputs, *BOARD), buffers[source])
            current = [self._convolution(layer.name, fired)]
            buffers[target] = buffers[target] + current if layer.adds else current
        fired = self._fired("heads", (config.channels, *BOARD), buffers[len(hidden) % 2])
        if config.kind == "plain":
            self._pooled_heads(fired)
        else:
            self._heads(fired)

    def _heads(self, fired: str) -> None:
        """Heads that read squares."""
        self._accumulate("policy", self._flat("policy", self._convolution("policy", fired)))
        squeezed = self._convolution("value.squeeze", fired)
        channels = self._config.value_channels
        fired = self._fired("value.outcome", (channels, *BOARD), [squeezed])
        weight, bias = layer_floats(self._net, "value.outcome")
        by_channel = weight.reshape(NUM_OUTCOMES, NUM_SQUARES, channels).swapaxes(1, 2)
        weight = by_channel.reshape(NUM_OUTCOMES, -1)
        current = self._linear("value.outcome", weight, bias, self._flat("value", fired))
        self._accumulate("value", current)

    def _pooled_heads(self, fired: str) -> None:
        """Heads that read the mean over the board."""
        size = np.array(BOARD)
        pooled = self.add("pooled", nir.AvgPool2d(size, size, np.zeros_like(size)), fired)
        mean = self._flat("pooled", pooled)
        for name, output in (("policy", "policy"), ("value.outcome", "value")):
            current = self._linear(name, *layer_floats(self._net, name), mean)
            self._accumulate(output, current)

    def _linear(
        self, name: str, weight: NDArray[np.float32], bias: NDArray[np.float32], source: str
    ) -> str:
        """The currents of a layer that reads all its inputs."""
        node = nir.Affine(weight, bias, metadata=self._shift(name))
        return self._rounded(name, self.add(node_name(name), node, source), bias.shape)

    def _convolution(self, name: str, source: str) -> str:
        """The currents of a layer over squares: 3x3, or 1x1 in the heads."""
        weight, bias = layer_floats(self._net, name)
        kernel = convolution_kernel(weight, 1 if name in ("policy", "value.squeeze") else 3)
        pad = (kernel.shape[2] - 1) // 2
        node = nir.Conv2d(BOARD, kernel, 1, pad, 1, 1, bias, metadata=self._shift(name))
        current = self.add(node_name(name), node, source)
        return self._rounded(name, current, (len(bias), *BOARD))

    def _fired(self, name: str, shape: Shape, sources: list[str]) -> str:
        """What layer ``name`` reads: the output of neurons with the currents ``sources``."""
        node: nir.NIRNode
        if reads_activations(self._config, name):
            node = activation_graph(shape)
        elif self._neurons == "lif":
            node = lif_node(shape)
        else:
            node = lif_graph(shape, self._leak_floor(name))
        return self.add(f"{node_name(name)}_neurons", node, *sources)

    def _leak_floor(self, name: str) -> tuple[int, int] | None:
        """Where the leak of the neurons in front of ``name`` can leave the grid: (M, F)."""
        config = self._config
        source = "value.squeeze" if name == "value.outcome" else "stem"
        bits = min(config.weight_bits + input_bits(config, source), config.grid_bits)
        if bits + config.time_steps - 1 <= config.grid_bits:
            return None
        return self._magnitude(name, "membrane"), config.grid_bits

    def _rounded(self, name: str, current: str, shape: Shape) -> str:
        """``current``, rounded down to the grid where it may be off it."""
        config = self._config
        bits = input_bits(config, name)
        if config.weight_bits + bits <= config.grid_bits:
            return current
        graph = floor_graph(shape, self._magnitude(name, "current"), config.grid_bits)
        return self.add(f"{node_name(name)}_floor", graph, current)

    def _magnitude(self, name: str, quantity: str) -> int:
        """M >= 0: ``quantity`` of layer ``name`` is always below 2^M."""
        bound = self._report.largest(quantity, lambda layer: layer == name)
        return max((bound + 1).bit_length() - self._config.grid_bits, 0)

    def _flat(self, name: str, source: str) -> str:
        return self.add(f"{name}_flat", nir.Flatten(None, 0, -1), source)

    def _accumulate(self, output: str, current: str) -> None:
        size = NUM_OUTCOMES if output == "value" else layer_outputs(self._config)
        total = self.add(f"{output}_sum", nir.I(np.full(size, 1 / DT)), current)
        self.add(f"output_{output}", nir.Output(np.array([size])), total)

    def _shift(self, name: str) -> dict[str, Any]:
        return {SHIFT: self._net.layers[name].shift}


def node_name(layer: str) -> str:
    """The name of a layer's node: tools that make torch modules of nodes want no dots."""
    return layer.replace(".", "_")


def layer_outputs(config: NetConfig) -> int:
    """Numbers of the policy head's output, by action code."""
    outputs = layer_shapes(config)["policy"][0]
    return outputs if config.kind == "plain" else outputs * NUM_SQUARES


def layer_floats(net: IntegerNet, name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weight [O, K] and bias [O] of a layer as exact real numbers."""
    layer = net.layers[name]
    units = np.exp2(-layer.shift.astype(np.float32))[:, None]
    weight: NDArray[np.float32] = np.multiply(layer.weight, units, dtype=np.float32)
    return weight, layer.bias.astype(np.float32) * np.float32(2.0**-net.config.weight_bits)


def convolution_kernel(weight: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """[O, C, size, size], as torch and NIR have it, of [O, (tap, channel)]."""
    taps = weight.reshape(len(weight), size, size, -1)
    return np.ascontiguousarray(np.moveaxis(taps, 3, 1))
