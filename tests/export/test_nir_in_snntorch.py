"""The exported tower, read by snntorch and run by it, gives the spikes of our reference."""

from collections import defaultdict

import nir
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

pytest.importorskip("nirtorch")

import snntorch
from snntorch.import_nir import import_from_nir

from tests.export.test_nir_export import inputs_of, reference
from tests.export.test_onnx_export import net_of
from vecchess.chess.sample import random_planes
from vecchess.export.nir_graph import BOARD, to_nir
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.integer.net_file import load_net
from vecchess.snn.topology import layer_key, stem_planes


def tower_of(net: IntegerNet) -> nir.NIRGraph:
    """Its Conv2d and LIF nodes up to the last block's second neurons: what snntorch reads."""
    graph = to_nir(net, neurons="lif")
    last = f"block{net.config.blocks - 1}_second"
    nodes = {
        name: node
        for name, node in graph.nodes.items()
        if name in ("planes", "stem") or (name.startswith("block") and name != last)
    }
    nodes["spikes"] = nir.Output({"output": np.array([net.config.channels, *BOARD])})
    inside = [edge for edge in graph.edges if edge[0] in nodes and edge[1] in nodes]
    return nir.NIRGraph(nodes, [*inside, (f"{last}_neurons", "spikes")])


@torch.no_grad()
def spikes_in_snntorch(
    net: IntegerNet, planes: NDArray[np.uint64], subtract: bool
) -> dict[str, list[NDArray[np.float32]]]:
    """Spikes of each neuron node at every step."""
    module = import_from_nir(tower_of(net))
    found: dict[str, list[NDArray[np.float32]]] = defaultdict(list)
    for name, neuron in module.named_modules():
        if isinstance(neuron, snntorch.Leaky):
            if subtract:  # the one thing that NIR cannot say
                neuron.reset_mechanism, neuron.state_function = "subtract", neuron._base_sub
            neuron.register_forward_hook(
                lambda _, __, spikes, name=name: found[name].append(spikes.numpy())
            )
    state = None
    for boards in inputs_of(net, planes):
        _, state = module(torch.from_numpy(boards), state)
    return found


def equal_share(net: IntegerNet, num_positions: int, subtract: bool) -> float:
    """Of all spikes of all layers and steps."""
    planes = random_planes(num_positions, 1, stem_planes(net.config))
    expected, _, _ = reference(net, planes)
    found = spikes_in_snntorch(net, planes, subtract)
    names = [layer for layer in expected if f"{layer_key(layer)}_neurons" in found]
    assert len(names) == len(found) == 2 * net.config.blocks
    return float(
        np.mean(
            [
                np.mean(np.stack(found[f"{layer_key(layer)}_neurons"]) == expected[layer])
                for layer in names
            ]
        )
    )


@pytest.mark.thorough
def test_spikes_are_ours_once_a_reset_subtracts() -> None:
    assert equal_share(net_of("graded"), 8, subtract=True) == 1.0
    assert equal_share(net_of("graded"), 8, subtract=False) < 1.0


@pytest.mark.slow
def test_the_network_of_vecchess_on_256_positions_in_snntorch() -> None:
    assert equal_share(load_net("default"), 256, subtract=True) == 1.0
