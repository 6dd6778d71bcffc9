"""Who sits where: the assignment of waiting rows to the network's slots. numpy only, no torch.

A slot holds one position while the network thinks about it, for one to T time steps. Rows wait
in the order they came; whenever slots are free the longest waiting rows take them.
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
    """S slots and the queue in front of them. Rows wait in the batches they came in."""

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
        """Slots with a position in them."""
        return self.num_slots - self._num_free

    def wait(self, rows: Rows) -> None:
        """Put ``rows`` (int32[K]) at the end of the queue."""
        if len(rows):
            self._queue.append((monotonic_ns(), rows))
            self.num_waiting += len(rows)

    def seat(self) -> tuple[Slots, Rows, list[tuple[int, int]]]:
        """Give free slots to the rows that waited longest.

        Returns slots int32[K], their rows int32[K], and (ns waited, how many rows) for each batch.
        """
        batches, waits, wanted, now = [], [], self._num_free, monotonic_ns()
        while self._queue and wanted:
            since, rows = self._queue.popleft()
            if len(rows) > wanted:
                self._queue.appendleft((since, rows[wanted:]))
                rows = rows[:wanted]
            batches.append(rows)
            waits.append((now - since, len(rows)))
            wanted -= len(rows)
        seated = np.concatenate(batches) if batches else self.occupant[:0]
        slots = self._free[wanted : self._num_free].copy()
        self._num_free = wanted
        self.num_waiting -= len(seated)
        self.occupant[slots] = seated
        return slots, seated, waits

    def vacate(self, slots: Slots) -> Rows:
        """Empty ``slots`` (int32[K]); returns the rows that sat there, int32[K]."""
        rows = self.occupant[slots]
        self.occupant[slots] = FREE
        self._free[self._num_free : self._num_free + len(slots)] = slots
        self._num_free += len(slots)
        return rows
