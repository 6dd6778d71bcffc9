"""Our own entrants: three ways of feeding positions to a network that may leave early.

continuous          a slot that settles is refilled before the next time step
batch_synchronous   a batch is advanced until its last position has left, then the next one
fixed_T             every position takes all T steps
"""

import numpy as np
from numpy.typing import NDArray

from vecchess.bench.race import Count
from vecchess.inference.backend import Backend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.requests import Requests


class Continuous:
    """``SlotEngine`` with a queue of S rows that never empties.

    Rows are asked in turn, whenever they were answered: were they to queue again as they leave, the
    quick ones would come more often. One may sit in two slots, which gives the same answer twice.
    """

    def __init__(self, name: str, backend: Backend, requests: Requests) -> None:
        """``requests`` belongs to this entrant alone; as many rows as slots at least."""
        self.name = name
        self.requests = requests
        self.engine = SlotEngine(backend, requests)
        self._batches = Batches(requests.num_rows)
        self.engine.submit(self._batches.take(2 * backend.num_slots))

    def turn(self) -> Count:
        """Time steps until as many positions have left as there are slots."""
        positions, steps = 0, 0
        while positions < self.engine.slots.num_slots:
            rows = self.engine.step()
            self.engine.submit(self._batches.take(len(rows)))
            positions += len(rows)
            steps += int(self.requests.steps[rows].sum())
        return Count(positions, steps)


class BatchSynchronous:
    """The same engine, but nobody is admitted until all have left."""

    def __init__(self, name: str, backend: Backend, requests: Requests) -> None:
        """As ``Continuous``."""
        self.name = name
        self.requests = requests
        self.engine = SlotEngine(backend, requests)
        self._batches = Batches(requests.num_rows)

    def turn(self) -> Count:
        """One batch of S."""
        rows = self._batches.take(self.engine.slots.num_slots)
        self.engine.submit(rows)
        while not self.engine.is_idle:
            self.engine.step()
        return Count(len(rows), int(self.requests.steps[rows].sum()))


class Batches:
    """Rows 0, 1, ... R - 1, 0, 1, ... in batches."""

    def __init__(self, num_rows: int) -> None:
        """R = ``num_rows``."""
        self._num_rows = num_rows
        self._next = 0

    def take(self, size: int) -> NDArray[np.int32]:
        """int32[size]: the next rows."""
        rows = (self._next + np.arange(size, dtype=np.int32)) % self._num_rows
        self._next = (self._next + size) % self._num_rows
        return rows


def answer_all(entrant: Continuous | BatchSynchronous, num_rows: int) -> None:
    """Turn until rows 0 to ``num_rows`` - 1 are answered, which also compiles and fills slots."""
    while not entrant.requests.steps[:num_rows].all():
        entrant.turn()
