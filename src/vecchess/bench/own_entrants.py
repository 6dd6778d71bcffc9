"""Our own entrants, opened on one network and checked against ``reference`` before the timing.

Decision 121.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vecchess.bench.batching_engines import (
    BatchSynchronous,
    Continuous,
    LayerByLayer,
    OwnEntrant,
)
from vecchess.errors import VecchessError
from vecchess.inference.backend import Backend
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.cpu.layerwise import LayerwiseCpu
from vecchess.inference.engine import answer_all
from vecchess.inference.exit_rule import ExitRule
from vecchess.inference.playable_net import PlayableNet
from vecchess.inference.requests import Requests
from vecchess.snn.integer.integer_net import IntegerNet

FIXED, SLOTS_FIXED = "fixed_T", "slots_fixed_T"
CONTINUOUS, SYNCHRONOUS = "continuous", "batch_synchronous"
RELU_TWIN = "relu_twin"
CHECKED = 64
"""Number of positions that are compared with reference's answers."""


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


def open_own(setup: EntrantSetup, net: IntegerNet, questions: Requests) -> list[OwnEntrant]:
    """Every position T steps; and with the network's exit rule, continuously and by batches.

    ``fixed_T`` comes first; where it has an engine of its own, slots without exits second. Raises
    ``VecchessError`` for an answer that is not reference's.
    """
    rule, never = ExitRule.from_metadata(net.exit_rule), ExitRule.never()
    fixed: list[OwnEntrant] = []
    if setup.has_fixed:
        engine = LayerwiseCpu(net, setup.slots, setup.threads)
        fixed.append(LayerByLayer(FIXED, engine, unanswered(questions)))
    name = SLOTS_FIXED if fixed else FIXED
    fixed.append(Continuous(name, setup.open(net, never), unanswered(questions)))
    early: list[OwnEntrant] = [
        Continuous(CONTINUOUS, setup.open(net, rule), unanswered(questions)),
        BatchSynchronous(SYNCHRONOUS, setup.open(net, rule), unanswered(questions)),
    ]
    _check(fixed, reference_answers(net, questions, never))
    _check(early, reference_answers(net, questions, rule))
    return [*fixed, *early]


def open_twin(setup: EntrantSetup, twin: IntegerNet, questions: Requests) -> OwnEntrant:
    """The ReLU twin in the same server; it takes one step."""
    rule = ExitRule.never()
    entrant = Continuous(RELU_TWIN, setup.open(twin, rule), unanswered(questions))
    _check([entrant], reference_answers(twin, questions, rule))
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


def _check(entrants: Sequence[OwnEntrant], expected: Requests) -> None:
    """Have each entrant answer, which also warms it up, and compare bit by bit."""
    for entrant in entrants:
        entrant.answer_all(expected.num_rows)
        for part in ("policy", "wdl", "steps"):
            found = getattr(entrant.requests, part)[: expected.num_rows]
            if not np.array_equal(found, getattr(expected, part)):
                raise VecchessError(
                    f"{entrant.name} answers differently from reference ({part}): not timed"
                )
        if isinstance(entrant, Continuous):
            entrant.start_clock()
