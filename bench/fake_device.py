"""A fake device in front of a real backend: slow, small or failing, with the real answers.

    PYTHONPATH=. vecchess selfplay --backend "bench.fake_device:open_fake?latency=2ms+10us"
    ... "bench.fake_device:open_fake?of=cpu&latency=1:1ms,512:1ms,513:3ms&lost_after=500"

How work is scheduled for a GPU, how its failures are borne and how its wrong answers are found can
be tried without a GPU. Like a GPU it works while the host does something else, and an answer is
known one step late (``late=0``: at once):

    host       admit n+1  advance     settled n-1   (movers make moves)   admit n+2  advance
                             |           ^                                    |
    device                   [step n+1: latency by occupied slots ............][step n+2 ....]
"""

import re
from collections import deque
from collections.abc import Callable
from multiprocessing import current_process
from time import monotonic, sleep
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from vecchess.config import CONSTANT_NET
from vecchess.errors import DeviceError
from vecchess.inference.backend import Backend
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.builtin import ConstantBackend
from vecchess.inference.requests import Requests
from vecchess.inference.tune.slot_search import backend_nbytes
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet

FAKE = "bench.fake_device:open_fake"
"""What ``--backend`` takes, with the folder above ``bench`` in PYTHONPATH."""
MOST_SLOTS = 1 << 20
SLOWER = 3.0
UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
Curve = list[tuple[int, float]]


class FakeDevice(BaseModel):
    """What the fake device does besides passing on the answers of a real backend."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    of: Literal["auto", "cpu", "cuda", "torch", "reference"] = "auto"
    """The backend that answers, for a network that is not built in."""
    latency: str = "0s"
    """Time of a step by the number of occupied slots: "2ms+10us" is 2 ms and 10 us for each;
    "1:1ms,512:1ms,513:3ms" are points with straight lines between them."""
    late: Annotated[int, Field(ge=0, le=1)] = 1
    """Steps that an answer is late: 1 as on a GPU, whose next step goes on meanwhile; 0: none."""
    steps: Annotated[int, Field(ge=0, le=15)] = 0
    """Time steps of every answer of the constant network; 0: one."""
    slow_worker: Annotated[int, Field(ge=-1)] = -1
    """Number of a worker whose steps take three times as long; -1: none."""
    oom_above: Annotated[int, Field(ge=0)] = 0
    """Slots there is memory for; 0: any number."""
    oom_after: Annotated[int, Field(ge=0)] = 0
    """With more slots than ``oom_above`` memory runs out at this step; 0: already when opened."""
    lost_after: Annotated[int, Field(ge=0)] = 0
    """Steps after which it is lost, counted in each process; 0: never."""
    wrong_every: Annotated[int, Field(ge=0)] = 0
    """One answer in so many has a wrong bit; 0: none."""

    @field_validator("oom_after")
    @classmethod
    def _needs_a_limit(cls, step: int, info: ValidationInfo) -> int:
        if step and not info.data.get("oom_above"):
            raise ValueError("needs oom_above: for how many slots there is memory")
        return step

    @field_validator("latency")
    @classmethod
    def _is_latency(cls, text: str) -> str:
        parse_latency(text)
        return text

    @classmethod
    def parse(cls, settings: dict[str, str]) -> "FakeDevice":
        """Read settings as text; raises ValueError with a one-line reason."""
        for key in settings:
            if key not in cls.model_fields:
                raise ValueError(f'no setting "{key}"; give {", ".join(cls.model_fields)}')
        try:
            return cls.model_validate(settings)
        except ValidationError as error:
            first = error.errors()[0]
            reason = first["msg"].removeprefix("Value error, ")
            raise ValueError(f"{first['loc'][0]}: {reason}") from None


class Launched(NamedTuple):
    """A step of the fake device."""

    done_at: float
    """When it is over, by the clock."""
    took: float
    """Seconds."""
    settled: NDArray[np.int32]
    """Slots that it settles."""


class FakeBackend:
    """``Backend`` with another one's slots and answers, and a fake device's time and failures."""

    is_asynchronous = True

    def __init__(
        self,
        inner: Backend,
        device: FakeDevice,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], object] = sleep,
    ) -> None:
        """``inner`` answers at once; ``clock`` returns seconds, ``sleep`` takes them.

        Raises DeviceError where the device has no memory for so many slots.
        """
        self._inner = inner
        self._device = device
        self._clock, self._sleep = clock, sleep
        self._batches, self._seconds = zip(*parse_latency(device.latency), strict=True)
        if current_process().name.endswith(f"worker-{device.slow_worker}"):
            self._seconds = tuple(SLOWER * seconds for seconds in self._seconds)
        self._busy_slots = self._steps = self._answers = 0
        self._free_at = self._busy_s = 0.0
        self._launched: deque[Launched] = deque()
        """Steps that are not reported yet."""
        self.late_steps = 0
        self._rows = np.zeros(inner.num_slots, np.int32)
        if not device.oom_after:
            self._require_memory("opening the network")

    @property
    def num_slots(self) -> int:
        """S."""
        return self._inner.num_slots

    @property
    def time_steps(self) -> int:
        """T."""
        return self._inner.time_steps

    @property
    def steps_at_once(self) -> int:
        """Of the backend that answers."""
        return getattr(self._inner, "steps_at_once", 1)

    @property
    def policy_scale(self) -> float:
        """See ``Backend.policy_scale``."""
        return self._inner.policy_scale

    @property
    def value_scale(self) -> float:
        """See ``Backend.value_scale``."""
        return self._inner.value_scale

    @property
    def nbytes(self) -> int:
        """Bytes of the backend that answers."""
        return backend_nbytes(self._inner)

    @property
    def kernel_ns(self) -> int:
        """Time that the device took for the steps that are reported."""
        return int(self._busy_s * 1e9)

    def admit(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """See ``Backend.admit``."""
        self._inner.admit(slots, requests, rows)
        self._requests = requests
        self._rows[slots] = rows
        self._busy_slots += len(slots)

    def advance(self) -> None:
        """See ``Backend.advance``. Returns at once; raises DeviceError at the step that fails."""
        asked = self._clock()
        self._steps += 1
        if self._device.lost_after and self._steps > self._device.lost_after:
            raise DeviceError("the device failed while taking a time step: it is a fake, and lost")
        if self._device.oom_after and self._steps >= self._device.oom_after:
            self._require_memory("taking a time step")
        self._inner.advance()
        took = float(np.interp(self._busy_slots, self._batches, self._seconds))
        self._free_at = max(asked, self._free_at) + took
        settled = self._inner.settled()
        self._busy_slots -= len(settled)
        self._launched.append(Launched(self._free_at, took, settled))

    def settled(self) -> NDArray[np.int32]:
        """See ``Backend.settled``. Waits for the step before the last, with ``late=0`` for that."""
        late, launched = self._device.late, self._launched
        if len(launched) > late:
            left_s = launched[-1 - late].done_at - self._clock()
            if left_s > 0:
                self._sleep(left_s)
        now, found = self._clock(), [np.empty(0, np.int32)]
        while launched and (len(launched) > late or launched[0].done_at <= now):
            step = launched.popleft()
            self._busy_s += step.took
            self.late_steps += len(launched) * len(step.settled)
            found.append(step.settled)
        slots = np.sort(np.concatenate(found))
        if self._device.wrong_every and len(slots):
            self._spoil(self._rows[slots])
        return slots

    def _spoil(self, rows: NDArray[np.int32]) -> None:
        """Change the last bit of the first move's accumulator in some answers."""
        order = np.arange(self._answers + 1, self._answers + len(rows) + 1)
        self._requests.policy[rows[order % self._device.wrong_every == 0], 0] ^= 1
        self._answers += len(rows)

    def clear(self) -> None:
        """See ``Backend.clear``."""
        self._inner.clear()
        self._launched.clear()
        self._busy_slots = 0

    def replace_network(self, net: IntegerNet) -> None:
        """See ``Backend.replace_network``."""
        self._inner.replace_network(net)

    def _require_memory(self, what: str) -> None:
        """Raise DeviceError where there are more slots than the device has memory for."""
        most = self._device.oom_above
        if most and self.num_slots > most:
            advice = "use fewer --slots"
            raise DeviceError(
                f"out of device memory while {what}: a fake with {most:,} slots; {advice}", True
            )


class SteppedBackend(ConstantBackend):
    """Answers as the constant network does, after ``time_steps`` steps."""

    def __init__(self, num_slots: int, time_steps: int) -> None:
        """S = ``num_slots``, T = ``time_steps``."""
        super().__init__(num_slots)
        self.time_steps = time_steps
        self._left = np.zeros(num_slots, np.int64)
        self._done = np.empty(0, np.int32)

    def admit(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """See ``Backend.admit``."""
        super().admit(slots, requests, rows)
        assert not self._left[slots].any()
        self._left[slots] = self.time_steps
        requests.steps[rows] = self.time_steps

    def advance(self) -> None:
        """See ``Backend.advance``."""
        self._done = np.flatnonzero(self._left == 1).astype(np.int32)
        self._left = np.maximum(self._left - 1, 0)

    def clear(self) -> None:
        """See ``Backend.clear``."""
        super().clear()
        self._left[:], self._done = 0, np.empty(0, np.int32)

    def settled(self) -> NDArray[np.int32]:
        """See ``Backend.settled``."""
        done, self._done = self._done, np.empty(0, np.int32)
        return done


def open_fake(
    network: IntegerNet | str,
    num_slots: int,
    exit_rule: ExitRule,
    device: str,
    threads: int,
    **settings: str,
) -> Backend:
    """A fake device with ``settings``, fields of ``FakeDevice``, in front of a real backend.

    Raises DeviceError where it has no memory for so many slots, ValueError for wrong settings.
    """
    fake = FakeDevice.parse(settings)
    if not fake.steps:
        inner = open_backend(fake.of, network, num_slots, exit_rule, device, threads)
    elif network == CONSTANT_NET:
        inner = SteppedBackend(num_slots, fake.steps)
    else:
        raise ValueError(f"steps: is for the network {CONSTANT_NET} alone")
    return FakeBackend(inner, fake)


def parse_latency(text: str) -> Curve:
    """Read a latency as points (occupied slots, seconds), ascending; raises ValueError.

    Between two points the time grows evenly, outside it stays as it is.
    """
    if ":" not in text:
        fixed, plus, each = text.partition("+")
        fixed_s = _seconds(fixed)
        return [(0, fixed_s), (MOST_SLOTS, fixed_s + MOST_SLOTS * _seconds(each if plus else "0s"))]
    points: Curve = []
    for part in text.split(","):
        slots, _, time = part.partition(":")
        if not slots.isdecimal() or (points and int(slots) <= points[-1][0]):
            raise ValueError(f'"{part}" is not SLOTS:TIME with more slots than before')
        points.append((int(slots), _seconds(time)))
    return points


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?(?:e-?\d+)?)(us|ms|s)", text)
    if match is None:
        raise ValueError(f'"{text}" is not a time like 10us, 2.5ms or 1s')
    return float(match[1]) * UNITS_S[match[2]]
