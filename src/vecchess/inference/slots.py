"""Who sits where: the assignment of waiting rows to the network's slots. numpy only, no torch.

A slot holds one position while the network thinks about it, for one to T time steps. Rows wait
in the order they came; whenever slots are free the longest waiting rows take them.
"""

from time import monotonic_ns

import numpy as np
from numpy.typing import NDArray

FREE = -1
"""Occupant of an empty slot."""


class SlotTable:
    """S slots and the queue of rows in front of them.

    Every row is at most once in the queue or in a slot, so a ring of R places never overflows.
    """

    def __init__(self, num_slots: int, num_rows: int) -> None:
        """S = ``num_slots`` slots for R = ``num_rows`` rows, all empty."""
        self.occupant: NDArray[np.int32] = np.full(num_slots, FREE, np.int32)
        self._free = np.arange(num_slots - 1, -1, -1, dtype=np.int32)
        self._num_free = num_slots
        self._queue = np.empty(num_rows, np.int32)
        self._since = np.empty(num_rows, np.int64)
        self._head = 0
        self.num_waiting = 0

    @property
    def num_slots(self) -> int:
        """S."""
        return len(self.occupant)

    @property
    def num_occupied(self) -> int:
        """Slots with a position in them."""
        return self.num_slots - self._num_free

    def wait(self, rows: NDArray[np.int32]) -> None:
        """Put ``rows`` (int32[K]) at the end of the queue."""
        end = self._head + self.num_waiting + np.arange(len(rows))
        places = end % len(self._queue)
        self._queue[places] = rows
        self._since[places] = monotonic_ns()
        self.num_waiting += len(rows)

    def seat(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Give free slots to the rows that waited longest.

        Returns slots int32[K], their rows int32[K], and how long each waited, int64[K] in ns.
        """
        count = min(self._num_free, self.num_waiting)
        places = (self._head + np.arange(count)) % len(self._queue)
        rows = self._queue[places]
        waited = monotonic_ns() - self._since[places]
        slots = self._free[self._num_free - count : self._num_free].copy()
        self._head = (self._head + count) % len(self._queue)
        self.num_waiting -= count
        self._num_free -= count
        self.occupant[slots] = rows
        return slots, rows, waited

    def vacate(self, slots: NDArray[np.int32]) -> NDArray[np.int32]:
        """Empty ``slots`` (int32[K]); returns the rows that sat there, int32[K]."""
        rows = self.occupant[slots]
        self.occupant[slots] = FREE
        self._free[self._num_free : self._num_free + len(slots)] = slots
        self._num_free += len(slots)
        return rows
