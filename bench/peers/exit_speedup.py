"""The speedup by early exits: continuous and batch-synchronous batching against fixed T.

Exit patterns of a chosen mean are made by a rule that looks at one number, the margin between the
best two moves, so they come from real positions: ExitRule(min_steps=1, best_move_unchanged=False,
policy_margin=m), with m found by bisection.
"""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.bench.entrants import Continuous, OwnEntrant, unanswered
from vecchess.bench.paired_timing import Count, Entrant, Laps, mean_steps, ratio, time_in_turns
from vecchess.inference.backend import Backend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.requests import Requests
from vecchess.snn.integer.integer_net import ExitRule

SHARES = (1.3 / 4, 1.5 / 4, 2.0 / 4, 2.5 / 4, 3.0 / 4, 3.5 / 4)
"""Mean time steps aimed at, as shares of T."""
SURE = np.iinfo(np.int64).max
"""Margin of a position with one legal move."""

OpenBackend = Callable[[ExitRule], Backend]
Margins = NDArray[np.int64]
"""int64[T, R]: best move minus second, per step, after 1 ... T steps, rounded down."""


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


def exit_patterns(
    questions: Requests, open_with: OpenBackend, fixed: Sequence[Entrant], seconds: float
) -> list[dict[str, Any]]:
    """A timing for each mean number of steps, in ``seconds`` altogether.

    fixed: engines at fixed T; the first is the base of the ratios, the last is slots without exits
    (it may be the same).
    """
    margins = measure_margins(questions, open_with)
    targets = [share * len(margins) for share in SHARES] if len(margins) > 1 else []
    return [
        _pattern(target, margins, questions, open_with, fixed, seconds / len(targets))
        for target in targets
    ]


def measure_margins(questions: Requests, open_with: OpenBackend) -> Margins:
    """End all positions after 1, 2, ... T steps, and measure their margins."""
    rows: list[NDArray[np.int64]] = []
    while True:
        step = len(rows) + 1
        backend = open_with(ExitRule(min_steps=step, best_move_unchanged=False))
        entrant = BatchSynchronous("margins", backend, unanswered(questions))
        entrant.answer_all(questions.num_rows)
        rows.append(_margin(entrant.requests, step))
        if step == backend.time_steps:
            return np.stack(rows)


def _margin(answered: Requests, steps: int) -> NDArray[np.int64]:
    """int64[R]: best accumulator minus second best, per step; ``SURE`` where one move is legal."""
    counts = np.arange(answered.policy.shape[1]) < answered.num_legal[:, None]
    scores = np.where(counts, answered.policy, np.iinfo(np.int32).min).astype(np.int64)
    best: NDArray[np.int64] = np.partition(scores, -2, axis=1)[:, -2:]
    margin: NDArray[np.int64] = (best[:, 1] - best[:, 0]) // steps
    margin[answered.num_legal == 1] = SURE
    return margin


def steps_at(margins: Margins, margin: int) -> NDArray[np.int64]:
    """int64[R]: the step after which each position leaves if ``policy_margin`` is ``margin``."""
    sure = margins >= margin
    sure[-1] = True
    steps: NDArray[np.int64] = sure.argmax(axis=0) + 1
    return steps


def find_margin(margins: Margins, mean: float) -> int:
    """The margin for which positions take ``mean`` steps, as nearly as integers allow."""
    low, high = 0, int(margins[margins < SURE].max(initial=0)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        if steps_at(margins, middle).mean() <= mean:
            low = middle
        else:
            high = middle
    return min((low, high), key=lambda margin: abs(steps_at(margins, margin).mean() - mean))


def _pattern(
    target: float,
    margins: Margins,
    questions: Requests,
    open_with: OpenBackend,
    fixed: Sequence[Entrant],
    seconds: float,
) -> dict[str, Any]:
    margin = find_margin(margins, target)
    rule = ExitRule(min_steps=1, best_move_unchanged=False, policy_margin=margin)
    continuous = Continuous("continuous", open_with(rule), unanswered(questions))
    synchronous = BatchSynchronous("batch_synchronous", open_with(rule), unanswered(questions))
    for entrant in (continuous, synchronous):
        entrant.answer_all(questions.num_rows)
    laps = time_in_turns((*fixed, continuous, synchronous), seconds)
    return _row(margin, laps, len(margins), fixed[0].name, fixed[-1].name)


def _row(margin: int, laps: Laps, time_steps: int, fixed: str, slots: str) -> dict[str, Any]:
    """``ideal`` is T / mean T; shares of it are ratios of time steps/s."""
    mean = mean_steps(laps["continuous"])
    return {
        "policy_margin": margin,
        "mean_time_steps": mean,
        "ideal": time_steps / mean,
        "speedup": ratio(laps, "continuous", fixed),
        "share_of_ideal": step_ratio(laps, "continuous", fixed),
        "share_of_slots_ideal": step_ratio(laps, "continuous", slots),
        "batch_synchronous_speedup": ratio(laps, "batch_synchronous", fixed),
        "batch_synchronous_share_of_ideal": step_ratio(laps, "batch_synchronous", fixed),
    }


def step_ratio(laps: Laps, one: str, other: str) -> float:
    """The ratio of time steps/s, independent of the steps an answer takes."""
    pairs = zip(laps[one], laps[other], strict=True)
    return median((a.steps / a.spent_s) / (b.steps / b.spent_s) for a, b in pairs)
