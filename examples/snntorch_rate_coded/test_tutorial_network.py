"""The network is served unchanged: the bits of its own loop, in any slot."""

import numpy as np
import torch
from tests.networks.slots import is_the_same_in_any_slot, served

from vecchess.chess.unpack_planes import unpack_planes
from vecchess.networks.module_net import create_module_net
from vecchess.selfplay.worker.random_requests import random_requests

NET, ROWS = "module:examples.snntorch_rate_coded.served:make?steps=4", 8


def test_answers_are_the_same_in_any_slot() -> None:
    assert is_the_same_in_any_slot(NET, num_rows=6)


@torch.no_grad()
def test_answers_are_those_of_the_networks_own_loop() -> None:
    """Each output is rounded to the server's units."""
    net = create_module_net(f"{NET}&chunk={ROWS}", seed=0)
    own = net.module().net
    own.num_steps = 4
    for neuron in (own.lif1, own.lif2, own.lif3):
        del neuron.reset_mem  # the adapter's
    requests = random_requests(ROWS, 2, 25)
    _, outcomes = own(torch.from_numpy(unpack_planes(requests.planes)))
    expected = (outcomes * 2.0**net.unit_bits).round().sum(0).numpy().astype(np.int32)
    _, wdl, steps = served(f"{NET}&chunk={ROWS}", ROWS, list(range(ROWS)), ROWS)
    assert (steps == 4).all()  # the exit rule's fewest, and T
    assert np.array_equal(wdl, expected)
