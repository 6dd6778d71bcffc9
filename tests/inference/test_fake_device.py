"""The fake device: its time, its failures, its answers; and how the engine schedules for it."""

import numpy as np
import pytest
from bench.fake_device import (
    FAKE,
    MOST_SLOTS,
    FakeBackend,
    FakeDevice,
    SteppedBackend,
    open_fake,
    parse_latency,
)

from tests.inference.timed_device import Device, Stepping
from vecchess.config import SelfplayConfig, build
from vecchess.errors import ConfigError, DeviceError
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.builtin import ConstantBackend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.requests import Requests
from vecchess.spec import Spec


class Clock:
    """A clock that moves only in ``sleep``."""

    def __init__(self) -> None:
        self.now = 0.0
        self.naps: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds


def engine_of(slots: int, rows: int, **device: object) -> tuple[SlotEngine, Clock]:
    """Over a backend whose answers take one step, behind a device with these settings, which tells
    them at once."""
    clock = Clock()
    settings = FakeDevice.model_validate({"late": 0} | device)
    backend = FakeBackend(ConstantBackend(slots), settings, clock, clock.sleep)
    requests = Requests.empty(rows, 1)
    requests.num_legal[:] = 3
    return SlotEngine(backend, requests), clock


def rows(first: int, end: int) -> np.ndarray:
    return np.arange(first, end, dtype=np.int32)


def test_a_step_takes_as_long_as_its_occupied_slots_say() -> None:
    engine, clock = engine_of(8, 20, latency="1:1ms,4:1ms,5:3ms,8:6ms")
    engine.submit(rows(0, 15))
    while not engine.is_idle:
        engine.step()
    engine.submit(rows(0, 3))
    engine.step()
    assert clock.naps == pytest.approx([6e-3, 5e-3, 1e-3])


def test_the_device_works_while_the_host_does_something_else() -> None:
    engine, clock = engine_of(4, 4, latency="10ms+1ms")
    backend = engine.backend
    for worked, waited in ((0.0, 14e-3), (9e-3, 5e-3), (20e-3, 0.0)):
        clock.naps.clear()
        backend.admit(rows(0, 4), engine.requests, rows(0, 4))
        backend.advance()
        clock.now += worked  # on the host
        assert len(backend.settled()) == 4
        assert sum(clock.naps) == pytest.approx(waited)


def test_what_waits_is_taken_at_once_and_no_row_waits_for_a_full_batch() -> None:
    """Flushed where the device would idle, refilled at every step while it is busy."""
    engine, _ = engine_of(8, 64, latency="5ms")
    engine.submit(rows(0, 1))
    assert engine.step().tolist() == [0]
    assert (engine.counters.batches, engine.counters.full_batches) == (1, 0)
    device = Device(fixed_s=5e-3, each_s=0.0)
    engine = SlotEngine(device.around(Stepping(8)), Requests.empty(64, 1))
    engine.submit(rows(0, 5))
    engine.step()
    engine.submit(rows(5, 9))  # three find a slot while the others are in the midst of it
    engine.step()
    assert (engine.slots.num_occupied, engine.slots.num_waiting) == (8, 1)
    assert engine.counters.slot_steps == 5 + 8


def test_fill_stays_high_across_a_step_of_the_latency() -> None:
    """Twice the slots in rows, each back as soon as it is answered: every batch is full."""
    engine, clock = engine_of(64, 128, latency="0:1ms,32:1ms,33:4ms,64:4ms")
    engine.submit(rows(0, 128))
    for _ in range(50):
        engine.submit(engine.step())
    counters = engine.counters
    assert (counters.batches, counters.full_batches, counters.slot_steps) == (50, 50, 50 * 64)
    assert clock.now == pytest.approx(50 * 4e-3)


def late_engine(slots: int, steps: int, latency: str) -> tuple[SlotEngine, Clock]:
    """Over a device as a GPU is: answers take ``steps`` steps and come one step late. Twice as many
    rows as slots wait."""
    clock, requests = Clock(), Requests.empty(2 * slots, 1)
    settings = FakeDevice(latency=latency, late=1)
    backend = FakeBackend(SteppedBackend(slots, steps), settings, clock, clock.sleep)
    engine = SlotEngine(backend, requests)
    engine.submit(rows(0, 2 * slots))
    return engine, clock


def test_answers_come_one_step_late_while_the_next_step_goes_on() -> None:
    engine, clock = late_engine(slots=4, steps=2, latency="10ms")
    answered = []
    for _ in range(6):
        answered.append(len(engine.step()))
        clock.now += 3e-3  # moves are made meanwhile
    assert answered == [0, 0, 4, 0, 0, 4]
    assert sum(clock.naps) == pytest.approx(5 * 10e-3 - 5 * 3e-3)
    quick, clock = late_engine(slots=4, steps=2, latency="10ms")
    advance = quick.backend.advance

    def advance_and_wait() -> None:
        advance()
        clock.now += 20e-3

    quick.backend.advance = advance_and_wait  # type: ignore[method-assign]
    assert [len(quick.step()) for _ in range(4)] == [0, 4, 0, 4], "a step that is over is told"


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize(("host_s", "busy"), [(0.0, 1.0), (1e-3, 1.0), (15e-3, 10 / 15)])
def test_meters_tell_the_truth_about_a_device_that_answers_late(
    steps: int, host_s: float, busy: float
) -> None:
    """Busy by the device's clock, and not by the host's, which waits there; slots that are taken,
    and not those whose answer is on its way."""
    engine, clock = late_engine(slots=8, steps=steps, latency="10ms")
    batches = 50 * (steps + 1)
    for _ in range(batches):
        engine.submit(engine.step())
        clock.now += host_s
    counters = engine.counters
    assert counters.busy_ns / 1e9 / clock.now == pytest.approx(busy, rel=0.02)
    taken = counters.slot_steps / counters.batches / 8
    assert taken == pytest.approx(steps / (steps + 1), rel=0.02)
    assert counters.slot_steps == pytest.approx(steps * counters.positions, abs=8 * (steps + 1))
    assert counters.full_batches == batches


def test_it_is_lost_after_so_many_steps() -> None:
    engine, _ = engine_of(4, 4, lost_after=3)
    for _ in range(3):
        engine.submit(rows(0, 4))
        engine.step()
    engine.submit(rows(0, 4))
    with pytest.raises(DeviceError, match="lost") as caught:
        engine.step()
    assert not caught.value.out_of_memory


def test_memory_runs_out_when_it_is_opened_or_later() -> None:
    with pytest.raises(DeviceError, match="opening") as caught:
        engine_of(9, 9, oom_above=8)
    assert caught.value.out_of_memory
    engine_of(8, 8, oom_above=8)
    for slots in (8, 9):
        engine, _ = engine_of(slots, 9, oom_above=8, oom_after=2)
        engine.step()
        if slots == 8:
            engine.step()
            continue
        with pytest.raises(DeviceError, match="taking a time step") as caught:
            engine.step()
        assert caught.value.out_of_memory


def test_one_answer_in_so_many_is_wrong_by_a_bit() -> None:
    engine, _ = engine_of(7, 30, wrong_every=10)
    engine.submit(rows(0, 30))
    while not engine.is_idle:
        engine.step()
    assert engine.requests.policy[:, 0].tolist() == [int(row % 10 == 9) for row in range(30)]
    assert not engine.requests.policy[:, 1:].any()


def test_spellings() -> None:
    text = f"{FAKE}?of=reference&latency=2ms+10us&oom_above=4096&lost_after=500"
    assert build(SelfplayConfig, {"backend": text}).backend == text
    spec = Spec.parse(text)
    assert spec.head == FAKE == f"{open_fake.__module__}:open_fake"
    device = FakeDevice.parse(spec.settings)
    assert (device.of, device.oom_above, device.lost_after) == ("reference", 4096, 500)
    assert parse_latency(device.latency)[0] == (0, 0.002)
    assert parse_latency("2ms+10us")[1] == (MOST_SLOTS, pytest.approx(0.002 + MOST_SLOTS * 1e-5))
    assert FakeDevice.parse({}) == FakeDevice()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("lost=3", 'no setting "lost"; give of, latency, late, steps'),
        ("late=2", "late: Input should be less than or equal to 1"),
        ("lost_after=soon", "lost_after: Input should be a valid integer"),
        ("latency=2", '"2" is not a time like 10us'),
        ("latency=5:1ms,5:2ms", "is not SLOTS:TIME"),
        ("oom_after=3", "oom_after: needs oom_above"),
        ("of=fake", "of: Input should be 'auto'"),
        ("steps=0.5", "steps: Input should be a valid integer"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(settings: str, said: str) -> None:
    with pytest.raises(ConfigError, match=f"^backend '{FAKE}") as caught:
        open_backend(f"{FAKE}?{settings}", "constant", 4)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
