"""Checks that engines answer as ``reference`` does, on the first of the positions."""

import numpy as np

from vecchess.errors import VecchessError
from vecchess.inference.engine import SlotEngine
from vecchess.inference.exit_rule import ExitRule
from vecchess.inference.requests import Requests
from vecchess.snn.integer.integer_net import IntegerNet

CHECKED = 64
"""Number of positions that are compared."""
BITS = "bits"
"""How answers agree of which every accumulator is equal."""


def unanswered(questions: Requests, num: int | None = None) -> Requests:
    """The first ``num`` rows (all by default) as a copy, without answers."""
    rows = slice(num)
    return Requests(
        planes=questions.planes[rows].copy(),
        legal=questions.legal[rows].copy(),
        num_legal=questions.num_legal[rows].copy(),
        policy=np.zeros_like(questions.policy[rows]),
        wdl=np.zeros_like(questions.wdl[rows]),
        steps=np.zeros_like(questions.steps[rows]),
    )


def reference_answers(
    net: IntegerNet, questions: Requests, rule: ExitRule, num: int = CHECKED
) -> Requests:
    """The first ``num`` questions as ``reference`` answers them on the CPU."""
    from vecchess.inference.reference import ReferenceBackend

    requests = unanswered(questions, num)
    engine = SlotEngine(ReferenceBackend(net, requests.num_rows, rule), requests)
    engine.submit(np.arange(requests.num_rows, dtype=np.int32))
    while not engine.is_idle:
        engine.step()
    return requests


def require_same(name: str, found: Requests, expected: Requests) -> None:
    """Raise ``VecchessError`` unless the rows of ``expected`` are answered alike, to the bit."""
    rows = slice(expected.num_rows)
    for part in ("policy", "wdl", "steps"):
        if not np.array_equal(getattr(found, part)[rows], getattr(expected, part)):
            raise VecchessError(f"{name} answers differently from reference ({part}): not timed")
