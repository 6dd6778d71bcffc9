"""Triton kernels against the reference, to the bit: compiled on a GPU, otherwise interpreted."""

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("triton")

from tests.inference.requests import answer, ask, same
from tests.selfplay.playing import play
from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.chess.move_inputs import NUM_MOVE_INPUTS
from vecchess.chess.planes import NUM_PLANES as CHESS_PLANES
from vecchess.chess.planes import num_planes
from vecchess.chess.sample import random_planes
from vecchess.config import GameConfig
from vecchess.errors import ConfigError, NetworkError
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.cuda import backend as cuda_backend
from vecchess.inference.cuda import staging
from vecchess.inference.cuda.backend import CudaBackend
from vecchess.inference.cuda.state import SlotState
from vecchess.inference.cuda.tiles import Tile
from vecchess.inference.engine import SlotEngine, answer_all
from vecchess.inference.requests import Requests
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.shapes import MAX_MOVES, NUM_ACTIONS
from vecchess.snn.create import create_sized
from vecchess.snn.initialise import new_network
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet, Layer
from vecchess.snn.presets import NetConfig
from vecchess.snn.topology import MOVES

DEVICE = "cuda:0" if torch.cuda.is_available() else "cpu"
NUM_ROWS = 3
SURE = ExitRule(min_steps=1, policy_margin=2000, best_move_unchanged=False)
DRIFT = ExitRule(value_drift=400)
CHESS = NetConfig(num_planes=CHESS_PLANES, blocks=1, channels=32, time_steps=3)
SMALL = {"num_planes": NUM_PLANES, "blocks": 1, "channels": 32, "time_steps": 3}


@cache
def _new(config: NetConfig, seed: int = 1) -> IntegerNet:
    planes = random_positions(16, 1)[0]
    columns = np.arange(config.num_planes) % NUM_PLANES
    return new_network(config, seed, planes[:, columns])


def _net(seed: int = 1, **sizes: object) -> IntegerNet:
    return _new(NetConfig.model_validate(SMALL | sizes), seed)


def _quiet(net: IntegerNet) -> IntegerNet:
    """The net with weights so small, and biases so large, that membranes fit 16 bits and fire."""

    def quieten(layer: Layer) -> Layer:
        bias = np.full_like(layer.bias, 700 << net.config.weight_bits >> net.config.grid_bits)
        return Layer((layer.weight // 16).astype(np.int8), layer.shift, bias)

    return replace(net, layers={name: quieten(layer) for name, layer in net.layers.items()})


def _check(
    net: IntegerNet,
    rule: ExitRule,
    tile: Tile | None = None,
    requests: Requests | None = None,
    num_slots: int = 2,
    stride: int = 2,
) -> CudaBackend:
    """Staggered admissions into few slots give what the reference says of all rows at once."""
    requests = requests or ask(NUM_ROWS)
    rows = list(range(requests.num_rows))
    backend = CudaBackend(net, num_slots, rule, DEVICE, tile)
    got = answer(backend, requests, rows[::-1], stride)
    alone = open_backend("reference", net, len(rows), rule)
    assert same(got, answer(alone, requests, rows, len(rows)))
    return backend


CASES = {
    "all steps": ({}, ExitRule.never()),
    "sure of the move": ({"channels": 64}, SURE),
    "steady value": ({}, DRIFT),
    "one step": ({"channels": 128, "time_steps": 1}, ExitRule()),
    "three pieces of channels": ({"channels": 96, "time_steps": 1}, ExitRule()),
    "many value channels": ({"value_channels": 20, "time_steps": 2}, DRIFT),
    "coarse grid": ({"grid_bits": 10, "time_steps": 2}, ExitRule()),
    "graded readout": ({"readout": "graded", "blocks": 2, "time_steps": 2}, ExitRule()),
    "activations": ({"neuron": "relu", "time_steps": 1, "blocks": 2}, ExitRule()),
}


@pytest.mark.thorough
def test_inputs_of_moves_are_read() -> None:
    words = num_planes(moves=True)
    sizes = NetConfig(num_planes=words, blocks=1, channels=32, time_steps=2, readout="graded")
    net = create_sized(sizes, 1)
    weight = np.random.default_rng(5).integers(-127, 128, (1, NUM_MOVE_INPUTS)).astype(np.int8)
    moves = Layer(weight, np.full(1, 6, np.uint8), np.full(1, 90, np.int32))
    net = replace(net, layers=net.layers | {MOVES: moves})
    backend = _check(net, ExitRule(), requests=random_requests(NUM_ROWS, 3, words))
    other = replace(net, layers=net.layers | {MOVES: replace(moves, weight=-weight)})
    backend.replace_network(other)
    requests, rows = random_requests(NUM_ROWS, 3, words), list(range(NUM_ROWS))
    alone = open_backend("reference", other, NUM_ROWS, ExitRule())
    wanted = answer(alone, random_requests(NUM_ROWS, 3, words), rows, NUM_ROWS)
    assert same(answer(backend, requests, rows, 2), wanted)


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES)
def test_any_network_and_rule_gives_the_same_bits(case: str) -> None:
    sizes, rule = CASES[case]
    net = _net(**sizes)
    _check(net, rule, requests=ask(NUM_ROWS if net.config.time_steps > 1 else 2))


TILES = [
    Tile(1, 32, 32, 16),
    pytest.param(Tile(1, 32, 64, 32, 8), marks=pytest.mark.slow),
    pytest.param(Tile(2, 32, 64, 32, 8), marks=pytest.mark.slow),
    Tile(4, 64, 32, 16, bytes=16),
    pytest.param(Tile(2, 64, 32, 32, 8, steps=2), marks=pytest.mark.slow),
    Tile(1, 32, 64, 16, 16, steps=2),
]


@pytest.mark.thorough
@pytest.mark.parametrize("tile", TILES)
def test_any_tile_gives_the_same_bits(tile: Tile) -> None:
    _check(_net(channels=64, time_steps=2), ExitRule(), tile, ask(3), num_slots=3)


TWO_STEPS = {
    "an odd T": ({}, ExitRule.never()),
    "one step": ({"time_steps": 1}, ExitRule()),
    "exits at odd steps": (
        {"time_steps": 5, "readout": "graded"},
        replace(SURE, policy_margin=4000),
    ),
    "steady value": ({"time_steps": 4}, DRIFT),
    "the default rule": ({"readout": "graded", "blocks": 2}, ExitRule()),
}


@pytest.mark.thorough
@pytest.mark.parametrize("case", TWO_STEPS)
def test_two_steps_a_launch_give_the_same_bits(case: str) -> None:
    """Each step is judged; what is computed beyond the step at which a slot settles is not used."""
    sizes, rule = TWO_STEPS[case]
    requests = ask(7 if case == "exits at odd steps" else 4)
    _check(_net(**sizes), rule, Tile(4, 32, 32, 32, steps=2), requests, num_slots=3)
    if case == "exits at odd steps":
        assert set(requests.steps) == {1, 2, 5}


def _begun(steps: int, **sizes: object) -> CudaBackend:
    """Two of three slots occupied, all of whose steps are taken; a launch takes ``steps``."""
    tile = Tile(2, 32, 32, 32, steps=steps)
    backend = CudaBackend(_net(**sizes), 3, ExitRule.never(), DEVICE, tile)
    backend.admit(np.array([0, 2], np.int32), ask(2), np.array([0, 1], np.int32))
    return backend


@pytest.mark.thorough
def test_two_steps_a_launch_leave_the_same_state() -> None:
    one, two = (_begun(steps, blocks=2, time_steps=4) for steps in (1, 2))
    assert (one.steps_at_once, two.steps_at_once) == (1, 2)
    for backend in (one, one, two):
        backend.advance()
    for name in ("membranes", "value_membranes", "policy", "wdl", "best_move", "steps", "busy"):
        assert torch.equal(getattr(one._state, name), getattr(two._state, name)), name
    assert one._state.membranes[2].any()


@pytest.mark.thorough
@pytest.mark.parametrize(("steps", "time_steps"), [(1, 2), (2, 3), (2, 4)])
def test_the_last_launch_of_a_position_writes_no_membranes(steps: int, time_steps: int) -> None:
    backend = _begun(steps, time_steps=time_steps)
    membranes = backend._state.membranes
    backend.advance()
    before = membranes.clone()
    backend.advance()
    assert before.any()
    assert torch.equal(membranes, before)


@pytest.mark.thorough
@pytest.mark.parametrize("steps", [1, 2])
def test_sixteen_bit_membranes_give_the_same_bits(steps: int) -> None:
    net = _quiet(_net(grid_bits=10, time_steps=4))
    backend = _check(net, ExitRule.never(), Tile(8, 32, 32, 32, steps=steps))
    widths = backend._widths
    assert (widths.membranes, widths.value_membranes) == (torch.int16, torch.int16)
    assert widths.stream == torch.int16
    assert (backend._state.spikes.sum() > 0).item()


@pytest.mark.thorough
def test_widest_questions() -> None:
    """More planes than a product takes at a time, 218 moves, one move, the last action."""
    rng = np.random.default_rng(4)
    requests = Requests.empty(4, 40)
    requests.planes[:] = rng.integers(0, 2**64, (4, 40), np.uint64)
    requests.num_legal[:] = [MAX_MOVES, 1, 33, 32]
    requests.legal[:] = rng.integers(0, NUM_ACTIONS, requests.legal.shape)
    requests.legal[2, 32] = NUM_ACTIONS - 1
    requests.legal[1, 1:] = 0xFFFF  # beyond the legal moves lies what was there before
    _check(_net(num_planes=40, time_steps=3), ExitRule(), requests=requests)
    assert requests.steps[1] == 2


@pytest.mark.thorough
@pytest.mark.parametrize("steps", [1, 2])
def test_self_play_makes_the_same_games(steps: int) -> None:
    """The whole way: movers, engine, a backend that answers one launch late, of one time step or
    two."""
    net, config = new_network(CHESS, 1, random_requests(16, 1).planes), GameConfig(max_plies=3)
    tile = Tile(8, 32, 32, 32, steps=steps)
    ours = play(config, 2, CudaBackend(net, 2, ExitRule(), DEVICE, tile), seats=2)
    theirs = play(config, 2, open_backend("cpu", net, 3, ExitRule()), seats=2)
    assert ours.num_games == 2
    assert ours.digest() == theirs.digest()
    assert np.array_equal(ours.fingerprint, theirs.fingerprint)
    assert np.array_equal(ours.tag, theirs.tag)


@pytest.mark.thorough
def test_eight_positions_of_a_game() -> None:
    planes = random_planes(16, 1, num_planes(8))
    net = new_network(CHESS.model_copy(update={"num_planes": 109}), 1, planes)
    _check(net, ExitRule(), requests=random_requests(3, 2, num_planes(8)))


def test_a_step_without_occupied_slots_changes_nothing() -> None:
    backend = CudaBackend(_net(), 4, ExitRule(), DEVICE)
    requests = ask(4)
    for _ in range(3):
        backend.advance()
        assert backend.settled().tolist() == []
    answer(backend, requests, [0, 1, 2, 3], 4)
    others = ask(4)
    answer(open_backend("reference", _net(), 4, ExitRule()), others, [0, 1, 2, 3], 4)
    assert np.array_equal(requests.policy, others.policy)


def test_answers_come_one_step_late_and_slots_are_free_only_then() -> None:
    backend, requests = CudaBackend(_net(time_steps=2), 4, ExitRule.never(), DEVICE), ask(4)
    seat = np.array([2], np.int32), requests, np.array([0], np.int32)
    backend.admit(*seat)
    with pytest.raises(ValueError, match="not free"):
        backend.admit(*seat)
    backend.advance()
    assert backend.settled().tolist() == []
    backend.advance()
    backend.advance()
    assert backend.settled().tolist() == [2]
    assert backend.settled().tolist() == []
    backend.admit(*seat)
    requests.num_legal[1] = 0
    with pytest.raises(ValueError, match="legal moves"):
        backend.admit(np.array([0], np.int32), requests, np.array([1], np.int32))


@pytest.mark.thorough
def test_weights_are_swapped_under_the_recorded_step() -> None:
    first, second = (_net(seed, time_steps=2) for seed in (1, 2))
    backend = CudaBackend(first, 3, ExitRule(), DEVICE)
    step, rows = backend._step, list(range(3))
    for net in (second, first):
        backend.replace_network(net)
        got = answer(backend, ask(3), rows, 2)
        reference = open_backend("reference", net, 3, ExitRule())
        assert same(got, answer(reference, ask(3), rows, 3))
        assert backend.policy_scale == net.policy_scale
    assert backend._step is step


@pytest.mark.thorough
def test_wider_membranes_are_made_when_a_new_network_needs_them() -> None:
    net = _net(grid_bits=10, time_steps=2)
    backend = CudaBackend(_quiet(net), 2, ExitRule(), DEVICE)
    answer(backend, ask(2), [0, 1], 2)
    backend.replace_network(net)
    assert backend._widths.membranes == torch.int32
    got = answer(backend, ask(2), [0, 1], 2)
    reference = open_backend("reference", net, 2, ExitRule())
    assert same(got, answer(reference, ask(2), [0, 1], 2))


def test_a_network_changes_only_between_positions_and_to_the_same_sizes() -> None:
    backend, requests = CudaBackend(_net(), 2, ExitRule(), DEVICE), ask(1)
    with pytest.raises(ValueError, match="other sizes"):
        backend.replace_network(_net(blocks=2))
    backend.admit(np.array([0], np.int32), requests, np.array([0], np.int32))
    with pytest.raises(ValueError, match="no slot is occupied"):
        backend.replace_network(_net(seed=2))


@pytest.mark.thorough
def test_only_columns_of_legal_moves_are_written() -> None:
    """The rest of a row, which is most of it, is not even touched."""
    requests, others = ask(4), ask(4)
    requests.policy[:] = 99
    answer(CudaBackend(_net(time_steps=2), 2, ExitRule(), DEVICE), requests, [0, 1, 2, 3], 2)
    answer(open_backend("reference", _net(time_steps=2), 4, ExitRule()), others, [0, 1, 2, 3], 4)
    is_legal = np.arange(MAX_MOVES) < requests.num_legal[:, None]
    assert (requests.policy == np.where(is_legal, others.policy, 99)).all()


@pytest.mark.thorough
def test_meters_count_slots_that_work_and_not_answers_on_their_way() -> None:
    backend = CudaBackend(_net(time_steps=3), 3, ExitRule.never(), DEVICE)
    engine = SlotEngine(backend, ask(6))
    engine.submit(np.arange(6, dtype=np.int32))
    while not engine.is_idle:
        engine.step()
    counters = engine.counters
    assert counters.slot_steps == 6 * 3
    assert counters.batches <= 2 * (3 + 1), "each answer holds its slot for a step more at most"
    assert backend.is_asynchronous is (DEVICE != "cpu")
    assert 0 < counters.busy_ns == backend.kernel_ns


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("steps", "is_counted"), [(0, True), (1, True), (2, True), (3, True), (2, False), (3, False)]
)
def test_what_an_interrupted_engine_left_is_no_part_of_the_next(
    steps: int, is_counted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether Ctrl-C came after its last launch or before that was counted."""
    wanted, found, some = ask(6), ask(6), np.arange(3, dtype=np.int32)
    backend = CudaBackend(_net(time_steps=2), 4, ExitRule(), DEVICE)
    backend.admit(some, ask(3), some)
    for step in range(steps):
        with monkeypatch.context() as context:
            if step == steps - 1 and not is_counted:
                context.setattr(backend._streams, "end_step", lambda: None)
            backend.advance()
    answer_all(backend, found)
    assert int(backend._state.tick) == backend._streams.num_steps
    answer_all(open_backend("reference", _net(time_steps=2), 4, ExitRule()), wanted)
    assert (wanted.wdl == found.wdl).all()
    assert (wanted.steps == found.steps).all()
    is_legal = np.arange(MAX_MOVES) < wanted.num_legal[:, None]
    assert (wanted.policy == found.policy)[is_legal].all()


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_backend_that_is_dropped_waits_for_its_last_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While its memory is its own; a device that has failed is not waited for."""
    backend = CudaBackend(_net(time_steps=1), 2, ExitRule(), DEVICE)
    state, waited = weakref.ref(backend._state), []

    def synchronize(streams: object) -> None:
        waited.append(state() is not None)
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(type(backend._streams), "synchronize", synchronize)
    backend.advance()
    del backend
    gc.collect()
    assert waited == [True]


def test_the_kernels_of_the_host_are_compiled_when_it_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []
    for module, name in ((cuda_backend, "copy_answers"), (staging, "write_records")):
        monkeypatch.setattr(module, name, lambda slots, *_: calls.append(len(slots)))
    CudaBackend(_net(), 2, ExitRule(), DEVICE)
    assert calls == [0, 0]


def test_the_old_state_is_freed_before_the_new_one_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The device may have no room for both."""
    states: list[Callable[[], SlotState | None]] = []

    def opened(*given: Any) -> SlotState:
        assert not any(state() for state in states)
        state = SlotState(*given)
        states.append(weakref.ref(state))
        return state

    monkeypatch.setattr(cuda_backend, "SlotState", opened)
    net = _net(grid_bits=10, time_steps=2)
    CudaBackend(_quiet(net), 3, ExitRule(), DEVICE).replace_network(net)
    assert len(states) == 2


def test_what_cannot_be_computed_is_refused() -> None:
    with pytest.raises(ConfigError, match="slot"):
        CudaBackend(_net(), 0, ExitRule(), DEVICE)
    plain = NetConfig(num_planes=NUM_PLANES, kind="plain", widths=(32, 64), time_steps=4)
    with pytest.raises(ConfigError, match=r"residual .*'reference'"):
        CudaBackend(_new(plain), 1, ExitRule(), DEVICE)
    net = _net()
    layer = net.layers["stem"]
    broken = Layer(layer.weight, layer.shift, layer.bias + np.int32(1 << 22))
    with pytest.raises(NetworkError, match="not exact"):
        CudaBackend(replace(net, layers=net.layers | {"stem": broken}), 1, ExitRule(), DEVICE)


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE == "cpu", reason="needs a CUDA device")
def test_stepping_allocates_nothing_on_the_device() -> None:
    backend = CudaBackend(_net(), 64, ExitRule(), DEVICE)
    for _ in range(2):
        before = torch.cuda.memory_stats()["allocation.all.allocated"]
        answer(backend, ask(NUM_ROWS), list(range(NUM_ROWS)), 5)
    assert torch.cuda.memory_stats()["allocation.all.allocated"] == before
