"""The choice of slots on devices whose speed is known: a clock that the device itself moves."""

from pathlib import Path

import numpy as np
import pytest
from bench.fake_device import FakeBackend, FakeDevice

from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.errors import ConfigError, DeviceError
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.builtin import ConstantBackend
from vecchess.inference.requests import Requests
from vecchess.inference.tune.slot_search import (
    Rung,
    SlotLimits,
    backend_nbytes,
    choose_count,
    ladder,
    measure_backend,
    measure_counts,
)
from vecchess.inference.tune.tuning_cache import TuningKey, load_slots, load_tuned, store_tuned
from vecchess.snn.initialise import new_network
from vecchess.snn.presets import NetConfig

T = 4
NO_LIMITS = SlotLimits()


class Stepping(ConstantBackend):
    """All take T steps."""

    time_steps = T

    def __init__(self, num_slots: int) -> None:
        super().__init__(num_slots)
        self.nbytes = 1000 + 10 * num_slots
        self.left = np.zeros(num_slots, np.int64)

    def admit(self, slots, requests, rows):
        assert (self.left[slots] == 0).all()
        self.left[slots] = T
        requests.steps[rows] = T

    def advance(self):
        self.done = np.flatnonzero(self.left == 1).astype(np.int32)
        self.left = np.maximum(self.left - 1, 0)

    def settled(self):
        return self.done


class Device:
    """Opens backends on a fake device with a clock of its own, and notes which sizes were tried."""

    def __init__(self, fixed_s: float, each_s: float, room: int = 0) -> None:
        self.fake = FakeDevice(latency=f"{fixed_s:.9f}s+{each_s:.9f}s", oom_above=room)
        self.seconds = 0.0
        self.tried: list[int] = []

    def open(self, slots: int) -> FakeBackend:
        self.tried.append(slots)
        return self.around(Stepping(slots))

    def around(self, backend: ConstantBackend) -> FakeBackend:
        return FakeBackend(backend, self.fake, lambda: self.seconds, self.sleep)

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def measure(self, limits: SlotLimits = NO_LIMITS, last: int = 4096) -> list[Rung]:
        questions = Requests.empty(10, 1)
        return measure_counts(
            self.open, questions, ladder(16, last), limits, clock=lambda: self.seconds
        )


def test_the_ladder_doubles() -> None:
    assert ladder(16, 100) == [16, 32, 64]
    assert ladder(16, 16) == [16]


def test_speed_and_latency_are_those_of_the_device() -> None:
    device = Device(fixed_s=1e-3, each_s=1e-5)
    backend = device.open(200)
    rung = measure_backend(backend, Requests.empty(7, 1), clock=lambda: device.seconds)
    step_s = 1e-3 + 200e-5
    assert rung.latency_ms == pytest.approx(1e3 * T * step_s)
    assert rung.positions_per_s == pytest.approx(200 / T / step_s, rel=0.02)
    assert (rung.slots, rung.nbytes) == (200, 3000)


def test_every_size_is_asked_the_same_questions_in_turn() -> None:
    class Listener(Stepping):
        def admit(self, slots, requests, rows):
            super().admit(slots, requests, rows)
            heard.extend(requests.planes[rows, 0].tolist())

    questions = Requests.empty(10, 1)
    questions.planes[:, 0] = np.arange(10)
    for slots in (3, 25):
        heard: list[int] = []
        device = Device(fixed_s=1e-2, each_s=1e-5)
        backend = device.around(Listener(slots))
        measure_backend(backend, questions, clock=lambda clocked=device: clocked.seconds)
        assert heard == [index % 10 for index in range(len(heard))]


def test_the_smallest_that_is_nearly_the_fastest() -> None:
    """Speed is 1 / (each + fixed / S): within 2 % of the limit from S = 49 fixed / each on."""
    device = Device(fixed_s=1e-3, each_s=1e-4)
    rungs = device.measure()
    assert choose_count(rungs, NO_LIMITS).slots == 512
    assert device.tried[-1] == 2048, "two rungs brought nothing more: the ladder ended"
    slow_start = Device(fixed_s=1.0, each_s=1e-9)
    assert choose_count(slow_start.measure(), NO_LIMITS).slots == 4096


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
        NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32), 1, random_positions(16, 1)[0]
    )
    for name in ("cpu", "reference"):
        held = [backend_nbytes(open_backend(name, network, slots)) for slots in (10, 20, 30)]
        assert held[2] - held[1] == held[1] - held[0]
        membranes = 4 * 64 * 32 * 3  # int32 or float32, one residual block
        assert held[1] - held[0] > 10 * membranes


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TuningKey:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return TuningKey.of(
        "slots", "a processor, 2 threads", "cpu", NetConfig(num_planes=25, blocks=2, channels=32)
    )


RUNG = Rung(slots=96, positions_per_s=1234.5, latency_ms=3.0, nbytes=10**6)


def test_a_count_is_remembered_for_its_place_alone(place: TuningKey) -> None:
    assert load_slots(place) is None
    assert store_tuned(place, RUNG.to_dict())
    assert load_slots(place) == 96
    config = NetConfig(num_planes=25, blocks=2, channels=32, preset="named")
    assert load_slots(TuningKey.of("slots", place.device, place.backend, config)) == 96
    others = [
        TuningKey.of("slots", "another", "cpu", config),
        TuningKey.of("slots", place.device, "reference", config),
        TuningKey.of("slots", place.device, "cpu", config.model_copy(update={"channels": 64})),
        TuningKey("slots", place.device, place.backend, place.sizes, {}, "0.0.0"),
        TuningKey.of("slots", place.device, place.backend, config, torch="2.0"),
        TuningKey.of("tile", place.device, place.backend, config),
    ]
    assert [load_tuned(other) for other in others] == [None] * 6
    assert [file.name for file in place.file.parent.iterdir()] == [place.file.name]


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", '{"slots": 5}', '{"schema": 1, "key": {}, "values": {"slots": 5}}'],
)
def test_a_damaged_or_foreign_file_is_none_and_is_replaced(place: TuningKey, content: str) -> None:
    store_tuned(place, RUNG.to_dict())
    place.file.write_text(content)
    assert load_slots(place) is None
    assert store_tuned(place, RUNG.to_dict())
    assert load_slots(place) == 96


@pytest.mark.parametrize("slots", ["0", "-1", "true", "1e9", '"96"', "1048577", "null"])
def test_a_count_that_cannot_be_is_none(place: TuningKey, slots: str) -> None:
    store_tuned(place, RUNG.to_dict())
    place.file.write_text(place.file.read_text().replace('"slots": 96', f'"slots": {slots}'))
    assert load_slots(place) is None


def test_nowhere_to_write(place: TuningKey) -> None:
    place.file.parent.parent.parent.mkdir(parents=True)
    place.file.parent.parent.write_text("a file where a directory should be")
    assert not store_tuned(place, RUNG.to_dict())
    assert load_slots(place) is None
