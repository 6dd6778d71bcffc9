"""A network as a graph of NIR: every value the same bits where the graph is run exactly.

    planes            Input [P, 8, 8]: at each time step the input planes, 0 or 1, square a1 first
    stem, block0_first, ...   Conv2d: weights int8 * 2^-k, biases; both exact in float32
    block0_first_neurons, ... NIRGraph: the neurons whose output the layer reads (``nir_neurons``)
    policy_sum, value_sum     I: accumulators over the time steps so far
    output_policy [4672], output_value [3]
                              Output: accumulators, by action code and win, draw, loss

A step takes ``DT`` seconds and the leaks are forward Euler; all edges but those out of a Delay act
within the step. A logit is an accumulator / t * scale * 2^F. The description of the network is the
graph's metadata, as in a network file, so that ``from_nir`` gives the same file. It takes weights
and biases from the nodes, which may have been trained elsewhere as long as they are on the grid;
any other difference is refused.

Decisions 261 and 262.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal

import nir
import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from vecchess.chess.move_inputs import NUM_MOVE_INPUTS
from vecchess.errors import NetworkError
from vecchess.export.nir_neurons import (
    DT,
    NodeGraph,
    Shape,
    activation_graph,
    floor_graph,
    lif_graph,
    lif_node,
)
from vecchess.safe_parse import clip_line, is_schema, parse_json_object
from vecchess.shapes import NUM_ACTIONS, NUM_OUTCOMES, NUM_SQUARES
from vecchess.snn.integer.bounds import BoundsReport, check_bounds
from vecchess.snn.integer.integer_net import SCHEMA, IntegerNet, Layer, describe
from vecchess.snn.integer.net_file import checked_answers
from vecchess.snn.presets import WEIGHT_LIMIT, NetConfig
from vecchess.snn.topology import (
    MOVES,
    hidden_layers,
    input_bits,
    layer_key,
    layer_shapes,
    reads_activations,
    stem_planes,
)

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
        self.add("planes", nir.Input(np.array([stem_planes(config), *BOARD])))
        stem = [self._convolution("stem", "planes")]
        before = current = stem
        for layer in hidden_layers(config):
            fired = self._fired(layer.name, (layer.inputs, *BOARD), current)
            new = [self._convolution(layer.name, fired)]
            before, current = current, before + new if layer.adds else new
        fired = self._fired("heads", (config.channels, *BOARD), current)
        if config.kind == "plain":
            self._pooled_heads(fired)
        else:
            self._heads(fired)
        if MOVES in self._net.layers:  # of one move; the reader adds it to that move's policy
            self.add("move", nir.Input(np.array([NUM_MOVE_INPUTS])))
            of_move = self._linear(MOVES, *self._floats(MOVES), "move")
            self.add("output_move", nir.Output(np.array([1])), of_move)

    def _heads(self, fired: str) -> None:
        """Heads that read squares."""
        self._accumulate("policy", self._flat("policy", self._convolution("policy", fired)))
        squeezed = self._convolution("value.squeeze", fired)
        channels = self._config.value_channels
        fired = self._fired("value.outcome", (channels, *BOARD), [squeezed])
        weight, bias = self._floats("value.outcome")
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
            current = self._linear(name, *self._floats(name), mean)
            self._accumulate(output, current)

    def _linear(
        self, name: str, weight: NDArray[np.float32], bias: NDArray[np.float32], source: str
    ) -> str:
        """The currents of a layer that reads all its inputs."""
        node = nir.Affine(weight, bias, metadata=self._shift(name))
        return self._rounded(name, self.add(layer_key(name), node, source), bias.shape)

    def _convolution(self, name: str, source: str) -> str:
        """The currents of a layer over squares: 3x3, or 1x1 in the heads."""
        weight, bias = self._floats(name)
        kernel = convolution_kernel(weight, 1 if name in ("policy", "value.squeeze") else 3)
        pad = (kernel.shape[2] - 1) // 2
        node = nir.Conv2d(BOARD, kernel, 1, pad, 1, 1, bias, metadata=self._shift(name))
        current = self.add(layer_key(name), node, source)
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
        return self.add(f"{layer_key(name)}_neurons", node, *sources)

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
        return self.add(f"{layer_key(name)}_floor", graph, current)

    def _magnitude(self, name: str, quantity: str) -> int:
        """M >= 0: ``quantity`` of layer ``name`` is always below 2^M."""
        bound = self._report.largest(quantity, lambda layer: layer == name)
        return max((bound + 1).bit_length() - self._config.grid_bits, 0)

    def _floats(self, name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return self._net.layers[name].floats(self._config)

    def _flat(self, name: str, source: str) -> str:
        return self.add(f"{name}_flat", nir.Flatten(None, 0, -1), source)

    def _accumulate(self, output: str, current: str) -> None:
        size = NUM_OUTCOMES if output == "value" else NUM_ACTIONS
        total = self.add(f"{output}_sum", nir.I(np.full(size, 1 / DT)), current)
        self.add(f"output_{output}", nir.Output(np.array([size])), total)

    def _shift(self, name: str) -> dict[str, Any]:
        return {SHIFT: self._net.layers[name].shift}


def convolution_kernel(weight: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """[O, C, size, size], as torch and NIR have it, of [O, (tap, channel)]."""
    taps = weight.reshape(len(weight), size, size, -1)
    return np.ascontiguousarray(np.moveaxis(taps, 3, 1))


def from_nir(graph: nir.NIRGraph) -> IntegerNet:
    """The network of a graph that ``to_nir`` wrote, with the weights that its nodes have now.

    Raises NetworkError for any other graph, and where a weight or bias is not on the grid.
    """
    facts = _facts(graph)
    config = facts["config"]
    net = IntegerNet(
        config=config,
        layers={name: _layer(graph, config, name) for name in layer_shapes(config)},
        policy_scale=facts["policy_scale"],
        value_scale=facts["value_scale"],
        exit_rule=facts["exit_rule"],
        calibration=facts.get("calibration"),
    )
    _require_same(graph, to_nir(net, facts["neurons"]))
    return net


def _facts(graph: nir.NIRGraph) -> dict[str, Any]:
    """The description in the graph's metadata, its sizes checked."""
    try:
        facts = parse_json_object(graph.metadata[DESCRIPTION])
        if not is_schema(facts["schema"], SCHEMA) or facts["neurons"] not in ("exact", "lif"):
            raise ValueError("of another version")
        checked_answers(facts)
        facts["config"] = NetConfig.model_validate(facts["config"])
        facts["exit_rule"]  # null is there too
    except (KeyError, TypeError, ValueError, ValidationError, NetworkError):
        raise NetworkError(
            "is a NIR graph without vecchess's description: from-nir reads what export nir wrote"
        ) from None
    return facts


def _layer(graph: nir.NIRGraph, config: NetConfig, name: str) -> Layer:
    """The integers of a node's weights."""
    outputs, inputs = layer_shapes(config)[name]
    node = graph.nodes.get(layer_key(name))
    weight, bias = (np.asarray(getattr(node, part, 0.0)) for part in ("weight", "bias"))
    if weight.size != outputs * inputs or bias.shape != (outputs,):
        raise NetworkError(f"lacks layer {name}, or has it in another size")
    if weight.ndim == 4:
        weight = np.moveaxis(weight, 1, 3)
    elif config.kind == "residual" and name != MOVES:
        weight = weight.reshape(outputs, config.value_channels, NUM_SQUARES).swapaxes(1, 2)
    weight = weight.reshape(outputs, inputs)
    shift = _shifts(weight, node.metadata.get(SHIFT), config.weight_bits)
    integers = weight * np.exp2(shift.astype(np.float64))[:, None]
    biases = bias * 2.0**config.weight_bits
    if not _whole(integers, WEIGHT_LIMIT).all() or not _whole(biases, 2**31 - 1).all():
        raise NetworkError(
            f"has weights in layer {name} that are not int8 * 2^-k, k <= {config.weight_bits}, or "
            f"biases that are not multiples of 2^-{config.weight_bits}: quantise them first"
        )
    return Layer(integers.astype(np.int8), shift, biases.astype(np.int32))


def _shifts(weight: NDArray[Any], recorded: Any, most: int) -> NDArray[np.uint8]:
    """k of each row: as recorded where its weights are int8 * 2^-k, else the smallest that fits."""
    rows = len(weight)
    shift = np.full(rows, most, np.int64)
    for k in range(most, -1, -1):
        shift[_fits(weight, np.full(rows, k))] = k
    noted = np.asarray(recorded)
    if noted.shape == (rows,) and noted.dtype == np.uint8 and noted.max() <= most:
        kept = noted.astype(np.int64)
        shift = np.where(_fits(weight, kept), kept, shift)
    return shift.astype(np.uint8)


def _fits(weight: NDArray[Any], shift: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[O]: the rows whose weights are int8 * 2^-shift."""
    whole = _whole(weight * np.exp2(shift)[:, None], WEIGHT_LIMIT)
    fits: NDArray[np.bool_] = np.logical_and.reduce(whole, axis=1)
    return fits


def _whole(values: NDArray[Any], limit: int) -> NDArray[np.bool_]:
    return np.asarray((values == np.round(values)) & (np.abs(values) <= limit))


def _require_same(graph: nir.NIRGraph, wanted: nir.NIRGraph) -> None:
    """Raise NetworkError, naming a node, unless the graphs have the same nodes and edges."""
    odd = first_difference(graph.to_dict(), wanted.to_dict())
    if odd is not None:
        raise NetworkError(
            clip_line(f"is not the graph that export nir writes, at {odd}: only weights may differ")
        )


def first_difference(one: Mapping[str, Any], other: Mapping[str, Any], at: str = "") -> str | None:
    """The path to the first value that differs between two graphs as NIR's dictionaries; None
    where there is none. Of metadata only nodes' names count."""
    if one.keys() - {"metadata"} != other.keys() - {"metadata"}:
        return min(one.keys() ^ other.keys(), default=at)
    for name in sorted(one.keys() - {"metadata"}):
        ours, theirs = one[name], other[name]
        if isinstance(theirs, Mapping):
            odd = first_difference(ours, theirs, name) if isinstance(ours, Mapping) else name
        elif name == "edges":
            odd = None if set(map(tuple, ours)) == set(map(tuple, theirs)) else "its edges"
        else:
            odd = None if np.array_equal(np.asarray(ours), np.asarray(theirs)) else name
        if odd is not None:
            return f"{at}.{odd}" if at else odd
    return None
