"""Our own entrants: ways of feeding positions that may leave the network early.

Continuous         a settled slot is refilled before the next time step; with a rule without
                   exits before T, fixed T in slots
BatchSynchronous   a batch is advanced until its last position has left, then the next one
LayerByLayer       fixed T by the processor's kernels, without slots
"""

import numpy as np
from numpy.typing import NDArray

from vecchess.bench.paired_timing import Count
from vecchess.inference.backend import Backend
from vecchess.inference.cpu.layerwise import LayerwiseCpu
from vecchess.inference.engine import SlotEngine
from vecchess.inference.requests import Requests


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


class OwnEntrant:
    """An entrant that answers rows of its own in turn, without end, and keeps its answers."""

    def __init__(self, name: str, requests: Requests) -> None:
        """Rows 0 .. R - 1 are those of ``requests``, R = its number of rows."""
        self.name = name
        self.requests = requests
        self.answered = np.zeros(requests.num_rows, bool)
        """bool[R]: rows that were answered; a backend writes into others."""
        self.batches = Batches(requests.num_rows)

    def turn(self) -> Count:
        """Answer about as many positions as there are slots."""
        raise NotImplementedError

    def answer_all(self, num_rows: int) -> None:
        """Turn until the first ``num_rows`` rows are answered: this compiles and fills slots."""
        while not self.answered[:num_rows].all():
            self.turn()

    def count(self, rows: NDArray[np.int32]) -> Count:
        """Note that ``rows`` were answered."""
        self.answered[rows] = True
        return Count(len(rows), int(self.requests.steps[rows].sum()))


class Continuous(OwnEntrant):
    """``SlotEngine`` with a queue of S rows that never empties.

    Rows are submitted in turn, not when they are answered: otherwise the quick ones would come more
    often. There are so many copies that no row is submitted again before it has been answered, nor
    one of the first R before the last of them has.
    """

    def __init__(self, name: str, backend: Backend, requests: Requests) -> None:
        # a row waits for T steps at most and then takes T, and a step answers S rows at most
        needed = (2 * backend.time_steps + 2) * backend.num_slots
        copies = 1 + -(-needed // requests.num_rows)
        super().__init__(
            name, Requests._make(np.concatenate([array] * copies) for array in requests)
        )
        self.engine = SlotEngine(backend, self.requests)
        self.engine.submit(self.batches.take(2 * backend.num_slots))
        self._before = 0, 0

    def turn(self) -> Count:
        """Time steps until as many positions have left as there are slots."""
        positions, steps = 0, 0
        while positions < self.engine.slots.num_slots:
            rows = self.engine.step()
            self.engine.submit(self.batches.take(len(rows)))
            done = self.count(rows)
            positions, steps = positions + done.positions, steps + done.steps
        return Count(positions, steps)

    def start_clock(self) -> None:
        """Start of the time that ``overhead`` measures."""
        self._before = self._clock()

    def overhead(self) -> float | None:
        """Share of the engine time outside kernels; None where the backend has no kernel clock."""
        whole, kernels = (now - then for now, then in zip(self._clock(), self._before, strict=True))
        return 1 - kernels / whole if kernels and whole else None

    def _clock(self) -> tuple[int, int]:
        """Time in the engine and, of that, in kernels, in ns."""
        return self.engine.counters.device_ns, getattr(self.engine.backend, "kernel_ns", 0)


class BatchSynchronous(OwnEntrant):
    """The same engine, but a batch is admitted only when all of the last one have left."""

    def __init__(self, name: str, backend: Backend, requests: Requests) -> None:
        super().__init__(name, requests)
        self.engine = SlotEngine(backend, requests)

    def turn(self) -> Count:
        """One batch of S."""
        rows = self.batches.take(self.engine.slots.num_slots)
        self.engine.submit(rows)
        while not self.engine.is_idle:
            self.engine.step()
        return self.count(rows)


class LayerByLayer(OwnEntrant):
    """``LayerwiseCpu``: T steps for each position, without slots."""

    def __init__(self, name: str, engine: LayerwiseCpu, requests: Requests) -> None:
        super().__init__(name, requests)
        self._engine = engine

    def turn(self) -> Count:
        """One batch of as many boards as the engine takes."""
        rows = self.batches.take(self._engine.num_boards)
        self._engine.answer(self.requests, rows)
        return self.count(rows)
