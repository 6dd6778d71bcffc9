"""Networks of snntorch in slots: every neuron, with and without a hidden state, unchanged."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import snntorch as snn
import torch
from snntorch import utils
from torch import nn

from tests.networks.adapters import (
    ROWS,
    begins_anew_in_a_slot,
    learn_through_time,
    outputs,
    planes,
)
from tests.networks.slots import is_the_same_in_any_slot
from tests.networks.snntorch_networks import (
    NEURONS,
    STEPS,
    Looping,
    hidden_net,
    hiding,
    looping,
)
from vecchess.errors import NetworkError
from vecchess.networks.snntorch_network import SnntorchNetwork
from vecchess.networks.state_nest import leaves, map_nest

HERE = "module:tests.networks.snntorch_networks"


@torch.no_grad()
@pytest.mark.parametrize("kind", NEURONS)
def test_a_network_with_its_own_loop_gives_the_same_bits(kind: str) -> None:
    torch.manual_seed(1)
    net = Looping(kind).eval()
    expected, _ = net(planes())
    served = SnntorchNetwork(copy.deepcopy(net), STEPS)
    assert torch.equal(outputs(served, STEPS), expected)
    assert expected.std(0).max() > 0


@torch.no_grad()
@pytest.mark.parametrize("kind", NEURONS)
def test_a_network_that_hides_its_state_gives_the_same_bits(kind: str) -> None:
    torch.manual_seed(1)
    net = hidden_net(kind).eval()
    utils.reset(net)
    expected = torch.stack([net(planes())[1] for _ in range(STEPS)])
    served = hiding(kind)
    served.net.load_state_dict(net.state_dict())
    assert torch.equal(outputs(served, STEPS), expected)


@pytest.mark.parametrize("make", [looping, hiding])
@pytest.mark.parametrize("kind", NEURONS)
def test_a_slot_that_is_reset_begins_anew(make: type[nn.Module], kind: str) -> None:
    torch.manual_seed(1)
    assert begins_anew_in_a_slot(make(kind).eval())


@pytest.mark.thorough
@pytest.mark.parametrize("make", ["looping", "hiding"])
@pytest.mark.parametrize("kind", ["leaky", "synaptic", "rleaky", "slstm"])
def test_answers_are_the_same_in_any_slot(make: str, kind: str) -> None:
    assert is_the_same_in_any_slot(f"{HERE}:{make}?kind={kind}", num_rows=8)


def test_gradients_flow_through_time_and_nothing_of_them_is_kept() -> None:
    network = looping("rleaky")
    learn_through_time(network, STEPS)
    assert all(tensor.grad is not None for tensor in network.net.neuron.recurrent.parameters())
    copy.deepcopy(network)  # a tensor with a history cannot be copied


def test_a_copy_has_a_state_of_its_own() -> None:
    network = hiding().eval()
    other = copy.deepcopy(network)
    state = map_nest(torch.ones_like, network.initial_state(ROWS))
    with torch.no_grad():
        network._put(state)
    assert all(len(tensor) == 0 for tensor in leaves(other._take()))


def test_a_network_without_a_state_is_refused() -> None:
    net = nn.Sequential(nn.Linear(4, 4), snn.LeakyParallel(4, 4))
    with pytest.raises(NetworkError, match="LeakyParallel computes all time steps at once"):
        SnntorchNetwork(net, STEPS)


def test_an_output_that_is_no_answer_is_one_line() -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(1600, 10), snn.Leaky(beta=0.9, init_hidden=True))
    network = SnntorchNetwork(net, STEPS)
    with pytest.raises(NetworkError, match=r"gives \[\[6, 10\]\] in a step"):
        network(planes(), network.initial_state(ROWS))


PLAIN: dict[str, Callable[[], dict[str, Any]]] = {
    "tutorial": lambda: {"beta": 0.9},
    "hidden": lambda: {"beta": 0.9, "init_hidden": True},
    "hidden_output": lambda: {"beta": 0.9, "init_hidden": True, "output": True},
    "decay": lambda: {"beta": 0.8, "learn_beta": True},
    "learnt": lambda: {"beta": 1.5, "threshold": 0.3, "learn_beta": True, "learn_threshold": True},
    "each": lambda: {"beta": torch.rand(8), "threshold": torch.rand(8) - 0.3},
    "graded": lambda: {"beta": 0.9, "graded_spikes_factor": 0.7},
    "fast_sigmoid": lambda: {"beta": 0.9, "spike_grad": snn.surrogate.fast_sigmoid()},
}
OTHER: dict[str, Callable[[], dict[str, Any]]] = {
    "zero": lambda: {"beta": 0.9, "reset_mechanism": "zero"},
    "now": lambda: {"beta": 0.9, "reset_delay": False},
    "inhibition": lambda: {"beta": 0.9, "inhibition": True},
    "own_surrogate": lambda: {"beta": 0.9, "spike_grad": lambda x: (x > 0.1).float()},
    "float64": lambda: {"beta": torch.tensor(0.9, dtype=torch.float64)},
}
EDGES = torch.tensor([1.0, -0.0, 0.0, 1e-45, 1.0 + 2**-23, 0.3, -1e-40, 2.0])


def _leaky_pair(options: dict[str, Any]) -> tuple[snn.Leaky, snn.Leaky]:
    """A neuron, and the same one within the adapter."""
    own = snn.Leaky(**options).eval()
    served = copy.deepcopy(own)
    SnntorchNetwork(nn.Sequential(nn.Flatten(), nn.Linear(25 * 64, 8), served), 1)
    return own, served


@torch.no_grad()
@pytest.mark.parametrize("kind", PLAIN)
def test_a_leaky_neuron_takes_its_step_in_place_to_the_same_bits(kind: str) -> None:
    own, served = _leaky_pair(PLAIN[kind]())
    assert "forward" in vars(served)
    current, mem = torch.randn(64, 8), torch.randn(64, 8)
    mem[0], current[0] = EDGES, EDGES.flip(0)
    results = []
    for neuron in (own, served):
        given = mem.clone()
        neuron.mem = given
        found = neuron(current.clone()) if neuron.init_hidden else neuron(current.clone(), given)
        assert torch.equal(given, mem)  # arguments are not written to
        found = found if isinstance(found, tuple) else (found,)
        results.append([tensor.view(torch.int32) for tensor in (*found, neuron.mem)])
    assert len(results[0]) == len(results[1])
    assert all(torch.equal(one, other) for one, other in zip(*results, strict=True))


@pytest.mark.filterwarnings("ignore:Inhibition")
@pytest.mark.parametrize("kind", OTHER)
def test_another_leaky_neuron_is_left_alone(kind: str) -> None:
    _, served = _leaky_pair(OTHER[kind]())
    assert "forward" not in vars(served)


@pytest.mark.parametrize("kind", PLAIN)
def test_a_leaky_neuron_learns_by_the_same_bits(kind: str) -> None:
    torch.manual_seed(2)
    options = PLAIN[kind]()
    if options.get("init_hidden"):
        options |= {"init_hidden": False}
    inputs, found = torch.randn(STEPS, 64, 8), []
    for neuron in _leaky_pair(options):
        current = inputs.clone().requires_grad_()
        mem, total = torch.zeros(64, 8), torch.zeros(())
        for step in current:
            spikes, mem = neuron.train()(step, mem)
            total = total + (spikes * torch.arange(8)).sum() + mem.square().sum()
        total.backward()
        learnt = [parameter.grad for parameter in neuron.parameters()]
        found.append([total.detach(), current.grad, *learnt])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


class Begun(nn.Module):
    """Its neuron begins with a state of the network's own."""

    def __init__(self, mem: torch.Tensor) -> None:
        super().__init__()
        self.fc, self.neuron = nn.Linear(25 * 64, 24), snn.Leaky(beta=0.8)
        self.out, self.num_steps = nn.Linear(24, 4675), STEPS
        self.mem = mem

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mem, found = (self.mem * 1.0).expand(len(x), -1), []
        for _ in range(self.num_steps):
            spikes, mem = self.neuron(self.fc(x.flatten(1)), mem)
            found.append(self.out(spikes))
        return torch.stack(found)


def first_state(network: nn.Module) -> torch.Tensor:
    """Of a slot's only neuron."""
    (state,) = leaves(network.initial_state(1))
    return state


def test_a_first_state_is_that_of_the_weights_now() -> None:
    """Of loaded ones, and while the check makes them louder; a buffer or a frozen parameter."""
    network = SnntorchNetwork(Begun(nn.Parameter(torch.full((1, 24), 0.3), False)), STEPS)
    assert torch.equal(first_state(network), torch.full((1, 24), 0.3))
    network.check_own_loop(planes())
    assert torch.equal(first_state(network), torch.full((1, 24), 0.3))
    with torch.no_grad(), network._louder(2.0):
        assert torch.equal(first_state(network), torch.full((1, 24), 0.6))
    assert torch.equal(first_state(network), torch.full((1, 24), 0.3))
    network.load_state_dict(network.state_dict() | {"net.mem": torch.full((1, 24), 0.9)})
    assert torch.equal(first_state(network), torch.full((1, 24), 0.9))
    assert torch.equal(first_state(copy.deepcopy(network)), torch.full((1, 24), 0.9))


def test_a_first_state_that_would_not_be_trained_is_refused() -> None:
    """A parameter, and what is computed of one."""
    network = SnntorchNetwork(Begun(nn.Parameter(torch.zeros(24))), STEPS)
    for ask in (lambda: network.initial_state(1), lambda: network.check_own_loop(planes())):
        with pytest.raises(NetworkError, match=r"would not be trained: make it a buffer"):
            ask()
