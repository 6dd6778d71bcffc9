"""A graph of ONNX operators, and the layers of an integer network in it.

The layers are matrix products, floors and comparisons of float32. Values are whole numbers of 2^-F,
as in ``integer_net``. ``bounds`` has proved them below 2^24, so float32 holds them, and no order of
adding changes a bit. Weights stay int8 in the file. A 3x3 convolution is nine shifted boards and
one product: a runtime may compute a convolution by Winograd's transform, which is not exact, but a
matrix product only by adding products.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from vecchess.shapes import NUM_SQUARES
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.presets import ACTIVATION_BITS, ACTIVATION_LIMIT
from vecchess.snn.topology import input_bits


class OnnxGraph:
    """A graph that grows by one operator a call. Values have names; float32 by default."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, TensorProto] = {}

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """A constant of this name, made once."""
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.asarray(values, order="C"), name)
        return name

    def number(self, value: float) -> str:
        """float32[]"""
        return self.constant(f"number_{value!r}", np.array(value, np.float32))

    def integers(self, *values: int) -> str:
        """int64[K]: a shape, axes, where a slice begins."""
        name = "integers_" + "_".join(map(str, values))
        return self.constant(name, np.array(values, np.int64))

    def add(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """What ``operator`` makes of ``inputs``; called ``name``, or by its number."""
        output = name or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def floats(self, values: str) -> str:
        """``values`` of another type, as float32."""
        return self.add("Cast", values, to=TensorProto.FLOAT)


_TAPS = [(rank, file) for rank in range(3) for file in range(3)]


class OnnxLayers(OnnxGraph):
    """The layers of ``net`` as operators of the graph. Boards are [B, 8, 8, channels]."""

    def __init__(self, net: IntegerNet) -> None:
        super().__init__()
        self._net = net
        self._threshold = float(1 << net.config.grid_bits)

    def currents(self, name: str, inputs: str) -> str:
        """[..., O] of [..., K]: sums of weights, on the grid, and the bias."""
        layer, config = self._net.layers[name], self._net.config
        bits = input_bits(config, name)
        weight = self.constant(f"{name}.weight", layer.weight.T)
        scale = np.exp2(config.grid_bits - bits - layer.shift.astype(np.float32))
        bias = layer.bias.astype(np.float32) * np.float32(
            1 << config.grid_bits - config.weight_bits
        )
        sums = self.add("MatMul", inputs, self.floats(weight))
        sums = self.add("Mul", sums, self.constant(f"{name}.scale", scale.astype(np.float32)))
        if bits:
            sums = self.add("Floor", sums)
        return self.add("Add", sums, self.constant(f"{name}.bias", bias))

    def patches(self, boards: str) -> str:
        """[B, 8, 8, 9 * C] of [B, 8, 8, C], tap by tap; squares off the board are 0."""
        padded = self.add("Pad", boards, self.integers(0, 1, 1, 0, 0, 1, 1, 0))
        taps = [
            self.add(
                "Slice",
                padded,
                self.integers(rank, file),
                self.integers(rank + 8, file + 8),
                self.integers(1, 2),
            )
            for rank, file in _TAPS
        ]
        return self.add("Concat", *taps, axis=3)

    def lif(self, current: str, membrane: str | None) -> tuple[str, str]:
        """Spikes, and the membrane after them; None before the first step."""
        one, two = self.number(self._threshold), self.number(2 * self._threshold)
        charged, limit = current, one
        if membrane is not None:
            halved = self.add("Floor", self.add("Mul", membrane, self.number(0.5)))
            charged = self.add("Add", halved, current)
            limit = self.add("Where", self.add("Greater", membrane, one), two, one)
        spikes = self.floats(self.add("Greater", charged, limit))
        return spikes, self.add("Sub", charged, self.add("Mul", spikes, one))

    def activations(self, current: str) -> str:
        """Of clipped ReLUs: whole numbers of 2^-6, at most 127 of them."""
        unit = self.number(2.0 ** (ACTIVATION_BITS - self._net.config.grid_bits))
        whole = self.add("Floor", self.add("Mul", self.add("Relu", current), unit))
        return self.add("Min", whole, self.number(float(ACTIVATION_LIMIT)))

    def spikes_on_board(self, spikes: str) -> str:
        """[B, C]: spikes of each channel, over all squares."""
        return self.add("ReduceSum", spikes, self.integers(1, 2), keepdims=0)

    def by_square(self, boards: str, channels: int) -> str:
        """[B, 64 * channels]."""
        return self.add("Reshape", boards, self.integers(-1, NUM_SQUARES * channels))

    def by_channel(self, boards: str, channels: int) -> str:
        """[B, channels * 64]: the order of action codes."""
        turned = self.add("Transpose", boards, perm=[0, 3, 1, 2])
        return self.add("Reshape", turned, self.integers(-1, NUM_SQUARES * channels))
