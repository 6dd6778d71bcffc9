"""A module of the user in slots: the same bits in any slot, by any schedule, and the exit rule."""

import numpy as np
import pytest
import torch

from tests.inference.requests import answer, same
from tests.networks.slots import is_the_same_in_any_slot, served
from vecchess.chess.unpack_planes import unpack_planes
from vecchess.errors import NetworkError
from vecchess.inference.backend_registry import open_backend
from vecchess.networks.module_net import create_module_net
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.snn.integer.integer_net import ExitRule

HERE = "module:tests.networks.modules"
ROWS = 10


@pytest.mark.parametrize("net", ["leaking", "leaking?least=2", "leaking?chunk=1", "counting"])
def test_answers_depend_on_the_position_alone(net: str) -> None:
    assert is_the_same_in_any_slot(f"{HERE}:{net}")


@pytest.mark.parametrize("readout", ["mean", "last"])
def test_answers_are_those_of_the_module_step_by_step(readout: str) -> None:
    """Outputs are 0.25, 0.5, ... 1.25, exact in binary."""
    policy, wdl, steps = served(f"{HERE}:counting?readout={readout}", 4, list(range(ROWS)), 3)
    unit = 1 << create_module_net(f"{HERE}:counting", seed=0).unit_bits
    total = 0.25 * (1 + 2 + 3 + 4 + 5) if readout == "mean" else 5 * 1.25
    assert (steps == 5).all()
    assert (wdl == total * unit).all()
    assert (policy[:, 0] == total * unit).all()


def test_answers_are_those_of_a_plain_loop() -> None:
    """Rounded step by step, in one batch."""
    net = create_module_net(f"{HERE}:leaking?chunk={ROWS}", seed=0)
    requests = random_requests(ROWS, 2, 25)
    module, planes = net.module(), torch.from_numpy(unpack_planes(requests.planes))
    sums = [torch.zeros(ROWS, 4672), torch.zeros(ROWS, 3)]
    with torch.inference_mode():
        state = module.initial_state(ROWS)
        for _ in range(module.time_steps):
            policy, wdl, state = module.forward(planes, state)
            for total, part in zip(sums, (policy, wdl), strict=True):
                total += (part * 2.0**net.unit_bits).round()
    backend = open_backend("auto", net, ROWS)
    found = answer(backend, requests, list(range(ROWS)), ROWS)
    assert np.array_equal(found[1], sums[1].numpy().astype(np.int32))
    for row in range(ROWS):
        legal = requests.legal[row, : requests.num_legal[row]].astype(np.int64)
        expected = sums[0][row, torch.from_numpy(legal)].numpy().astype(np.int32)
        assert np.array_equal(found[0][row, : len(legal)], expected)


def test_exits_are_those_of_the_rule() -> None:
    order = list(range(ROWS))
    full = served(f"{HERE}:leaking", 3, order, 2)
    early = served(f"{HERE}:leaking?least=2", 3, order, 2)
    assert (full[2] == 4).all()
    assert early[2].min() == 2
    late = early[2] == 4
    assert np.array_equal(early[0][late], full[0][late])


def test_other_weights_take_the_place() -> None:
    order, requests = list(range(ROWS)), random_requests(ROWS, 2, 25)
    first, second = (create_module_net(f"{HERE}:leaking", seed) for seed in (0, 1))
    backend = open_backend("auto", first, 4, threads=2)
    answer(backend, requests, order, 2)
    backend.replace_network(second)
    replaced = answer(backend, requests, order, 2)
    assert same(replaced, answer(open_backend("auto", second, 4), requests, order, 2))
    other = create_module_net(f"{HERE}:leaking?least=2", seed=0)
    with pytest.raises(ValueError, match="other sizes"):
        backend.replace_network(other)


def test_no_slot_takes_more_than_its_steps() -> None:
    """Also one that is empty: the module would fail at a sixth step."""
    found = served(f"{HERE}:strict", 3, list(range(ROWS)), 1)
    assert (found[2] == 5).all()


def test_nan_is_an_error() -> None:
    net = create_module_net(f"{HERE}:leaking", seed=0)
    backend = open_backend("auto", net, 2)
    net.tensors["wdl.bias"][0] = torch.nan
    backend.replace_network(net)
    with pytest.raises(NetworkError, match="win/draw/loss is nan in step 1 of"):
        answer(backend, random_requests(2, 2, 25), [0, 1], 2)


def test_the_users_rule_can_be_overruled() -> None:
    net = create_module_net(f"{HERE}:leaking?least=1", seed=0)
    backend = open_backend("auto", net, 2, ExitRule.never())
    found = answer(backend, random_requests(4, 2, 25), list(range(4)), 2)
    assert (found[2] == 4).all()
