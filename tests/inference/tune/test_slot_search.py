"""The choice of slots on devices whose speed is known: a clock that the device itself moves."""

from typing import Any

import numpy as np
import pytest
import torch
from bench.fake_device import FakeBackend
from torch import nn

from tests.inference.requests import ask
from tests.inference.timed_device import NO_LIMITS, Device, Stepping, T
from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.errors import ConfigError, DeviceError
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.requests import Requests
from vecchess.inference.tune.slot_search import (
    SlotLimits,
    _Stream,
    backend_nbytes,
    choose_count,
    measure_backend,
    measure_counts,
)
from vecchess.snn.initialise import new_network
from vecchess.snn.integer.integer_net import ExitRule
from vecchess.snn.presets import NetConfig


def test_speed_and_latency_are_those_of_the_device() -> None:
    device = Device(fixed_s=1e-3, each_s=1e-5)
    backend = device.open(200)
    rung = measure_backend(backend, Requests.empty(7, 1), clock=lambda: device.seconds)
    step_s = 1e-3 + 200e-5
    assert rung.latency_ms == pytest.approx(1e3 * T * step_s)
    assert rung.positions_per_s == pytest.approx(200 / T / step_s, rel=0.02)
    assert (rung.slots, rung.nbytes) == (200, 3000)


@pytest.mark.parametrize(("steps_at_once", "num_calls"), [(2, 2), (3, 2), (4, 1)])
def test_latency_is_that_of_the_calls_a_position_takes(steps_at_once: int, num_calls: int) -> None:
    class Several(Stepping):
        def advance(self) -> None:
            for _ in range(steps_at_once):
                done = self.settled()
                super().advance()
                self._done = np.union1d(done, self._done)

    device = Device(fixed_s=1e-3, each_s=0.0)
    inner = Several(8)
    inner.steps_at_once = steps_at_once
    rung = measure_backend(device.around(inner), Requests.empty(7, 1), clock=lambda: device.seconds)
    assert rung.latency_ms == pytest.approx(num_calls)
    assert rung.positions_per_s == pytest.approx(8 / (num_calls * 1e-3), rel=0.02)


@pytest.mark.parametrize("name", ["cpu", "reference"])
def test_a_backend_takes_so_many_steps_in_a_call(name: str) -> None:
    config = NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32, time_steps=4)
    network = new_network(config, 1, random_positions(16, 1)[0])
    backend = open_backend(name, network, 2, ExitRule.never())
    requests = ask(2)
    backend.admit(np.arange(2, dtype=np.int32), requests, np.arange(2, dtype=np.int32))
    backend.advance()
    assert requests.steps.tolist() == 2 * [getattr(backend, "steps_at_once", 1)]


def test_a_device_whose_answers_come_a_step_late() -> None:
    """A slot is taken for a step more; its answer comes as much later."""
    device = Device(fixed_s=1e-3, each_s=0.0, late=1)
    rung = measure_backend(device.open(200), Requests.empty(7, 1), clock=lambda: device.seconds)
    assert rung.positions_per_s == pytest.approx(200 / (T + 1) / 1e-3, rel=0.02)


@pytest.mark.parametrize(("is_asynchronous", "step_s"), [(True, 3e-3), (False, 1e-3)])
def test_writing_questions_counts_where_the_device_works_on(
    is_asynchronous: bool, step_s: float
) -> None:
    device = Device(fixed_s=1e-3, each_s=0.0)
    backend = device.open(8)
    backend.is_asynchronous = is_asynchronous
    stream = _Stream(backend, Requests.empty(10, 1))
    write = stream.ask

    def ask(rows: np.ndarray) -> None:
        device.sleep(2e-3)
        write(rows)

    stream.ask = ask  # type: ignore[method-assign]
    stream.ask(np.arange(8, dtype=np.int32))
    assert stream.run(5, 0.0, lambda: device.seconds)[1] == pytest.approx(step_s)


def test_every_size_is_asked_the_same_questions_in_turn() -> None:
    class Listener(Stepping):
        def admit(self, slots, requests, rows):
            super().admit(slots, requests, rows)
            asked.extend(requests.planes[rows, 0].tolist())

    questions = Requests.empty(10, 1)
    questions.planes[:, 0] = np.arange(10)
    for slots in (3, 25):
        asked: list[int] = []
        device = Device(fixed_s=1e-2, each_s=1e-5)
        backend = device.around(Listener(slots))
        measure_backend(backend, questions, clock=lambda clocked=device: clocked.seconds)
        assert asked == [index % 10 for index in range(len(asked))]


def test_the_smallest_that_is_nearly_the_fastest() -> None:
    """Speed is 1 / (each + fixed / S): within 2 % of the limit from S = 49 fixed / each on."""
    device = Device(fixed_s=1e-3, each_s=1e-3)
    rungs = device.measure()
    assert choose_count(rungs, NO_LIMITS).slots == 64
    assert device.tried[-1] == 256, "two rungs brought nothing more: the ladder ended"
    slow_start = Device(fixed_s=1.0, each_s=1e-9)
    assert choose_count(slow_start.measure(last=512), NO_LIMITS).slots == 512


def test_a_device_that_slows_down() -> None:
    flat = Device(fixed_s=0.0, each_s=1e-5)
    assert choose_count(flat.measure(), NO_LIMITS).slots == 16
    assert flat.tried == [16, 32, 64]


def test_latency_bound_is_approached_from_below() -> None:
    device = Device(fixed_s=1e-2, each_s=1e-5)
    limits = SlotLimits(latency_ms=4 * (10 + 7.7))  # 770 slots
    rungs = device.measure(limits)
    assert device.tried == [16, 32, 64, 128, 256, 512, 1024, 768]
    assert choose_count(rungs, limits).slots == 768
    assert [rung.slots for rung in rungs] == sorted(rung.slots for rung in rungs)


def test_memory_budget_is_foreseen() -> None:
    device = Device(fixed_s=1.0, each_s=1e-9)
    limits = SlotLimits(nbytes=1000 + 10 * 300)
    assert choose_count(device.measure(limits), limits).slots == 256
    assert max(device.tried) == 256, "what would break the budget is not opened"


def test_out_of_memory_ends_the_ladder_and_other_failures_are_told() -> None:
    device = Device(fixed_s=1.0, each_s=1e-9, room=100)
    assert choose_count(device.measure(), NO_LIMITS).slots == 96
    assert device.tried == [16, 32, 64, 128, 96]

    def broken(slots: int) -> FakeBackend:
        raise DeviceError("the device failed")

    with pytest.raises(DeviceError, match="failed"):
        measure_counts(broken, Requests.empty(1, 1), [16], NO_LIMITS)


def test_limits_that_nothing_keeps() -> None:
    device = Device(fixed_s=1e-2, each_s=1e-5)
    limits = SlotLimits(latency_ms=1.0)
    with pytest.raises(ConfigError, match="already 16 slots"):
        choose_count(device.measure(limits), limits)
    with pytest.raises(ConfigError, match="no memory"):
        choose_count(Device(1.0, 1.0, room=1).measure(), NO_LIMITS)


def test_what_a_backend_holds_grows_with_its_slots() -> None:
    network = new_network(
        NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32, time_steps=4),
        1,
        random_positions(16, 1)[0],
    )
    membranes = 4 * 64 * 32 * 3  # int32 or float32, one residual block
    for name in ("cpu", "reference"):
        held = [backend_nbytes(open_backend(name, network, slots)) for slots in (10, 20, 30)]
        assert held[2] - held[1] == held[1] - held[0]
        # on a processor boards carry nothing from call to call: a slot is its row and its state
        has_membranes = name == "reference"
        assert (held[1] - held[0] > 10 * membranes) is has_membranes
        assert held[1] > held[0]


def test_weights_of_a_users_module_count_once() -> None:
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 2)
            self.register_buffer("seen", torch.zeros(5, dtype=torch.float64))

    first = Own()
    held: Any = {"modules": [first, nn.Sequential(Own())], "again": first}
    assert backend_nbytes(held) == 2 * (4 * (3 * 2 + 2) + 8 * 5)
