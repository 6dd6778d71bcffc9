"""Our own entrants, opened on one network and checked against ``reference`` before the timing."""

from collections.abc import Sequence
from dataclasses import dataclass

from vecchess.bench.agreement import reference_answers, require_same, unanswered
from vecchess.bench.batching_engines import (
    Answering,
    BatchSynchronous,
    Continuous,
    LayerByLayer,
    answer_all,
)
from vecchess.inference.backend import Backend
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.cpu.layerwise import LayerwiseCpu
from vecchess.inference.exit_rule import ExitRule
from vecchess.inference.requests import Requests
from vecchess.snn.integer.integer_net import IntegerNet

FIXED, SLOTS_FIXED = "fixed_T", "slots_fixed_T"
CONTINUOUS, SYNCHRONOUS = "continuous", "batch_synchronous"
RELU_TWIN = "relu_twin"


@dataclass(frozen=True)
class EntrantSetup:
    """What each of our engines is given: S, the device, threads, and the backend's name."""

    slots: int
    device: str
    threads: int
    backend: str

    def open(self, net: IntegerNet, rule: ExitRule | None) -> Backend:
        """A backend; as ``open_backend``."""
        return open_backend(self.backend, net, self.slots, rule, self.device, self.threads)

    @property
    def has_fixed(self) -> bool:
        """Whether there is an engine for fixed T here, besides slots without exits."""
        return self.device == "cpu" and self.backend in ("auto", "cpu")


def open_own(setup: EntrantSetup, net: IntegerNet, questions: Requests) -> list[Answering]:
    """Every position T steps; and with the network's exit rule, continuously and by batches.

    Raises ``VecchessError`` for an answer that is not reference's.
    """
    rule = ExitRule.from_metadata(net.exit_rule)
    fixed = open_fixed(setup, net, questions)
    early: list[Answering] = [
        Continuous(CONTINUOUS, setup.open(net, rule), unanswered(questions)),
        BatchSynchronous(SYNCHRONOUS, setup.open(net, rule), unanswered(questions)),
    ]
    check(fixed, reference_answers(net, questions, ExitRule.never()))
    check(early, reference_answers(net, questions, rule))
    return [*fixed, *early]


def open_fixed(setup: EntrantSetup, net: IntegerNet, questions: Requests) -> list[Answering]:
    """``fixed_T`` first; where it has an engine of its own, slots without exits too."""
    backend = setup.open(net, ExitRule.never())
    if not setup.has_fixed:
        return [Continuous(FIXED, backend, unanswered(questions))]
    engine = LayerwiseCpu(net, setup.slots, setup.threads)
    return [
        LayerByLayer(FIXED, engine, unanswered(questions)),
        Continuous(SLOTS_FIXED, backend, unanswered(questions)),
    ]


def open_twin(setup: EntrantSetup, twin: IntegerNet, questions: Requests) -> Answering:
    """The ReLU twin in the same server; it takes one step."""
    rule = ExitRule.never()
    entrant = Continuous(RELU_TWIN, setup.open(twin, rule), unanswered(questions))
    check([entrant], reference_answers(twin, questions, rule))
    return entrant


def check(entrants: Sequence[Answering], expected: Requests) -> None:
    """Have each entrant answer, which also warms it up, and compare bit by bit."""
    for entrant in entrants:
        answer_all(entrant, expected.num_rows)
        require_same(entrant.name, entrant.requests, expected)
        if isinstance(entrant, Continuous):
            entrant.start_clock()
