"""A device whose speed is known, with a clock that it moves itself; and a backend for it."""

from bench.fake_device import FakeBackend, FakeDevice, SteppedBackend

from vecchess.inference.builtin import ConstantBackend
from vecchess.inference.requests import Requests
from vecchess.inference.tune.slot_search import Rung, SlotLimits, ladder, measure_counts

T = 4
NO_LIMITS = SlotLimits()


class Stepping(SteppedBackend):
    """All take T steps."""

    def __init__(self, num_slots: int) -> None:
        super().__init__(num_slots, T)
        self.nbytes = 1000 + 10 * num_slots


class Device:
    """Opens backends on a fake device with a clock of its own, and notes which sizes were tried."""

    def __init__(self, fixed_s: float, each_s: float, room: int = 0, late: int = 0) -> None:
        latency = f"{fixed_s:.9f}s+{each_s:.9f}s"
        self.fake = FakeDevice(latency=latency, oom_above=room, late=late)
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
