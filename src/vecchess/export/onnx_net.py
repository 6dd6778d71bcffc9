"""A network as one ONNX file: all its time steps, one after the other.

    planes   float32[B, planes, 8, 8], 0 or 1: the bits of ``encode_planes``, square a1 first
             float32[T, B, planes, 8, 8] where the input is rate-coded: ``rate_coding.coded_input``
    moves    int32[B, 4672], by action code: the codes of the legal moves (``chess/move_inputs``),
             any code for other actions; only where the network reads inputs of moves
    policy   float32[B, 4672], by action code      accumulators after T steps: whole numbers of
    value    float32[B, 3], win, draw, loss        2^-F, the same bits everywhere

A logit is an accumulator / T * its scale, which the file's metadata has, with other facts on the
network.

The layers are matrix products, floors and comparisons of float32. Values are whole numbers of 2^-F,
as in ``integer_net``. ``bounds`` has proved them below 2^24, so float32 holds them, and no order of
adding changes a bit. Weights stay int8 in the file. A 3x3 convolution is nine shifted boards and
one product: a runtime may compute a convolution by Winograd's transform, which is not exact, but a
matrix product only by adding products.

Decision 107.
"""

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from vecchess import __version__
from vecchess.chess.planes import has_tactics, history_of, reads_moves
from vecchess.errors import ConfigError
from vecchess.shapes import NUM_ACTIONS, NUM_OUTCOMES, NUM_SQUARES
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.integer.integer_net import IntegerNet, move_currents
from vecchess.snn.presets import ACTIVATION_BITS, ACTIVATION_LIMIT
from vecchess.snn.topology import (
    MOVES,
    hidden_layers,
    input_bits,
    reads_activations,
    stem_planes,
)

OPSET = 17
IR_VERSION = 9
"""Version of the format which, with opset 17, onnxruntime has read since 1.15."""
SCHEMA = 1
"""Schema of the metadata."""
MOVES_TABLE = "moves.table"
_TAPS = [(rank, file) for rank in range(3) for file in range(3)]


def to_onnx(net: IntegerNet, num_steps: int | None = None) -> onnx.ModelProto:
    """``net`` over T = ``num_steps`` time steps, its own number by default; checked by onnx.

    Raises ConfigError for more steps than it was proved exact for, NetworkError where it is not.
    """
    most = net.config.time_steps
    steps = most if num_steps is None else num_steps
    if not 1 <= steps <= most:
        raise ConfigError(f"--steps {steps}: this network is proved exact for 1 to {most}")
    check_bounds(net).require_exact()
    tower = _Tower(net)
    tower.run(steps)
    coded = [steps] if net.config.is_rate_coded else []
    inputs = [_value_info("planes", [*coded, "B", stem_planes(net.config), 8, 8])]
    if MOVES in net.layers:
        shape: list[str | int] = ["B", NUM_ACTIONS]
        inputs.append(helper.make_tensor_value_info("moves", TensorProto.INT32, shape))
    graph = helper.make_graph(
        tower.nodes,
        f"vecchess {net.sha256[:12]}",
        inputs,
        [_value_info("policy", ["B", NUM_ACTIONS]), _value_info("value", ["B", NUM_OUTCOMES])],
        list(tower.constants.values()),
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="vecchess",
        producer_version=__version__,
    )
    helper.set_model_props(model, _metadata(net, steps))
    onnx.checker.check_model(model, full_check=True)
    return model


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


class _Tower(OnnxGraph):
    """Builds the graph one time step after the other, as ``SpikingNet.advance`` computes them.

    Boards are [B, 8, 8, channels].
    """

    def __init__(self, net: IntegerNet) -> None:
        super().__init__()
        self._net = net
        self._membranes: dict[str, str] = {}
        self._threshold = float(1 << net.config.grid_bits)

    def run(self, num_steps: int) -> None:
        """All steps, down to the outputs."""
        rate_coded = self._net.config.is_rate_coded
        current = "" if rate_coded else self._current("planes")
        policies, values = [], []
        for step in range(num_steps):
            if rate_coded:
                now = self.constant(f"step_{step}", np.array(step, np.int64))
                current = self._current(self.add("Gather", "planes", now, axis=0))
            policy, value = self._heads(self._tower(current))
            policies.append(policy)
            values.append(value)
        if MOVES in self._net.layers:
            table = move_currents(self._net).astype(np.float32)
            added = self.add("Gather", self.constant(MOVES_TABLE, table), "moves", axis=0)
            policies.append(self.add("Mul", added, self.number(float(num_steps))))
        self.add("Sum", *policies, name="policy")
        self.add("Sum", *values, name="value")

    def _current(self, planes: str) -> str:
        """The current of [B, P, 8, 8]."""
        boards = self.add("Transpose", planes, perm=[0, 2, 3, 1])
        return self._currents("stem", self._patches(boards))

    def _tower(self, current: str) -> str:
        """The input current of the heads' neurons."""
        before = current
        for layer in hidden_layers(self._net.config):
            patches = self._patches(self._spikes(layer.name, current))
            new = self._currents(layer.name, patches)
            before, current = current, self.add("Add", before, new) if layer.adds else new
        return current

    def _heads(self, current: str) -> tuple[str, str]:
        """Contributions of one step to the accumulators of policy and value."""
        spikes = self._spikes("heads", current)
        if self._net.config.kind == "plain":
            pooled = self.add("ReduceSum", spikes, self.integers(1, 2), keepdims=0)
            return self._currents("policy", pooled), self._currents("value.outcome", pooled)
        # [B, 73, 8, 8], in the order of action codes
        policy = self.add("Transpose", self._currents("policy", spikes), perm=[0, 3, 1, 2])
        policy = self.add("Reshape", policy, self.integers(-1, NUM_ACTIONS))
        fired = self._spikes("value.outcome", self._currents("value.squeeze", spikes))
        values = NUM_SQUARES * self._net.config.value_channels
        squares = self.add("Reshape", fired, self.integers(-1, values))
        return policy, self._currents("value.outcome", squares)

    def _spikes(self, name: str, current: str) -> str:
        """Spikes, or activations, of the neurons whose output layer ``name`` reads."""
        if reads_activations(self._net.config, name):
            return self._activations(current)
        spikes, self._membranes[name] = self._lif(current, self._membranes.get(name))
        return spikes

    def _currents(self, name: str, inputs: str) -> str:
        """[..., O] of [..., K]: sums of weights, on the grid, and the bias."""
        layer, config = self._net.layers[name], self._net.config
        bits = input_bits(config, name)
        weight = self.constant(f"{name}.weight", layer.weight.T)
        bias = layer.grid_bias(config)
        scale = np.exp2(config.grid_bits - bits - layer.shift.astype(np.float32))
        sums = self.add("MatMul", inputs, self.floats(weight))
        sums = self.add("Mul", sums, self.constant(f"{name}.scale", scale.astype(np.float32)))
        if bits:
            sums = self.add("Floor", sums)
        return self.add("Add", sums, self.constant(f"{name}.bias", bias.astype(np.float32)))

    def _patches(self, boards: str) -> str:
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

    def _lif(self, current: str, membrane: str | None) -> tuple[str, str]:
        """Spikes, and the membrane after them; None before the first step."""
        one = self.number(self._threshold)
        charged, limit = current, one
        if membrane is not None:
            halved = self.add("Floor", self.add("Mul", membrane, self.number(0.5)))
            charged = self.add("Add", halved, current)
            twice = self.number(2 * self._threshold)
            limit = self.add("Where", self.add("Greater", membrane, one), twice, one)
        spikes = self.floats(self.add("Greater", charged, limit))
        return spikes, self.add("Sub", charged, self.add("Mul", spikes, one))

    def _activations(self, current: str) -> str:
        """Outputs of clipped ReLUs: whole numbers of 2^-6, at most 127 of them."""
        unit = self.number(2.0 ** (ACTIVATION_BITS - self._net.config.grid_bits))
        whole = self.add("Floor", self.add("Mul", self.add("Relu", current), unit))
        return self.add("Min", whole, self.number(float(ACTIVATION_LIMIT)))


def _value_info(name: str, shape: list[str | int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _metadata(net: IntegerNet, steps: int) -> dict[str, str]:
    """Text by name; numbers as Python writes them, so that they come back to the bit."""
    config = net.config
    facts = {
        "schema": SCHEMA,
        "sha256": net.sha256,
        "time_steps": steps,
        "grid_bits": config.grid_bits,
        "policy_scale": net.policy_scale,
        "value_scale": net.value_scale,
        "kind": config.kind,
        "neuron": config.neuron,
        "readout": config.readout,
        "input_rate": config.input_rate,
        "num_planes": stem_planes(config),
        "history": history_of(config.num_planes),
        "tactical": has_tactics(config.num_planes),
        "move_inputs": reads_moves(config.num_planes),
    }
    return {f"vecchess.{name}": str(value) for name, value in facts.items()}
