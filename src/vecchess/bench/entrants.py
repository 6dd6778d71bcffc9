"""Our engines as entrants, opened on one network and checked against ``reference`` (decision 121).

Continuous         a settled slot is refilled before the next time step; with a rule without
                   exits before T, fixed T in slots
LayerByLayer       fixed T by the processor's kernels, without slots
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vecchess.bench.paired_timing import Count
from vecchess.errors import VecchessError
from vecchess.inference.backend import Backend
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.cpu.backend import CpuBackend
from vecchess.inference.engine import SlotEngine, answer_all
from vecchess.inference.playable_net import PlayableNet
from vecchess.inference.requests import Requests
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet

FIXED, SLOTS_FIXED, CONTINUOUS = "fixed_T", "slots_fixed_T", "continuous"
RELU_TWIN = "relu_twin"
CHECKED = 64
"""Number of positions that are compared with reference's answers."""


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


class LayerByLayer(OwnEntrant):
    """Batches of S positions that all take T steps, without slots (decision 16)."""

    def __init__(self, name: str, backend: CpuBackend, requests: Requests) -> None:
        super().__init__(name, requests)
        self._backend = backend

    def turn(self) -> Count:
        """One batch."""
        rows = self.batches.take(self._backend.num_slots)
        for sums in (self.requests.policy, self.requests.wdl, self.requests.steps):
            sums[rows] = 0
        self._backend.answer(self.requests, rows)
        return self.count(rows)


@dataclass(frozen=True)
class EntrantSetup:
    """What each of our engines is given: S, the device, threads, and the backend's name."""

    slots: int
    device: str
    threads: int
    backend: str

    def open(self, net: PlayableNet, rule: ExitRule | None) -> Backend:
        """A backend; as ``open_backend``."""
        return open_backend(self.backend, net, self.slots, rule, self.device, self.threads)

    @property
    def has_fixed(self) -> bool:
        """Whether there is an engine for fixed T here, besides slots without exits."""
        return self.device == "cpu" and self.backend in ("auto", "cpu")


def open_own(setup: EntrantSetup, net: PlayableNet, questions: Requests) -> list[OwnEntrant]:
    """Every position T steps; and with the network's exit rule.

    ``fixed_T`` comes first; where it has an engine of its own, slots without exits second. All are
    warmed up. Raises ``VecchessError`` for an answer that is not reference's, which knows integers.
    """
    rule, never = ExitRule.from_metadata(net.exit_rule), ExitRule.never()
    fixed: list[OwnEntrant] = []
    if isinstance(net, IntegerNet) and setup.has_fixed:
        backend = CpuBackend(net, setup.slots, never, setup.threads)
        fixed.append(LayerByLayer(FIXED, backend, unanswered(questions)))
    name = SLOTS_FIXED if fixed else FIXED
    fixed.append(Continuous(name, setup.open(net, never), unanswered(questions)))
    early = Continuous(CONTINUOUS, setup.open(net, rule), unanswered(questions))
    _warm_up(fixed, net, questions, never)
    _warm_up([early], net, questions, rule)
    return [*fixed, early]


def open_twin(setup: EntrantSetup, twin: IntegerNet, questions: Requests) -> OwnEntrant:
    """The ReLU twin in the same server; it takes one step."""
    rule = ExitRule.never()
    entrant = Continuous(RELU_TWIN, setup.open(twin, rule), unanswered(questions))
    _warm_up([entrant], twin, questions, rule)
    return entrant


def unanswered(questions: Requests, num: int | None = None) -> Requests:
    """The first ``num`` rows (all by default) as a copy, without answers."""
    rows = questions.part(slice(num))
    empty = Requests.empty(rows.num_rows, rows.planes.shape[1])
    return empty._replace(
        planes=rows.planes.copy(), legal=rows.legal.copy(), num_legal=rows.num_legal.copy()
    )


def reference_answers(
    net: IntegerNet, questions: Requests, rule: ExitRule, num: int = CHECKED
) -> Requests:
    """The first ``num`` questions as ``reference`` answers them on the CPU."""
    from vecchess.inference.reference import ReferenceBackend

    requests = unanswered(questions, num)
    answer_all(ReferenceBackend(net, requests.num_rows, rule), requests)
    return requests


def _warm_up(
    entrants: Sequence[OwnEntrant], net: PlayableNet, questions: Requests, rule: ExitRule
) -> None:
    """Have each entrant answer, and compare bit by bit where the network has integers."""
    expected = reference_answers(net, questions, rule) if isinstance(net, IntegerNet) else None
    for entrant in entrants:
        entrant.answer_all(min(CHECKED, questions.num_rows))
        for part in ("policy", "wdl", "steps") if expected else ():
            found = getattr(entrant.requests, part)[: min(CHECKED, questions.num_rows)]
            if not np.array_equal(found, getattr(expected, part)):
                raise VecchessError(
                    f"{entrant.name} answers differently from reference ({part}): not timed"
                )
        if isinstance(entrant, Continuous):
            entrant.start_clock()
