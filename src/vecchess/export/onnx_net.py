"""A network as one ONNX file: all its time steps, one after the other.

    planes   float32[B, P, 8, 8], 0 or 1: the bits of ``encode_planes``, square a1 first
             float32[T, B, P, 8, 8] where the input is rate-coded: ``coding.coded_steps``
    policy   float32[B, 4672], by action code      accumulators after T steps: whole numbers of
    value    float32[B, 3], win, draw, loss        2^-F, the same bits everywhere

A logit is an accumulator / T * its scale, which the file's metadata has, with other facts on the
network.

Decision 107.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper

from vecchess import __version__
from vecchess.chess.planes import has_tactics, history_of
from vecchess.errors import ConfigError
from vecchess.export.onnx_layers import OnnxLayers
from vecchess.shapes import NUM_ACTIONS, NUM_MOVE_PLANES, NUM_OUTCOMES
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.topology import hidden_layers, reads_activations

OPSET = 17
IR_VERSION = 9
"""With opset 17, what onnxruntime has read since 1.15."""
SCHEMA = 1
"""Of the metadata."""


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
    graph = helper.make_graph(
        tower.nodes,
        f"vecchess {net.sha256[:12]}",
        [_value_info("planes", _input_shape(net, steps))],
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


class _Tower(OnnxLayers):
    """Builds the graph one time step after the other, as ``SpikingNet.advance`` computes them."""

    def __init__(self, net: IntegerNet) -> None:
        super().__init__(net)
        self._membranes: dict[str, str] = {}

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
        self.add("Sum", *policies, name="policy")
        self.add("Sum", *values, name="value")

    def _current(self, planes: str) -> str:
        """The current of [B, P, 8, 8]."""
        boards = self.add("Transpose", planes, perm=[0, 2, 3, 1])
        return self.currents("stem", self.patches(boards))

    def _tower(self, current: str) -> str:
        """The input current of the heads' neurons."""
        hidden = hidden_layers(self._net.config)
        buffers = [current, current]
        for index, layer in enumerate(hidden):
            source, target = index % 2, 1 - index % 2
            patches = self.patches(self._spikes(layer.name, buffers[source]))
            current = self.currents(layer.name, patches)
            if layer.adds:
                current = self.add("Add", buffers[target], current)
            buffers[target] = current
        return buffers[len(hidden) % 2]

    def _heads(self, current: str) -> tuple[str, str]:
        """Contributions of one step to the accumulators of policy and value."""
        spikes = self._spikes("heads", current)
        if self._net.config.kind == "plain":
            pooled = self.spikes_on_board(spikes)
            return self.currents("policy", pooled), self.currents("value.outcome", pooled)
        policy = self.by_channel(self.currents("policy", spikes), NUM_MOVE_PLANES)
        fired = self._spikes("value.outcome", self.currents("value.squeeze", spikes))
        squares = self.by_square(fired, self._net.config.value_channels)
        return policy, self.currents("value.outcome", squares)

    def _spikes(self, name: str, current: str) -> str:
        """Spikes, or activations, of the neurons whose output layer ``name`` reads."""
        if reads_activations(self._net.config, name):
            return self.activations(current)
        spikes, self._membranes[name] = self.lif(current, self._membranes.get(name))
        return spikes


def _input_shape(net: IntegerNet, steps: int) -> list[str | int]:
    board: list[str | int] = ["B", net.config.num_planes, 8, 8]
    return [steps, *board] if net.config.is_rate_coded else board


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
        "num_planes": config.num_planes,
        "history": history_of(config.num_planes),
        "tactical": has_tactics(config.num_planes),
    }
    return {f"vecchess.{name}": str(value) for name, value in facts.items()}
