"""Costs and choice of exit rules, on made-up answers whose best rule is known."""

import math

import numpy as np
import pytest

from vecchess.inference.exit_rule import NO_BEST, judge
from vecchess.inference.tune.exit_calibration import ScoredTraces, choose_rule
from vecchess.inference.tune.step_traces import StepTraces
from vecchess.snn.integer.integer_net import ExitRule

SCALE = 0.01


def random_traces(num: int, time_steps: int, seed: int, spread: int = 40) -> StepTraces:
    rng = np.random.default_rng(seed)
    num_legal = rng.integers(1, 7, num).astype(np.uint8)
    policy = rng.integers(-spread, spread, (time_steps, num, 6)).cumsum(axis=0).astype(np.int32)
    wdl = rng.integers(-spread, spread, (time_steps, num, 3)).cumsum(axis=0).astype(np.int32)
    return StepTraces(policy, wdl, num_legal)


def judged(traces: StepTraces, seed: int = 0) -> ScoredTraces:
    rng = np.random.default_rng(seed)
    played = rng.integers(0, traces.num_legal)
    target = np.zeros(traces.policy.shape[1:])
    target[np.arange(len(played)), played] = 1.0
    outcome = rng.integers(-1, 2, len(played)).astype(np.int8)
    return ScoredTraces(traces, target, outcome, SCALE, SCALE)


def steps_by_kernel(traces: StepTraces, rule: ExitRule) -> np.ndarray:
    """What a backend would do: ``exit.judge`` after every step."""
    num, time_steps = traces.num_positions, traces.time_steps
    slots, steps = np.arange(num, dtype=np.int32), np.zeros(num, np.uint8)
    best, previous = np.full(num, NO_BEST, np.int32), np.zeros((num, 3), np.int32)
    settles, left = np.zeros(num, np.bool_), np.zeros(num, np.int64)
    for t in range(1, time_steps + 1):
        steps += 1
        rest = (steps, best, previous, settles)
        policy, wdl = traces.policy[t - 1].copy(), traces.wdl[t - 1].copy()
        judge(slots, slots, rule.as_integers(), time_steps, policy, traces.num_legal, wdl, *rest)
        left[(left == 0) & settles] = t
    return left


@pytest.mark.parametrize("time_steps", [1, 2, 4, 9])
@pytest.mark.parametrize("spread", [3, 40])
def test_rules_mean_what_the_backends_make_of_them(time_steps: int, spread: int) -> None:
    traces = random_traces(300, time_steps, time_steps, spread)
    positions = judged(traces)
    rules = list(positions.candidates())
    assert ExitRule(1, 0, False, None) in rules
    some = np.random.default_rng(2).choice(len(rules), min(len(rules), 80), replace=False)
    for rule in [*(rules[index] for index in some), ExitRule(), ExitRule.never()]:
        assert np.array_equal(positions.exit_steps(rule), steps_by_kernel(traces, rule)), rule


def test_costs_by_hand() -> None:
    policy = np.array([[[100, 0, 9]], [[300, 100, 9]]], np.int32)
    wdl = np.array([[[0, 0, 0]], [[200, 0, 0]]], np.int32)
    traces = StepTraces(policy, wdl, np.array([2], np.uint8))
    target = np.array([[0.25, 0.75, 0.0]])
    row = ScoredTraces(traces, target, np.array([1], np.int8), SCALE, SCALE)
    costs = row.costs(np.array([1]))
    p = 1 / (1 + math.exp(-1))  # after either step the logits differ by 1
    entropy = -0.25 * math.log(p) - 0.75 * math.log(1 - p)
    assert costs.cross_entropy == pytest.approx(entropy)
    assert costs.cross_entropy_cost == pytest.approx(0)
    assert costs.kl == pytest.approx(0)
    assert costs.agreement == 1
    win = math.e / (math.e + 2)
    loss = 1 / (math.e + 2)
    late = (win - loss - 1) ** 2
    assert costs.value_error == pytest.approx(1)
    assert costs.value_error_cost == pytest.approx(1 - late)
    last = row.costs(np.array([2]))
    assert (last.value_error, last.value_error_cost) == (pytest.approx(late), 0)
    assert [point["time_steps"] for point in row.curve()] == [1, 2]


def test_kl_is_zero_at_the_end_and_positive_before() -> None:
    positions = judged(random_traces(200, 5, 1))
    curve = positions.curve()
    assert curve[-1]["kl"] == 0
    assert curve[-1]["agreement"] == 1
    assert all(point["kl"] > 0 for point in curve[:-1])
    assert np.isfinite(positions.cross_entropy).all()


def settled_and_unsettled(num: int, seed: int) -> StepTraces:
    """Half of the positions say the same at all four steps; the rest turn around at the last."""
    rng = np.random.default_rng(seed)
    steady = rng.integers(0, 2, num).astype(bool)
    first = rng.integers(0, 6, num)
    then = (first + 1) % 6
    policy = np.zeros((4, num, 6), np.int32)
    for t in range(1, 5):
        says = np.where(steady | (t < 4), first, then)
        policy[t - 1, np.arange(num), says] = np.where(steady, 800 * t, 60 * t)
    wdl = np.zeros((4, num, 3), np.int32)
    return StepTraces(policy, wdl, np.full(num, 6, np.uint8))


def at_the_end(traces: StepTraces) -> ScoredTraces:
    """The target is the best move of the last step."""
    target = np.eye(6)[traces.policy[-1].argmax(axis=1)]
    outcome = np.zeros(traces.num_positions, np.int8)
    return ScoredTraces(traces, target, outcome, SCALE, SCALE)


def test_only_the_settled_leave_early() -> None:
    fit, holdout = (at_the_end(settled_and_unsettled(400, seed)) for seed in (1, 2))
    choice = choose_rule(fit, holdout, 0.005)
    assert choice.rule.policy_margin > 60
    for positions, costs in ((fit, choice.fit), (holdout, choice.holdout)):
        steady = positions.traces.policy[-1].max(axis=1) > 1000
        assert np.array_equal(positions.exit_steps(choice.rule), np.where(steady, 1, 4))
        assert costs.mean_time_steps == pytest.approx(4 - 3 * steady.mean())
        assert costs.cross_entropy_cost == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("nats", [0.0, 0.02, 0.3, 2.0])
def test_the_price_of_time_decides(seed: int, nats: float) -> None:
    """No rule is cheaper than the one chosen, nor as cheap in fewer steps."""
    fit = judged(random_traces(120, 4, seed), seed)
    chosen = choose_rule(fit, fit, nats)

    def price(rule: ExitRule) -> tuple[float, float]:
        steps = fit.exit_steps(rule)
        rows = np.arange(len(steps))
        answers = fit.kl[steps - 1, rows] + fit.value_error[steps - 1, rows]
        return answers.mean() + nats * math.log2(steps.mean()), steps.mean()

    cheapest = min(price(rule) for rule in [ExitRule.never(), *fit.candidates()])
    assert price(chosen.rule) == pytest.approx(cheapest)
    assert chosen.holdout == chosen.fit


def test_dear_time_ends_at_once_and_free_time_never() -> None:
    """Answers that turn around at the last step are worth the steps, or are not."""
    turning = settled_and_unsettled(200, 3)
    fit = at_the_end(turning.take(np.flatnonzero(turning.policy[-1].max(axis=1) < 1000)))
    lost = fit.kl[0].mean()
    assert choose_rule(fit, fit, lost / 2 * 1.01).fit.mean_time_steps == 1
    assert choose_rule(fit, fit, lost / 2 * 0.99).rule == ExitRule.never()
    one_step = judged(random_traces(50, 1, 4))
    assert choose_rule(one_step, one_step, 0.04).rule == ExitRule.never()
