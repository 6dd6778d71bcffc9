"""Networks that read inputs of moves: each backend adds the same to the policy at each step."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from tests.chess.test_move_inputs import numbers_of
from tests.inference.requests import answer, same
from vecchess.chess.move_inputs import NUM_MOVE_INPUTS, SIZES
from vecchess.chess.planes import MOVE_WORDS, board_planes, num_planes
from vecchess.export.nir_graph import from_nir, to_nir
from vecchess.export.onnx_export import check_parity
from vecchess.export.onnx_net import to_onnx
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.requests import Requests
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.shapes import MAX_MOVES
from vecchess.snn.create import create_sized, with_move_inputs
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet, Layer
from vecchess.snn.presets import NetConfig
from vecchess.snn.topology import MOVES
from vecchess.snn.torch_integer import from_integers, to_integers

WORDS = num_planes(moves=True)
NUM_ROWS = 12
KINDS = {
    "spikes": {"blocks": 1, "channels": 32},
    "graded": {"blocks": 2, "channels": 64, "readout": "graded"},
    "twin": {"blocks": 1, "channels": 64, "neuron": "relu", "time_steps": 1},
    "plain": {"kind": "plain", "widths": (32, 64)},
}


@cache
def net_of(kind: str, num_words: int = WORDS) -> IntegerNet:
    """A network whose inputs of moves say something at random."""
    sizes = {"num_planes": num_words, "time_steps": 3, **KINDS[kind]}
    net = create_sized(NetConfig.model_validate(sizes), 1)
    weight = np.random.default_rng(5).integers(-127, 128, (1, NUM_MOVE_INPUTS)).astype(np.int8)
    moves = Layer(weight, np.full(1, 6, np.uint8), np.full(1, -700, np.int32))
    return replace(net, layers=net.layers | {MOVES: moves})


def without_moves(net: IntegerNet) -> IntegerNet:
    sizes = net.config.model_copy(update={"num_planes": board_planes(net.config.num_planes)})
    layers = {name: layer for name, layer in net.layers.items() if name != MOVES}
    return replace(net, config=sizes, layers=layers)


def asked(num_words: int = WORDS) -> Requests:
    return random_requests(NUM_ROWS, 3, num_words)


@pytest.mark.parametrize("rule", [ExitRule.never(), ExitRule()])
@pytest.mark.parametrize("kind", list(KINDS))
def test_backends_agree(kind: str, rule: ExitRule) -> None:
    rows = list(range(NUM_ROWS))
    backends = [
        open_backend("reference", net_of(kind), 5, rule),
        open_backend("cpu", net_of(kind), 7, rule, threads=2),
    ]
    found = [answer(backend, asked(), rows, 3) for backend in backends]
    assert same(*found)


@pytest.mark.parametrize("kind", list(KINDS))
def test_what_is_added_is_the_sum_of_four_weights_at_each_step(kind: str) -> None:
    net, rows, rule = net_of(kind), list(range(NUM_ROWS)), ExitRule.never()
    words = asked()
    policy, wdl, steps = answer(open_backend("cpu", net, 4, rule), words, rows, 4)
    plain = asked(board_planes(WORDS))
    before = answer(open_backend("cpu", without_moves(net), 4, rule), plain, rows, 4)
    numbers = numbers_of(words.planes[:, -MOVE_WORDS:].view(np.uint16))
    numbers[..., 1] += 9
    weights = net.layers[MOVES].weight[0].astype(np.int64)
    starts = np.cumsum([0, *SIZES[:-1]])
    added = (weights[numbers + starts].sum(-1)[:, :MAX_MOVES] << 13 - 6) - (700 << 3)
    is_move = np.arange(MAX_MOVES) < words.num_legal[:, None]
    wanted = before[0] + added * steps[:, None]
    assert np.array_equal(policy[is_move], wanted[is_move])
    assert np.array_equal(wdl, before[1])


def test_the_module_computes_the_same_and_goes_there_and_back() -> None:
    net, words = net_of("graded", num_planes(2, True, True)), asked(num_planes(2, True, True))
    module = from_integers(net).eval()
    assert replace(to_integers(module), exit_rule=net.exit_rule).sha256 == net.sha256
    legal = torch.from_numpy(words.legal.astype(np.int64))
    with torch.no_grad():
        output = module(torch.from_numpy(words.planes.view(np.int64)), legal=legal)
    backend = open_backend("cpu", net, 4, ExitRule.never())
    policy, wdl, _ = answer(backend, words, list(range(NUM_ROWS)), 4)
    is_move = np.arange(MAX_MOVES) < words.num_legal[:, None]
    found = (output.policy[-1] * 2.0**13).to(torch.int32).numpy()
    assert np.array_equal(found[is_move], policy[is_move])
    assert np.array_equal((output.wdl[-1] * 2.0**13).to(torch.int32).numpy(), wdl)


def test_a_network_that_begins_to_read_moves_answers_as_before() -> None:
    net = without_moves(net_of("graded"))
    reading, rows = with_move_inputs(net), list(range(NUM_ROWS))
    assert reading.config.num_planes == WORDS
    found = answer(open_backend("cpu", reading, 4, ExitRule()), asked(), rows, 4)
    plain = asked(board_planes(WORDS))
    before = answer(open_backend("cpu", net, 4, ExitRule()), plain, rows, 4)
    is_move = np.arange(MAX_MOVES) < plain.num_legal[:, None]
    assert np.array_equal(found[0][is_move], before[0][is_move])
    assert all(np.array_equal(a, b) for a, b in zip(found[1:], before[1:], strict=True))
    assert with_move_inputs(reading) is reading


def test_their_weights_learn_in_an_order_that_no_thread_decides() -> None:
    module, words = from_integers(net_of("graded")).train(), asked()
    planes = torch.from_numpy(words.planes.view(np.int64))
    legal = torch.from_numpy(words.legal[:, :40].astype(np.int64))
    chosen = torch.randn(3, NUM_ROWS, 40, generator=torch.Generator().manual_seed(1))

    def gradients(threads: int) -> torch.Tensor:
        torch.set_num_threads(threads)
        module.zero_grad()
        (module(planes, legal=legal).policy * chosen).sum().backward()
        gradient = module.layer(MOVES).weight.grad
        assert module.layer(MOVES).bias.grad is None
        assert gradient is not None
        return gradient.clone()

    before = torch.get_num_threads()
    try:
        first, second = gradients(1), gradients(2)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(first, second)
    weights = module.layer(MOVES).weight.detach().clone().requires_grad_()
    codes = words.planes[:, -MOVE_WORDS:].view(np.uint16)[:, :40]
    numbers = numbers_of(codes) + np.array([0, 6 + 9, 6 + 19, 6 + 19 + 10])
    times = torch.arange(1, 4)[:, None, None]
    (times * weights[0][torch.from_numpy(numbers)].sum(-1) * chosen).sum().backward()
    assert weights.grad is not None
    torch.testing.assert_close(first, weights.grad, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kind", ["graded", "plain"])
def test_other_formats_have_them(kind: str) -> None:
    net = net_of(kind)
    found = check_parity(net, to_onnx(net).SerializeToString(), 3, 20)
    assert (found.positions, found.different) == (20, 0)
    assert found.numbers > 20 * 20
    assert from_nir(to_nir(net)).sha256 == net.sha256
