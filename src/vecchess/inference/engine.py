"""The inference loop: admit waiting rows, advance all slots by one time step, harvest answers.

Continuous batching over time steps: every call advances all occupied slots by a step or a few,
whatever step each of them is at. A settled slot is refilled before the next call, so the
batch never waits for its slowest position.

    submit(rows) -> queue -> slots of the backend, 1 to T steps -> step() returns the answered rows
"""

import math
from collections import deque
from dataclasses import dataclass, field
from time import monotonic_ns, perf_counter_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.backend import Backend
from vecchess.inference.requests import Requests

FREE = -1
"""Occupant of an empty slot."""
Rows = NDArray[np.int32]
Slots = NDArray[np.int32]
AGE_BUCKETS_PER_OCTAVE = 4
NUM_AGE_BUCKETS = 40 * AGE_BUCKETS_PER_OCTAVE
"""Waiting times are counted in quarter octaves of nanoseconds, up to 2**40 ns (18 minutes)."""


class SlotTable:
    """S slots, and the queue of rows that wait for one, in the batches they were submitted in."""

    def __init__(self, num_slots: int) -> None:
        """S = ``num_slots`` slots, all empty."""
        self.occupant: Rows = np.full(num_slots, FREE, np.int32)
        self.num_waiting = 0
        self._free: Slots = np.arange(num_slots - 1, -1, -1, dtype=np.int32)
        self._num_free = num_slots
        self._queue: deque[tuple[int, Rows]] = deque()

    @property
    def num_slots(self) -> int:
        """S."""
        return len(self.occupant)

    @property
    def num_occupied(self) -> int:
        """Slots with a row."""
        return self.num_slots - self._num_free

    def enqueue(self, rows: Rows) -> None:
        """Put ``rows`` (int32[K]) at the end of the queue."""
        if len(rows):
            self._queue.append((monotonic_ns(), rows))
            self.num_waiting += len(rows)

    def assign(self) -> tuple[Slots, Rows, list[tuple[int, int]]]:
        """Give the free slots to the rows that have waited longest.

        Returns slots int32[K], their rows int32[K], and (ns waited, number of rows) by batch.
        """
        batches, waits, num_free, now = [], [], self._num_free, monotonic_ns()
        while self._queue and num_free:
            since, rows = self._queue.popleft()
            if len(rows) > num_free:
                self._queue.appendleft((since, rows[num_free:]))
                rows = rows[:num_free]
            batches.append(rows)
            waits.append((now - since, len(rows)))
            num_free -= len(rows)
        assigned = np.concatenate(batches) if batches else self.occupant[:0]
        slots = self._free[num_free : self._num_free].copy()
        self._num_free = num_free
        self.num_waiting -= len(assigned)
        self.occupant[slots] = assigned
        return slots, assigned, waits

    def release(self, slots: Slots) -> Rows:
        """Empty ``slots`` (int32[K]); returns the rows that were in them, int32[K]."""
        rows = self.occupant[slots]
        self.occupant[slots] = FREE
        self._free[self._num_free : self._num_free + len(slots)] = slots
        self._num_free += len(slots)
        return rows


@dataclass
class EngineCounters:
    """Sums since the engine was made; the difference of two readings is what happened between."""

    batches: int = 0
    """Calls of ``advance``."""
    full_batches: int = 0
    """Batches with every slot occupied; the others ran because no more rows waited."""
    slot_steps: int = 0
    """Occupied slots summed over batches, less those whose settled answer was on its way."""
    positions: int = 0
    """Answers given."""
    device_ns: int = 0
    """Time inside the backend, where the host may only wait."""
    busy_ns: int = 0
    """Time that the network was computed: by the device's own clock, or as ``device_ns``."""
    steps: NDArray[np.int64] = field(default_factory=lambda: np.zeros(256, np.int64))
    """int64[256]: answers by the number of time steps they took."""
    queue_age: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(NUM_AGE_BUCKETS, np.int64)
    )
    """int64[160]: admissions by the time they waited for a slot."""

    def to_message(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        steps = {str(t): int(count) for t, count in enumerate(self.steps) if count}
        ages = {str(b): int(count) for b, count in enumerate(self.queue_age) if count}
        return {
            "batches": self.batches,
            "full_batches": self.full_batches,
            "slot_steps": self.slot_steps,
            "positions": self.positions,
            "busy_ns": self.busy_ns,
            "steps": steps,
            "queue_age": ages,
        }


class SlotEngine:
    """Passes waiting rows through the slots of one backend. Not thread-safe: one loop owns it."""

    def __init__(self, backend: Backend, requests: Requests) -> None:
        """Answer rows of ``requests`` with ``backend``, which is cleared: questions that an
        interrupted engine left in it are not answered."""
        backend.clear()
        self.backend = backend
        self.requests = requests
        self.slots = SlotTable(backend.num_slots)
        self.counters = EngineCounters()
        self._kernel_ns, self._late_steps = self._read_backend()

    @property
    def is_idle(self) -> bool:
        """True when no row waits and none is in a slot."""
        return self.slots.num_waiting == 0 and self.slots.num_occupied == 0

    def submit(self, rows: NDArray[np.int32]) -> None:
        """Queue rows (int32[K]) with questions; they do not change until ``step`` returns them."""
        self.slots.enqueue(rows)

    def step(self) -> NDArray[np.int32]:
        """Advance every slot by one time step; returns the rows answered by it, int32[K]."""
        start = perf_counter_ns()
        self._admit()
        self.backend.advance()
        rows = self._harvest()
        self._count_time(perf_counter_ns() - start)
        return rows

    def _read_backend(self) -> tuple[int | None, int]:
        """``kernel_ns`` (None without such a clock) and ``late_steps`` of the backend."""
        backend = self.backend
        return getattr(backend, "kernel_ns", None), getattr(backend, "late_steps", 0)

    def _count_time(self, spent_ns: int) -> None:
        """Count a step that took ``spent_ns`` here, by what the backend has counted meanwhile."""
        counters, before, late_before = self.counters, self._kernel_ns, self._late_steps
        self._kernel_ns, self._late_steps = self._read_backend()
        counters.device_ns += spent_ns
        if before is None or self._kernel_ns is None:
            counters.busy_ns += spent_ns
        else:
            counters.busy_ns += self._kernel_ns - before
        counters.slot_steps -= self._late_steps - late_before

    def _admit(self) -> None:
        slots, rows, waits = self.slots.assign()
        if len(rows):
            self.backend.admit(slots, self.requests, rows)
        for waited_ns, count in waits:
            bucket = int(math.log2(max(waited_ns, 1)) * AGE_BUCKETS_PER_OCTAVE)
            self.counters.queue_age[min(bucket, NUM_AGE_BUCKETS - 1)] += count
        occupied = self.slots.num_occupied
        self.counters.batches += 1
        self.counters.full_batches += occupied == self.slots.num_slots
        self.counters.slot_steps += occupied

    def _harvest(self) -> NDArray[np.int32]:
        settled = self.backend.settled()  # their answers are in their rows
        rows = self.slots.release(settled)
        if len(rows):
            self.counters.positions += len(rows)
            self.counters.steps += np.bincount(self.requests.steps[rows], minlength=256)
        return rows


def age_percentile_ms(queue_age: NDArray[np.int64], percent: float) -> float:
    """Waiting time in ms that ``percent`` of the admissions stayed below; 0 for no admission."""
    total = int(queue_age.sum())
    if total == 0:
        return 0.0
    bucket = int(np.searchsorted(np.cumsum(queue_age), total * percent / 100))
    return float(2.0 ** ((bucket + 1) / AGE_BUCKETS_PER_OCTAVE) / 1e6)


def answer_all(backend: Backend, requests: Requests) -> None:
    """Have ``backend`` answer every row of ``requests``."""
    engine = SlotEngine(backend, requests)
    engine.submit(np.arange(requests.num_rows, dtype=np.int32))
    while not engine.is_idle:
        engine.step()
