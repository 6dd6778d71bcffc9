"""Networks of norse in slots: every cell, whoever keeps the state, and what is refused."""

import copy
from typing import Any

import pytest
import torch
from torch import nn

from tests.networks.adapters import begins_anew_in_a_slot, learn_through_time, outputs, planes
from tests.networks.slots import is_the_same_in_any_slot
from vecchess.errors import NetworkError
from vecchess.networks.state_nest import leaves

pytest.importorskip("norse.torch", reason="it has no wheel: pip install norse")

import norse.torch as snn

from tests.networks.norse_networks import (
    CELLS,
    STEPS,
    Functional,
    Looping,
    Static,
    lifted,
    looping,
    stateful_net,
    stepping,
)
from vecchess.networks.norse_network import NorseNetwork

HERE = "module:tests.networks.norse_networks"


@torch.no_grad()
@pytest.mark.parametrize("kind", CELLS)
def test_a_network_with_its_own_loop_gives_the_same_bits(kind: str) -> None:
    torch.manual_seed(1)
    net = Looping(kind).eval()
    expected = net(planes().expand(STEPS, -1, -1, -1, -1))
    served = NorseNetwork(copy.deepcopy(net), STEPS, sequence=True)
    assert torch.equal(outputs(served, STEPS), expected)
    assert expected.std(0).max() > 0


@torch.no_grad()
@pytest.mark.parametrize("kind", CELLS)
def test_a_network_that_returns_its_states_gives_the_same_bits(kind: str) -> None:
    torch.manual_seed(1)
    net, state, expected = stateful_net(kind).eval(), None, []
    for _ in range(STEPS):
        out, state = net(planes(), state)
        expected.append(out)
    assert torch.equal(outputs(NorseNetwork(net, STEPS), STEPS), torch.stack(expected))


@pytest.mark.parametrize("make", [looping, stepping])
@pytest.mark.parametrize("kind", CELLS)
def test_a_slot_that_is_reset_begins_anew(make: Any, kind: str) -> None:
    torch.manual_seed(1)
    assert begins_anew_in_a_slot(make(kind).eval())


@pytest.mark.parametrize("make", ["looping", "stepping"])
@pytest.mark.parametrize("kind", ["lif", "lsnn", "lif_recurrent"])
def test_answers_are_the_same_in_any_slot(make: str, kind: str) -> None:
    assert is_the_same_in_any_slot(f"{HERE}:{make}?kind={kind}", num_rows=8)


def test_gradients_flow_through_time_and_nothing_of_them_is_kept() -> None:
    network = looping("lif_recurrent")
    learn_through_time(network, STEPS)
    assert all(tensor.grad is not None for tensor in network.net.parameters())
    copy.deepcopy(network)  # a tensor with a history cannot be copied


def test_a_copy_has_a_state_of_its_own() -> None:
    network = stepping().eval()
    other = copy.deepcopy(network)
    with torch.no_grad():
        network._put(network.initial_state(6))
        network._run(planes())
    assert len(list(leaves(network._take()))) == 4
    assert list(leaves(other._take())) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        (snn.LIF(), "LIF takes a sequence of time steps: sequence=True gives the network"),
        (snn.Lift(snn.LIFCell()), "Lift takes a sequence of time steps"),
        (nn.ReLU(), "SequentialState has no norse cell with a state, as LIFCell"),
    ],
)
def test_a_network_that_takes_no_single_steps_is_refused(module: nn.Module, line: str) -> None:
    with pytest.raises(NetworkError, match=line) as error:
        NorseNetwork(snn.SequentialState(nn.Linear(4, 4), module), STEPS)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "net",
    [
        snn.RecurrentSequential(snn.LIFCell()),
        snn.SequentialState(nn.Flatten(), snn.LIFCell(), nn.RNN(1600, 8)),
    ],
)
def test_a_state_outside_of_cells_is_refused(net: nn.Module) -> None:
    with pytest.raises(NetworkError, match="returns a state that no cell of norse has"):
        NorseNetwork(net, STEPS).initial_state(2)


def test_a_cell_in_two_places_is_refused() -> None:
    cell = snn.LIFCell()
    net = snn.SequentialState(nn.Flatten(), nn.Linear(1600, 8), cell, nn.Linear(8, 8), cell)
    with pytest.raises(NetworkError, match="LIFCell is called twice in a time step"):
        NorseNetwork(net, STEPS).initial_state(2)


@torch.no_grad()
@pytest.mark.parametrize("gives", ["all", "mean"])
def test_a_loop_over_one_input_is_served(gives: str) -> None:
    torch.manual_seed(1)
    net = Static(gives=gives).eval()
    expected = net(planes())
    served = NorseNetwork(copy.deepcopy(net), STEPS)
    served.check_own_loop(planes())
    found = outputs(served, STEPS)
    torch.testing.assert_close(found if gives == "all" else found.mean(0), expected)


def test_layers_that_loop_by_themselves_are_served() -> None:
    network = lifted().eval()
    network.check_own_loop(planes())


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: NorseNetwork(Static(gives="max"), STEPS), "would be served as another network"),
        (lambda: NorseNetwork(Static("ts"), STEPS), "LIFCell is called twice in a time step"),
        (lambda: NorseNetwork(Functional(), STEPS), "a state of functions, as lif_step"),
    ],
)
def test_shapes_of_tutorials_that_cannot_be_served_have_a_reason(make: Any, line: str) -> None:
    with pytest.raises(NetworkError, match=line):
        make().eval().check_own_loop(planes())
