"""Networks of snntorch in slots: every neuron, with and without a hidden state, unchanged."""

import copy

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
from vecchess.networks.state_nest import map_nest

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
    assert all(len(tensor) == 0 for pair in other._take() for tensor in pair)


def test_a_network_without_a_state_is_refused() -> None:
    net = nn.Sequential(nn.Linear(4, 4), snn.LeakyParallel(4, 4))
    with pytest.raises(NetworkError, match="LeakyParallel computes all time steps at once"):
        SnntorchNetwork(net, STEPS)


def test_an_output_that_is_no_answer_is_one_line() -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(1600, 10), snn.Leaky(beta=0.9, init_hidden=True))
    network = SnntorchNetwork(net, STEPS)
    with pytest.raises(NetworkError, match=r"gives \[\[6, 10\]\] in a step"):
        network(planes(), network.initial_state(ROWS))
