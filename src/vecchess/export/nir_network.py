"""The network in a graph of NIR that ``nir_graph`` wrote.

Sizes, scales and exit rule are the graph's metadata. Weights and biases come from the nodes, and
may have been trained elsewhere as long as they are on the grid; anything else is refused.

Decision 262.
"""

from collections.abc import Mapping
from typing import Any

import nir
import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from vecchess.errors import NetworkError
from vecchess.export.nir_graph import DESCRIPTION, SHIFT, node_name, to_nir
from vecchess.safe_parse import clip_line, parse_json_object
from vecchess.shapes import NUM_SQUARES
from vecchess.snn.integer.integer_net import SCHEMA, IntegerNet, Layer
from vecchess.snn.presets import WEIGHT_LIMIT, NetConfig
from vecchess.snn.topology import layer_shapes


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
        scales = [facts["policy_scale"], facts["value_scale"]]
        if facts["schema"] != SCHEMA or facts["neurons"] not in ("exact", "lif"):
            raise ValueError("of another version")
        if not all(isinstance(scale, float) and 0 < scale < 1e6 for scale in scales):
            raise ValueError("scales")
        facts["config"] = NetConfig.model_validate(facts["config"])
        facts["exit_rule"]  # null is there too
    except (KeyError, TypeError, ValueError, ValidationError):
        raise NetworkError(
            "is a NIR graph without vecchess's description: from-nir reads what export nir wrote"
        ) from None
    return facts


def _layer(graph: nir.NIRGraph, config: NetConfig, name: str) -> Layer:
    """The integers of a node's weights."""
    outputs, inputs = layer_shapes(config)[name]
    node = graph.nodes.get(node_name(name))
    weight, bias = (np.asarray(getattr(node, part, 0.0)) for part in ("weight", "bias"))
    if weight.size != outputs * inputs or bias.shape != (outputs,):
        raise NetworkError(f"lacks layer {name}, or has it in another size")
    if weight.ndim == 4:
        weight = np.moveaxis(weight, 1, 3)
    elif config.kind == "residual":
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
