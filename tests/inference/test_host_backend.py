"""Two backends, one answer: for any number of slots, order of admission and mixture of steps."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inference.requests import Answers, answer, ask, same
from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.chess.planes import num_planes
from vecchess.chess.sample import random_planes
from vecchess.errors import ConfigError, NetworkError
from vecchess.inference.backend import Backend
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.cpu.backend import (
    MEMBERS_TO_LEARN,
    CpuBackend,
    KernelChoice,
    KernelCosts,
)
from vecchess.inference.engine import answer_all
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.snn.initialise import new_network
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet, Layer
from vecchess.snn.presets import NetConfig, preset
from vecchess.snn.topology import neuron_layers
from vecchess.snn.torch_integer import from_integers, network_input

NUM_ROWS = 16
RULES = [
    ExitRule.never(),
    ExitRule(),
    ExitRule(min_steps=1, policy_margin=2000, best_move_unchanged=False),
    ExitRule(value_drift=400),
    ExitRule(min_steps=1, best_move_unchanged=False, value_drift=400),
]


@cache
def _net(
    blocks: int = 2, channels: int = 32, time_steps: int = 4, heavy: bool = False
) -> IntegerNet:
    config = NetConfig(
        num_planes=NUM_PLANES, blocks=blocks, channels=channels, time_steps=time_steps
    )
    net = new_network(config, 1, random_positions(16, 1)[0])
    return _with_heavy_rows(net) if heavy else net


def _with_heavy_rows(net: IntegerNet) -> IntegerNet:
    """The net with one output channel whose sums may leave int16, so that int32 is used."""
    layer = net.layers["block0.first"]
    weight, shift = layer.weight.copy(), layer.shift.copy()
    weight[5], shift[5] = 127, 7
    heavy = Layer(weight, shift, layer.bias)
    return replace(net, layers=net.layers | {"block0.first": heavy})


@cache
def _expected(net_key: tuple[int, int, int, bool], rule: ExitRule) -> Answers:
    """One position at a time through the reference."""
    requests = ask(NUM_ROWS)
    backend = open_backend("reference", _net(*net_key), 1, rule)
    return answer(backend, requests, list(range(NUM_ROWS)), 1)


@settings(max_examples=15, deadline=None)
@given(
    name=st.sampled_from(["cpu", "reference"]),
    rule=st.sampled_from(RULES),
    num_slots=st.integers(1, 30),
    stride=st.integers(1, 12),
    threads=st.integers(1, 3),
    order=st.permutations(range(NUM_ROWS)),
)
def test_any_schedule_gives_the_same_bits(
    name: str, rule: ExitRule, num_slots: int, stride: int, threads: int, order: list[int]
) -> None:
    backend = open_backend(name, _net(), num_slots, rule, threads=threads)
    got = answer(backend, ask(NUM_ROWS), order, stride)
    assert same(got, _expected((2, 32, 4, False), rule))


@pytest.mark.parametrize(
    "key",
    [
        (1, 64, 4, False),
        (1, 96, 4, False),
        (1, 128, 1, False),
        (1, 32, 12, False),
        (1, 32, 4, True),
        (2, 64, 4, True),
    ],
)
def test_sizes_and_step_counts_agree(key: tuple[int, int, int, bool]) -> None:
    backend = open_backend("cpu", _net(*key), 9, ExitRule.never())
    got = answer(backend, ask(NUM_ROWS), list(range(NUM_ROWS)), 4)
    assert same(got, _expected(key, ExitRule.never()))
    assert check_bounds(_net(*key)).int16_sums is not key[3]


KINDS = {
    "residual": NetConfig(num_planes=NUM_PLANES, blocks=2, channels=64, time_steps=3),
    "graded": NetConfig(
        num_planes=NUM_PLANES,
        blocks=2,
        channels=64,
        value_channels=20,
        readout="graded",
        time_steps=4,
    ),
    "twin": NetConfig(num_planes=NUM_PLANES, blocks=2, channels=64, neuron="relu", time_steps=1),
    "plain": NetConfig(num_planes=NUM_PLANES, kind="plain", widths=(32, 64, 96), time_steps=6),
    "rate-coded": NetConfig(
        num_planes=NUM_PLANES, kind="plain", widths=(32, 96), time_steps=5, input_rate=9
    ),
}


@cache
def _kind(name: str) -> IntegerNet:
    return new_network(KINDS[name], 1, random_positions(16, 1)[0])


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("rule", [ExitRule.never(), ExitRule()])
@pytest.mark.parametrize("kind", list(KINDS))
def test_kinds_of_networks_agree_whatever_the_kernel(
    kind: str, rule: ExitRule, dense: bool
) -> None:
    rows = list(range(NUM_ROWS))
    expected = answer(open_backend("reference", _kind(kind), 7, rule), ask(NUM_ROWS), rows, 7)
    backend = CpuBackend(_kind(kind), 5, rule, dense=dense)
    assert same(answer(backend, ask(NUM_ROWS), rows, 5), expected)
    assert len(np.unique(expected[0])) > 50


@pytest.mark.parametrize("rule", [ExitRule(), RULES[-1]])
def test_the_only_legal_move_may_leave_within_the_steps_taken_at_once(rule: ExitRule) -> None:
    rows, asked = list(range(NUM_ROWS)), [ask(NUM_ROWS) for _ in range(2)]
    for requests in asked:
        requests.num_legal[::3] = 1
    expected = answer(open_backend("reference", _kind("graded"), 7, rule), asked[0], rows, 7)
    found = answer(CpuBackend(_kind("graded"), 24, rule), asked[1], rows, 24)
    assert np.array_equal(found[1], expected[1])
    assert np.array_equal(found[2], expected[2])
    for row, count in enumerate(asked[0].num_legal):
        assert np.array_equal(found[0][row, :count], expected[0][row, :count])
    assert set(found[2][::3]) == {rule.min_steps}
    assert set(found[2]) > {rule.min_steps}


@pytest.mark.parametrize("history", [2, 8])
@pytest.mark.parametrize("dense", [False, True])
def test_planes_of_earlier_positions_count(history: int, dense: bool) -> None:
    """More planes than two words of a mask; what the last of them show counts."""
    asked = [random_requests(NUM_ROWS, 3, num_planes(history)) for _ in range(3)]
    config = KINDS["residual"].model_copy(update={"num_planes": asked[0].planes.shape[1]})
    net, rows = (
        new_network(config, 1, random_planes(16, 1, num_planes(history))),
        list(range(NUM_ROWS)),
    )
    expected = answer(open_backend("reference", net, 7, ExitRule()), asked[0], rows, 7)
    backend = CpuBackend(net, 5, ExitRule(), dense=dense)
    assert same(answer(backend, asked[1], rows, 5), expected)
    asked[2].planes[:, -12:] = 0
    assert not np.array_equal(answer(backend, asked[2], rows, 5)[0], expected[0])


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("threads", [1, 2])
def test_all_steps_of_a_layer_at_once_are_the_same(kind: str, threads: int) -> None:
    rows, requests = list(range(NUM_ROWS)), ask(NUM_ROWS)
    reference = open_backend("reference", _kind(kind), 7, ExitRule.never())
    expected = answer(reference, ask(NUM_ROWS), rows, 7)
    backend = CpuBackend(_kind(kind), 1, ExitRule.never(), threads)
    backend.answer(requests, np.array(rows, np.int32))
    assert same((requests.policy, requests.wdl, requests.steps), expected)


def test_another_network_takes_the_place_of_the_first() -> None:
    rows = list(range(NUM_ROWS))
    other = new_network(KINDS["residual"], 2, random_positions(16, 1)[0])
    backend = open_backend("cpu", _kind("residual"), 5, ExitRule())
    first = answer(backend, ask(NUM_ROWS), rows, 5)
    with pytest.raises(ValueError, match="other sizes"):
        backend.replace_network(_kind("plain"))
    backend.replace_network(other)
    second = answer(backend, ask(NUM_ROWS), rows, 5)
    assert same(second, answer(open_backend("cpu", other, 5, ExitRule()), ask(NUM_ROWS), rows, 5))
    assert not same(second, first)
    backend.admit(_ints(0), ask(1), _ints(0))
    with pytest.raises(ValueError, match="occupied"):
        backend.replace_network(other)


def test_kernels_follow_the_density_of_spikes() -> None:
    config = KINDS["residual"]
    choice = KernelChoice(config, np.int16)
    choice.costs = [KernelCosts(dense=10.0, silent=1.0, per_density=30.0)] * 4  # even at 0.3
    neurons = np.array(list(neuron_layers(config).values()))
    fired = np.zeros(len(neurons), np.int64)

    def live(density: float) -> list[bool]:
        fired[:] += (density * MEMBERS_TO_LEARN * neurons).astype(np.int64)
        choice.learn(MEMBERS_TO_LEARN, [fired // 2, fired - fired // 2])
        return choice.is_dense.tolist()

    assert live(0.1) == [False] * 5
    assert live(0.5) == [False] + [True] * 4
    assert live(0.305) == [False] + [True] * 4  # nearly even: stays
    assert live(0.2) == [False] * 5


@pytest.mark.parametrize("dense", [False, True])
def test_a_kernel_that_was_chosen_by_hand_is_kept(dense: bool) -> None:
    choice = KernelChoice(KINDS["residual"], np.int16, dense)
    choice.learn(MEMBERS_TO_LEARN, [np.zeros(len(neuron_layers(KINDS["residual"])), np.int64)])
    assert choice.is_dense.tolist() == [False] + [dense] * 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["small", "base", "large"])
def test_presets_agree(name: str) -> None:
    net = new_network(preset(name, NUM_PLANES), 1, random_positions(32, 1)[0])
    requests, again = ask(10), ask(10)
    rows = list(range(10))
    ours = answer(open_backend("cpu", net, 4), requests, rows, 3)
    assert same(ours, answer(open_backend("reference", net, 10), again, rows, 10))


def test_answers_are_the_modules_forward() -> None:
    net, requests = _net(), ask(NUM_ROWS)
    policy, wdl, steps = answer(
        open_backend("cpu", net, 5, ExitRule()), requests, list(range(NUM_ROWS)), 5
    )
    with torch.no_grad():
        output = from_integers(net)(network_input(net.config, requests.planes))
    for row in range(NUM_ROWS):
        t, count = steps[row] - 1, requests.num_legal[row]
        moves = requests.legal[row, :count].astype(int)
        unit = 2.0**net.config.grid_bits
        assert np.array_equal(policy[row, :count], output.policy[t, row].numpy()[moves] * unit)
        assert np.array_equal(wdl[row], output.wdl[t, row].numpy() * unit)
        assert not policy[row, count:].any()
    assert 2 <= steps.mean() < 4


@pytest.fixture(params=["cpu", "reference"])
def backend(request: pytest.FixtureRequest) -> Backend:
    return open_backend(request.param, _net(), 4, ExitRule.never())


def _ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


def test_nothing_occupied_is_fine(backend: Backend) -> None:
    backend.admit(_ints(), ask(4), _ints())
    backend.advance()
    assert backend.settled().tolist() == []


def test_slot_is_free_only_after_it_was_reported_settled(backend: Backend) -> None:
    requests = ask(4)
    backend.admit(_ints(2), requests, _ints(0))
    with pytest.raises(ValueError, match="not free"):
        backend.admit(_ints(2), requests, _ints(1))
    for _ in range(backend.time_steps + 2):
        backend.advance()
    assert backend.settled().tolist() == [2]
    assert backend.settled().tolist() == []
    assert requests.steps.tolist() == [backend.time_steps, 0, 0, 0]
    backend.admit(_ints(2), requests, _ints(1))


def test_a_slot_is_given_to_one_question(backend: Backend) -> None:
    with pytest.raises(ValueError, match="not free"):
        backend.admit(_ints(3, 0, 3), ask(4), _ints(0, 1, 2))
    backend.admit(_ints(3, 0, 1), ask(4), _ints(0, 1, 2))


@pytest.mark.parametrize("count", [0, 219, 255])
def test_question_without_moves_or_with_too_many_is_refused(backend: Backend, count: int) -> None:
    requests = ask(4)
    requests.num_legal[1] = count
    with pytest.raises(ValueError, match="legal moves"):
        backend.admit(_ints(0, 1), requests, _ints(0, 1))


def test_question_with_other_planes_is_refused(backend: Backend) -> None:
    """Kernels would read beyond its rows."""
    requests = random_requests(2, 1, num_planes(tactical=True))
    with pytest.raises(ValueError, match="have 36 planes, the network sees 25"):
        backend.admit(_ints(0), requests, _ints(1))


def test_stored_rule_is_taken_unless_another_is_given() -> None:
    net = replace(_net(), exit_rule=ExitRule.never().to_metadata())
    rows = list(range(NUM_ROWS))
    assert set(answer(open_backend("auto", net, 6), ask(NUM_ROWS), rows, 6)[2]) == {4}
    assert answer(open_backend("auto", net, 6, ExitRule()), ask(NUM_ROWS), rows, 6)[2].min() < 4


def test_wrong_names_devices_and_networks_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"no backend 'tpu'; there are .*cpu.*reference"):
        open_backend("tpu", _net(), 1)
    with pytest.raises(ConfigError, match="no device 'abacus'"):
        open_backend("reference", _net(), 1, device="abacus")
    with pytest.raises(ConfigError, match="slot"):
        open_backend("cpu", _net(), 0)
    layer = _net().layers["stem"]
    broken = Layer(layer.weight, layer.shift, layer.bias + np.int32(1 << 22))
    net = replace(_net(), layers=_net().layers | {"stem": broken})
    for name in ("cpu", "reference"):
        with pytest.raises(NetworkError, match="not exact"):
            open_backend(name, net, 1)


@pytest.mark.parametrize("name", ["cpu", "reference"])
def test_what_an_interrupted_engine_left_is_no_part_of_the_next(name: str) -> None:
    backend, wanted, found = open_backend(name, _net(), 8), ask(NUM_ROWS), ask(NUM_ROWS)
    some = np.arange(5, dtype=np.int32)
    backend.admit(some, ask(5), some)
    backend.advance()
    answer_all(backend, found)
    answer_all(open_backend(name, _net(), 8), wanted)
    assert all((one == other).all() for one, other in zip(wanted, found, strict=True))
