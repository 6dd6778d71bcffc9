"""Assigns waiting request rows to free network slots, first come first served. No torch here.

A slot holds one position for the one to T time steps that the network spends on it.
"""

from collections import deque
from time import monotonic_ns

import numpy as np
from numpy.typing import NDArray

FREE = -1
"""Occupant of an empty slot."""

Rows = NDArray[np.int32]
Slots = NDArray[np.int32]


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
