"""An LSTM reads the history in its order, and its answer is the same in any slot."""

import torch
from examples.lstm_history.network import HISTORY, MEN, NEWEST, make
from tests.networks.slots import is_the_same_in_any_slot, served

NET = "module:examples.lstm_history.network:make?hidden=32"


def test_answers_are_the_same_in_any_slot() -> None:
    assert is_the_same_in_any_slot(NET)


def test_all_positions_of_the_history_are_read() -> None:
    _, _, steps = served(NET, 4, list(range(6)), 4)
    assert (steps == HISTORY).all()


@torch.no_grad()
def test_the_oldest_position_is_read_first() -> None:
    """Before the last step nothing is known of the newest position's pieces through the cell."""
    network = make("16").eval()
    planes = torch.zeros(2, network.num_planes, 8, 8)
    planes[1, NEWEST + MEN * (HISTORY - 2)] = 1  # seven plies ago
    _, (_, hidden, _) = None, network(planes, network.initial_state(2))[2]
    assert not torch.equal(hidden[0], hidden[1])
    planes = torch.zeros(2, network.num_planes, 8, 8)
    planes[1, 0] = 1
    hidden = network(planes, network.initial_state(2))[2][1]
    assert torch.equal(hidden[0], hidden[1])
