"""The card of a network: NeuroBench's numbers for a module of torch's own layers."""

from typing import Any

import numpy as np
import pytest
import torch
from bench.net_card import connection_sparsity, footprint, net_card
from bench.synaptic_operations import StepCounts, SynapseCounter
from safetensors.numpy import load_file
from torch import Tensor, nn

from tests.bench.field_module import ClippedRelu, FieldModule, Lif, boards_of
from tests.export.test_onnx_export import net_of
from tests.nets import TRAINED
from vecchess.chess.move_inputs import SIZES
from vecchess.config import MatchConfig
from vecchess.inference.requests import Requests
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.snn.create import with_move_inputs
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.suites.best_moves import MOVES, BestMoveSuite
from vecchess.suites.run_suite import run_suite

NAMES = ["spiking", "graded", "twin", "plain"]
POSITIONS = 5


class Recorded:
    """The inputs of a module's layers and the outputs of its neurons."""

    def __init__(self, module: nn.Module) -> None:
        self.inputs: list[tuple[nn.Conv2d | nn.Linear, Tensor]] = []
        self.outputs: list[Tensor] = []
        for part in module.modules():
            if isinstance(part, nn.Conv2d | nn.Linear):
                part.register_forward_pre_hook(self._input)
            elif isinstance(part, Lif | ClippedRelu):
                part.register_forward_hook(self._output)

    def _input(self, layer: Any, inputs: tuple[Tensor, ...]) -> None:
        self.inputs.append((layer, inputs[0]))

    def _output(self, neurons: nn.Module, inputs: Any, output: Tensor) -> None:
        self.outputs.append(output)


@torch.no_grad()
def operations(layer: nn.Conv2d | nn.Linear, inputs: Tensor) -> tuple[int, int]:
    """Synapses whose input and weight are not 0, and all."""
    found = []
    for x, weight in (
        ((inputs != 0).double(), (layer.weight != 0).double()),
        (torch.ones_like(inputs), torch.ones_like(layer.weight)),
    ):
        if isinstance(layer, nn.Linear):
            sums = nn.functional.linear(x, weight)
        else:
            sums = nn.functional.conv2d(x, weight, padding=layer.padding)
        found.append(int(sums.sum()))
    return found[0], found[1]


def counted(net: IntegerNet) -> tuple[StepCounts, Requests]:
    requests = random_requests(POSITIONS, 3, net.config.num_planes)
    return SynapseCounter(net).count(requests), requests


@torch.no_grad()
def run_field_module(net: IntegerNet, requests: Requests) -> tuple[Recorded, Tensor, FieldModule]:
    module = FieldModule(net)
    recorded = Recorded(module)
    planes = boards_of(torch.from_numpy(requests.planes.view(np.int64)))
    policy, _ = module(planes)
    return recorded, policy, module


@pytest.mark.parametrize("name", NAMES)
def test_operations_and_spikes_are_those_of_the_definitions(name: str) -> None:
    net = net_of(name)
    counts, requests = counted(net)
    recorded, policy, _ = run_field_module(net, requests)
    acs = macs = dense = 0
    for layer, inputs in recorded.inputs:
        effective, every = operations(layer, inputs)
        dense += every
        if set(inputs.unique().tolist()) <= {0.0, 1.0}:
            acs += effective
        else:
            macs += effective
    assert (counts.acs.sum(), counts.macs.sum()) == (acs, macs)
    assert counts.dense.sum() == dense
    assert acs > 0
    assert (macs > 0) == (name != "spiking")
    active = sum(int(torch.count_nonzero(output)) for output in recorded.outputs)
    neurons = sum(output.numel() for output in recorded.outputs)
    assert counts.active.sum() == active
    assert counts.neurons * POSITIONS * net.config.time_steps == neurons
    for row, count in enumerate(requests.num_legal):
        legal = requests.legal[row, :count].astype(np.int64)
        assert counts.best[-1, row] == int(policy[row, legal].argmax())


@pytest.mark.parametrize("name", ["spiking", "graded"])
def test_the_package_gives_the_same_numbers(name: str) -> None:
    pytest.importorskip("neurobench")
    from neurobench.metrics.static import ConnectionSparsity
    from neurobench.metrics.workload import ActivationSparsity, SynapticOperations
    from neurobench.models import TorchModel

    net = net_of(name)
    counts, requests = counted(net)
    _, _, module = run_field_module(net, requests)
    model = TorchModel(module)
    model.add_activation_module(Lif)
    model.add_activation_module(ClippedRelu)
    model.register_hooks()
    planes = boards_of(torch.from_numpy(requests.planes.view(np.int64)))
    with torch.no_grad():
        model(planes)
        found = SynapticOperations()(model, None, (planes, None))
    assert found["Effective_ACs"] == counts.acs.sum() / POSITIONS
    assert found["Effective_MACs"] == counts.macs.sum() / POSITIONS
    assert found["Dense"] == counts.dense.sum() / POSITIONS
    silent = ActivationSparsity()(model, None, None)
    steps = net.config.time_steps
    assert silent == pytest.approx(
        1 - counts.active.sum() / counts.neurons / POSITIONS / steps, abs=1e-12
    )
    assert ConnectionSparsity()(model) == connection_sparsity(net)


def test_inputs_of_moves_count_once_for_each_legal_move() -> None:
    plain = net_of("graded")
    net = with_move_inputs(plain)
    weight = net.layers["moves"].weight
    weight[0, ::2] = 3
    counts, requests = counted(net)
    boards = requests.planes[:, : plain.config.num_planes].copy()
    without = SynapseCounter(plain).count(requests._replace(planes=boards))
    starts = np.cumsum((0, *SIZES[:-1]))
    picked = np.zeros(POSITIONS, np.int64)
    words = np.ascontiguousarray(requests.planes[:, plain.config.num_planes :])
    for row, codes in enumerate(words.view(np.uint16)):
        for code in codes[: requests.num_legal[row]].tolist():
            for start, size in zip(starts, SIZES, strict=True):
                code, digit = divmod(code, size)
                picked[row] += int(weight[0, start + digit] != 0)
    assert picked.all()
    assert (counts.acs[0] - without.acs[0]).tolist() == picked.tolist()
    dense = counts.dense - without.dense
    assert dense[0].tolist() == (38 * requests.num_legal.astype(np.int64)).tolist()
    assert not (counts.acs[1:] - without.acs[1:]).any()
    assert not dense[1:].any()


def test_a_batch_counts_as_its_positions() -> None:
    net = net_of("graded")
    counter = SynapseCounter(net)
    requests = random_requests(70, 1, net.config.num_planes)
    together = counter.count(requests)
    alone = counter.count(requests.part(slice(66, 67)))
    assert np.array_equal(alone.acs[:, 0], together.acs[:, 66])
    assert np.array_equal(alone.macs[:, 0], together.macs[:, 66])
    assert together.active.shape == (4, 70)


@pytest.mark.thorough
def test_the_card_of_a_network_with_exits() -> None:
    card = net_card(TRAINED, limit=16)
    suite = BestMoveSuite(MOVES, 16)
    (result,) = run_suite([f"net:{TRAINED}"], suite, MatchConfig(gpus="cpu"))
    exits = card["with_exits"]
    assert exits["classification_accuracy"] == result.hits.mean().round(4)
    assert 1 < exits["time_steps"] < card["all_steps"]["time_steps"] == 4
    assert card["footprint"] == sum(tensor.nbytes for tensor in load_file(TRAINED).values())
    ours, every = exits["synaptic_operations"], card["all_steps"]["synaptic_operations"]
    for name in ("Effective_MACs", "Effective_ACs", "Dense"):
        assert 0 < ours[name] < every[name]
    assert every["Effective_ACs"] + every["Effective_MACs"] < every["Dense"]
    assert 0.5 < card["all_steps"]["activation_sparsity"] < 1


def test_static_figures() -> None:
    net = net_of("plain")
    weights = sum(layer.weight.size for layer in net.layers.values())
    rows = sum(len(layer.bias) for layer in net.layers.values())
    assert footprint(net) == weights + 5 * rows
    zeros = sum(int((layer.weight == 0).sum()) for layer in net.layers.values())
    assert connection_sparsity(net) == round(zeros / weights, 4)
