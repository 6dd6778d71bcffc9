"""A device that is not there: slow, small or failing, with the answers of a real backend.

What schedules work for a GPU, bears with its failures, and finds its wrong answers can be tried out
without one. It works while the host does something else, as a GPU does:

    host       admit n+1  advance     (movers make moves)      settled, read
                             |                                    ^
    device                   [step n+1: latency by occupied slots ]
"""

from collections.abc import Callable
from time import monotonic, sleep

import numpy as np
from numpy.typing import NDArray

from vecchess.config.backend import FakeDevice, parse_latency
from vecchess.errors import DeviceError
from vecchess.inference.backend import Backend
from vecchess.inference.requests import Requests
from vecchess.snn.integer.integer_net import IntegerNet


class FakeBackend:
    """``Backend`` in front of another one: its slots and answers, the fake device's time and
    failures."""

    def __init__(
        self,
        inner: Backend,
        device: FakeDevice,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], object] = sleep,
    ) -> None:
        """``inner`` answers at once; ``clock`` tells seconds, ``sleep`` lets them pass.

        Raises DeviceError where the device has no memory for so many slots.
        """
        self._inner = inner
        self._device = device
        self._clock, self._sleep = clock, sleep
        self._batches, self._seconds = zip(*parse_latency(device.latency), strict=True)
        self._occupied = self._steps = self._answers = 0
        self._free_at = 0.0
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
    def policy_scale(self) -> float:
        """See ``Backend.policy_scale``."""
        return self._inner.policy_scale

    @property
    def value_scale(self) -> float:
        """See ``Backend.value_scale``."""
        return self._inner.value_scale

    def admit(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """See ``Backend.admit``."""
        self._inner.admit(slots, requests, rows)
        self._occupied += len(slots)

    def advance(self) -> None:
        """See ``Backend.advance``. Returns at once; raises DeviceError where it is time to fail."""
        asked = self._clock()
        self._steps += 1
        if self._device.lost_after and self._steps > self._device.lost_after:
            raise DeviceError("the device failed while taking a time step: it is a fake, and lost")
        if self._device.oom_after and self._steps >= self._device.oom_after:
            self._require_memory("taking a time step")
        self._inner.advance()
        took = float(np.interp(self._occupied, self._batches, self._seconds))
        self._free_at = max(asked, self._free_at) + took

    def settled(self) -> NDArray[np.int32]:
        """See ``Backend.settled``. Waits for the step that the device is at."""
        left_s = self._free_at - self._clock()
        if left_s > 0:
            self._sleep(left_s)
        slots = self._inner.settled()
        self._occupied -= len(slots)
        return slots

    def read(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """See ``Backend.read``; the last bit of some first moves is wrong where that is wanted."""
        self._inner.read(slots, requests, rows)
        if self._device.wrong_every:
            order = np.arange(self._answers + 1, self._answers + len(rows) + 1)
            requests.policy[rows[order % self._device.wrong_every == 0], 0] ^= 1
            self._answers += len(rows)

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
