"""The layers of an integer network in ONNX: matrix products, floors and comparisons of float32.

Values are whole numbers of 2^-F, as in ``integer_net``. ``bounds`` has proved them below 2^24, so
float32 holds them, and no order of adding changes a bit. Weights stay int8 in the file. A 3x3
convolution is nine shifted boards and one product: a runtime may compute a convolution by
Winograd's transform, which is not exact, a matrix product it can only add up.
"""

import numpy as np

from vecchess.export.onnx_graph import OnnxGraph
from vecchess.shapes import NUM_SQUARES
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.presets import ACTIVATION_BITS, ACTIVATION_LIMIT
from vecchess.snn.topology import input_bits

_TAPS = [(rank, file) for rank in range(3) for file in range(3)]


class OnnxLayers:
    """The layers of ``net`` as parts of ``graph``. Boards are [B, 8, 8, channels]."""

    def __init__(self, net: IntegerNet, graph: OnnxGraph) -> None:
        self._net = net
        self._graph = graph
        self._threshold = float(1 << net.config.grid_bits)

    def currents(self, name: str, inputs: str) -> str:
        """[..., O] of [..., K]: sums of weights, on the grid, and the bias."""
        graph, layer, config = self._graph, self._net.layers[name], self._net.config
        bits = input_bits(config, name)
        weight = graph.constant(f"{name}.weight", layer.weight.T)
        scale = np.exp2(config.grid_bits - bits - layer.shift.astype(np.float32))
        bias = layer.bias.astype(np.float32) * np.float32(
            1 << config.grid_bits - config.weight_bits
        )
        sums = graph.add("MatMul", inputs, graph.floats(weight))
        sums = graph.add("Mul", sums, graph.constant(f"{name}.scale", scale.astype(np.float32)))
        if bits:
            sums = graph.add("Floor", sums)
        return graph.add("Add", sums, graph.constant(f"{name}.bias", bias))

    def patches(self, boards: str) -> str:
        """[B, 8, 8, 9 * C] of [B, 8, 8, C], tap by tap; squares off the board are 0."""
        graph = self._graph
        padded = graph.add("Pad", boards, graph.integers(0, 1, 1, 0, 0, 1, 1, 0))
        taps = [
            graph.add(
                "Slice",
                padded,
                graph.integers(rank, file),
                graph.integers(rank + 8, file + 8),
                graph.integers(1, 2),
            )
            for rank, file in _TAPS
        ]
        return graph.add("Concat", *taps, axis=3)

    def fire(self, current: str, membrane: str | None) -> tuple[str, str | None]:
        """Spikes, and the membrane after them; None before the first step. The twin's activations
        have no membrane."""
        graph = self._graph
        if self._net.config.neuron == "relu":
            return self._activation(current), None
        one, two = graph.number(self._threshold), graph.number(2 * self._threshold)
        charged, limit = current, one
        if membrane is not None:
            halved = graph.add("Floor", graph.add("Mul", membrane, graph.number(0.5)))
            charged = graph.add("Add", halved, current)
            limit = graph.add("Where", graph.add("Greater", membrane, one), two, one)
        spikes = graph.floats(graph.add("Greater", charged, limit))
        return spikes, graph.add("Sub", charged, graph.add("Mul", spikes, one))

    def _activation(self, current: str) -> str:
        """Whole numbers of 2^-6, at most 127 of them."""
        graph = self._graph
        unit = graph.number(2.0 ** (ACTIVATION_BITS - self._net.config.grid_bits))
        whole = graph.add("Floor", graph.add("Mul", graph.add("Relu", current), unit))
        return graph.add("Min", whole, graph.number(float(ACTIVATION_LIMIT)))

    def spikes_on_board(self, spikes: str) -> str:
        """[B, C]: how many of a channel."""
        graph = self._graph
        return graph.add("ReduceSum", spikes, graph.integers(1, 2), keepdims=0)

    def by_square(self, boards: str, channels: int) -> str:
        """[B, 64 * channels]."""
        graph = self._graph
        return graph.add("Reshape", boards, graph.integers(-1, NUM_SQUARES * channels))

    def by_channel(self, boards: str, channels: int) -> str:
        """[B, channels * 64]: the order of action codes."""
        graph = self._graph
        turned = graph.add("Transpose", boards, perm=[0, 3, 1, 2])
        return graph.add("Reshape", turned, graph.integers(-1, NUM_SQUARES * channels))
