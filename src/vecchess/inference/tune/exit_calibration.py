"""Measures what leaving early costs against T time steps, and finds the rule that pays best.

All of it works on accumulators that were recorded step by step (``step_traces``), so a rule is
judged in milliseconds, by the comparisons of ``exit_rule`` in the same integers.

    cross-entropy   of the policy (softmax of accumulator / t * scale over the legal moves) to the
                    target distribution, in nats
    value error     (P(win) - P(loss) - outcome)^2, the outcome being 1, 0 or -1 for the mover
    agreement       share of positions whose best move is that of the last step
    KL              of the policy at the last step from the early one, in nats

A cost is the difference to the same figure at T; it is negative where early answers are better.
The best rule has the least price: KL, the cost in value error, and ``nats_per_doubling`` times the
binary logarithm of the mean time steps.

Decisions 20 and 348.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.tune.step_traces import StepTraces
from vecchess.snn.integer.integer_net import ExitRule

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NOT_YET = 2**62
"""Value drift before the second step: larger than any limit."""
NUM_MARGINS, NUM_DRIFTS, NUM_MIN_STEPS = 24, 16, 16
"""Most values of each threshold that are tried."""
NATS_PER_DOUBLING = 0.04
"""What answers in half the time are worth to a search, in nats a position (decision 348)."""


@dataclass(frozen=True)
class ExitCosts:
    """Averages over positions when each leaves at its own step; see the top of this file."""

    mean_time_steps: float
    cross_entropy: float
    cross_entropy_cost: float
    cross_entropy_cost_se: float
    """Standard error of the cost, as if the positions did not depend on each other."""
    value_error: float
    value_error_cost: float
    agreement: float
    kl: float

    def price(self, nats_per_doubling: float) -> float:
        """What answers lose, and what their time steps are worth."""
        time = nats_per_doubling * float(np.log2(self.mean_time_steps))
        return self.kl + self.value_error_cost + time

    def to_dict(self) -> dict[str, float]:
        """Numbers for JSON, to six digits after the point."""
        return {name: round(value, 6) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class ExitChoice:
    """A rule, its costs on the positions it was fitted to, and on those held out."""

    rule: ExitRule
    fit: ExitCosts
    holdout: ExitCosts


class ScoredTraces:
    """B positions with their answers after every step, compared with their targets."""

    def __init__(
        self,
        traces: StepTraces,
        target: Floats,
        outcome: NDArray[np.int8],
        policy_scale: float,
        value_scale: float,
    ) -> None:
        """``target``: float64[B, L], probabilities of the legal moves; ``outcome``: int8[B], 1, 0
        or -1 for the mover. The scales are the network's, logits per accumulator unit and step."""
        self.traces = traces
        self._target = target
        self._outcome = outcome
        self._scales = policy_scale, value_scale
        legal = np.arange(traces.policy.shape[2]) < traces.num_legal[:, None]
        steps = range(1, traces.time_steps + 1)
        last = _log_softmax(traces.policy[-1] * (policy_scale / traces.time_steps), legal)
        self.cross_entropy = np.empty((len(steps), traces.num_positions))
        self.kl = np.empty_like(self.cross_entropy)
        self.value_error = np.empty_like(self.cross_entropy)
        for t in steps:
            early = _log_softmax(traces.policy[t - 1] * (policy_scale / t), legal)
            self.cross_entropy[t - 1] = -(target * early).sum(axis=1)
            self.kl[t - 1] = (np.exp(last) * legal * (last - early)).sum(axis=1)
            value = np.exp(_log_softmax(traces.wdl[t - 1] * (value_scale / t), np.True_))
            self.value_error[t - 1] = (value[:, 0] - value[:, 2] - outcome) ** 2
        self._read_settledness(legal)

    def _read_settledness(self, legal: Bools) -> None:
        """Compute the integers that ``exit_rule.judge`` compares with its thresholds.

        best: int64[T, B], unchanged: bool[T, B], only: bool[B] one legal move, and the largest
        ``policy_margin`` and smallest ``value_drift`` that let the position pass, int64[T, B].
        """
        traces = self.traces
        scores = np.where(legal, traces.policy.astype(np.int64), -NOT_YET)
        steps = np.arange(1, traces.time_steps + 1, dtype=np.int64)[:, None]
        self.best = scores.argmax(axis=2)
        self.unchanged = np.zeros(self.best.shape, np.bool_)
        self.unchanged[1:] = self.best[1:] == self.best[:-1]
        self.only = traces.num_legal == 1
        top = np.take_along_axis(scores, self.best[:, :, None], axis=2)
        np.put_along_axis(scores, self.best[:, :, None], -NOT_YET, axis=2)
        self.margin = (top[:, :, 0] - scores.max(axis=2)) // steps
        self.drift = np.full(self.best.shape, NOT_YET)
        wdl, t = traces.wdl.astype(np.int64), steps[1:, :, None]
        moved = np.abs(wdl[1:] * (t - 1) - wdl[:-1] * t).max(axis=2)
        self.drift[1:] = -(-moved // (steps[1:] * (steps[1:] - 1)))

    def take(self, rows: NDArray[np.int64]) -> "ScoredTraces":
        """The positions ``rows`` (int64[K]) alone."""
        return ScoredTraces(
            self.traces.take(rows), self._target[rows], self._outcome[rows], *self._scales
        )

    @cached_property
    def agrees(self) -> Bools:
        """bool[T, B]: the best move is that of the last step."""
        agrees: Bools = self.best == self.best[-1]
        return agrees

    def exit_steps(self, rule: ExitRule) -> NDArray[np.int64]:
        """int64[B]: the step at which each position leaves by ``rule``."""
        steps = np.arange(1, self.traces.time_steps + 1)[:, None]
        settled = self.margin >= rule.policy_margin
        if rule.best_move_unchanged:
            settled &= self.unchanged
        if rule.value_drift is not None:
            settled &= self.drift <= rule.value_drift
        settled |= self.only
        settled &= steps >= rule.min_steps
        settled[-1] = True
        leaving: NDArray[np.int64] = settled.argmax(axis=0) + 1
        return leaving

    def costs(self, steps: NDArray[np.int64]) -> ExitCosts:
        """Averages when position b leaves at ``steps[b]``."""
        at = (steps - 1, np.arange(len(steps)))
        extra = self.cross_entropy[at] - self.cross_entropy[-1]
        return ExitCosts(
            mean_time_steps=float(steps.mean()),
            cross_entropy=float(self.cross_entropy[at].mean()),
            cross_entropy_cost=float(extra.mean()),
            cross_entropy_cost_se=float(extra.std() / np.sqrt(len(steps))),
            value_error=float(self.value_error[at].mean()),
            value_error_cost=float((self.value_error[at] - self.value_error[-1]).mean()),
            agreement=float(self.agrees[at].mean()),
            kl=float(self.kl[at].mean()),
        )

    def curve(self) -> list[dict[str, Any]]:
        """Costs when every position leaves at t, for each t from 1 to T, for JSON."""
        num = self.traces.num_positions
        rows = range(1, self.traces.time_steps + 1)
        return [self.costs(np.full(num, t)).to_dict() | {"time_steps": t} for t in rows]

    def candidates(self) -> Iterator[ExitRule]:
        """Rules whose thresholds are spread evenly over the values of these positions."""
        choosing = ~self.only
        margins = _spread(self.margin[:, choosing], NUM_MARGINS)
        drifts = [None, *_spread(self.drift[1:, choosing], NUM_DRIFTS)]
        num_steps = min(self.traces.time_steps, NUM_MIN_STEPS)
        for min_steps in np.unique(np.linspace(1, self.traces.time_steps, num_steps).round()):
            for unchanged in (False, True):
                for drift in drifts:
                    for margin in margins:
                        yield ExitRule(int(min_steps), margin, unchanged, drift)


def choose_rule(fit: ScoredTraces, holdout: ScoredTraces, nats_per_doubling: float) -> ExitChoice:
    """The rule of the least price on ``fit``, of equals that of the fewest time steps.

    The best of thousands of rules looks better than it is: what it costs, ``holdout`` tells.
    ``ExitRule.never()`` where no rule is cheaper than T steps.
    """
    rules = [ExitRule.never(), *fit.candidates()]
    tried = ((rule, fit.costs(fit.exit_steps(rule))) for rule in rules)
    rule, costs = min(
        tried, key=lambda one: (one[1].price(nats_per_doubling), one[1].mean_time_steps)
    )
    return ExitChoice(rule, costs, holdout.costs(holdout.exit_steps(rule)))


def _log_softmax(logits: Floats, legal: Any) -> Floats:
    """Over the last axis, of the entries that are legal; 0 elsewhere."""
    masked = np.where(legal, logits, -np.inf)
    shifted = masked - masked.max(axis=-1, keepdims=True)
    total = np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return np.where(legal, shifted - total, 0.0)


def _spread(values: NDArray[np.int64], count: int) -> list[int]:
    """At most ``count`` of the values, at even quantiles, and 0; ascending."""
    if not values.size:
        return [0]
    quantiles = np.quantile(values, np.linspace(0, 1, count), method="lower")
    return [int(value) for value in np.unique(np.append(quantiles, 0))]
