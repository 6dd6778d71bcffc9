"""Networks of spikingjelly in slots: every module with memories, unchanged, and what is refused."""

import copy

import pytest
import torch
from torch import Tensor, nn

from tests.networks.adapters import begins_anew_in_a_slot, learn_through_time, outputs, planes
from tests.networks.slots import is_the_same_in_any_slot
from vecchess.errors import NetworkError
from vecchess.networks.state_nest import leaves, map_nest

pytest.importorskip("spikingjelly")

from spikingjelly.activation_based import encoding, functional, layer, neuron
from spikingjelly.activation_based.base import MemoryModule

from tests.networks.spikingjelly_networks import (
    MODULES,
    STEPS,
    Looping,
    looping,
    stepping,
    stepwise_net,
)
from vecchess.networks.spikingjelly_network import SpikingjellyNetwork

HERE = "module:tests.networks.spikingjelly_networks"


class BeginsWithTwos(MemoryModule):
    """Makes twos of None, where spikingjelly's modules make zeros."""

    def __init__(self) -> None:
        super().__init__()
        self.register_memory("sum", None)

    def single_step_forward(self, x: Tensor) -> Tensor:
        self.sum = 2 * torch.ones_like(x) if self.sum is None else self.sum + x
        return self.sum


@torch.no_grad()
@pytest.mark.parametrize("kind", MODULES)
def test_a_network_with_its_own_loop_gives_the_same_bits(kind: str) -> None:
    torch.manual_seed(1)
    net = Looping(kind).eval()
    expected = net(planes())
    served = SpikingjellyNetwork(copy.deepcopy(net), STEPS)
    assert torch.equal(outputs(served, STEPS), expected)
    assert expected.std(0).max() > 0


@torch.no_grad()
@pytest.mark.parametrize("kind", MODULES)
def test_a_network_of_one_step_gives_the_same_bits(kind: str) -> None:
    torch.manual_seed(1)
    net = stepwise_net(kind).eval()
    functional.reset_net(net)
    expected = torch.stack([net(planes()) for _ in range(STEPS)])
    served = stepping(kind)
    served.net.load_state_dict(net.state_dict())
    assert torch.equal(outputs(served, STEPS), expected)


@pytest.mark.parametrize("make", [looping, stepping])
@pytest.mark.parametrize("kind", MODULES)
def test_a_slot_that_is_reset_begins_anew(make: type[nn.Module], kind: str) -> None:
    torch.manual_seed(1)
    assert begins_anew_in_a_slot(make(kind).eval())


@pytest.mark.thorough
@pytest.mark.parametrize("make", ["looping", "stepping"])
@pytest.mark.parametrize("kind", ["lif", "plif", "izhikevich", "recurrent"])
def test_answers_are_the_same_in_any_slot(make: str, kind: str) -> None:
    assert is_the_same_in_any_slot(f"{HERE}:{make}?kind={kind}", num_rows=8)


def test_gradients_flow_through_time_and_nothing_of_them_is_kept() -> None:
    network = looping("plif")
    learn_through_time(network, STEPS)
    assert all(tensor.grad is not None for tensor in network.net.parameters())
    copy.deepcopy(network)  # a tensor with a history cannot be copied


def test_a_copy_has_a_state_of_its_own() -> None:
    network = stepping().eval()
    other = copy.deepcopy(network)
    network._put(map_nest(torch.ones_like, network.initial_state(3)))
    assert [len(tensor) for tensor in leaves(network._take())] == [3, 3]
    assert list(leaves(other._take())) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        (neuron.LIFNode(step_mode="m"), 'LIFNode has step mode "m" and computes all time steps at'),
        (layer.Linear(4, 4, step_mode="m"), 'Linear has step mode "m"'),
        (neuron.PSN(4), "PSN computes all time steps at once and cannot be served"),
        (nn.ReLU(), "Sequential has no spikingjelly module with a memory, such as LIFNode"),
    ],
)
def test_a_network_that_takes_no_single_steps_is_refused(module: nn.Module, line: str) -> None:
    with pytest.raises(NetworkError, match=line) as error:
        SpikingjellyNetwork(nn.Sequential(nn.Linear(4, 4), module), STEPS)
    assert "\n" not in str(error.value)


def test_a_backend_of_its_own_is_refused() -> None:
    """Before version 2 neurons have a backend, as an attribute."""
    node = neuron.LIFNode()
    node.backend = "cupy"
    with pytest.raises(NetworkError, match='LIFNode has the backend "cupy"'):
        SpikingjellyNetwork(nn.Sequential(node), STEPS)


@pytest.mark.parametrize(
    ("module", "line"),
    [
        (encoding.LatencyEncoder(STEPS), r"LatencyEncoder keeps a int for the whole batch \(t\)"),
        (layer.Delay(2), r"Delay keeps a list for the whole batch \(queue\)"),
        (BeginsWithTwos(), "it does not take its first step again: random numbers, or a state of"),
    ],
)
def test_a_state_that_slots_cannot_have_is_refused(module: nn.Module, line: str) -> None:
    net = nn.Sequential(module, stepwise_net("lif"))
    with pytest.raises(NetworkError, match=line) as error:
        SpikingjellyNetwork(net, STEPS).initial_state(2)
    assert "\n" not in str(error.value)
