"""The exit rule against its definition in fractions, and its stored form."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vecchess.errors import NetworkError
from vecchess.inference.exit_rule import NO_BEST, judge
from vecchess.snn.integer.integer_net import ExitRule

T = 6
SCORES = st.lists(st.integers(-50, 50), min_size=3, max_size=3)


def _kernel(
    rule: ExitRule, policies: list[list[int]], wdls: list[list[int]]
) -> list[tuple[bool, int]]:
    """(settles, best) after each step, one slot; ``policies`` are accumulators by step."""
    policy, num_legal = np.zeros((1, 8), np.int32), np.array([len(policies[0])], np.uint8)
    wdl, before = np.zeros((1, 3), np.int32), np.zeros((1, 3), np.int32)
    steps, best = np.zeros(1, np.uint8), np.full(1, NO_BEST, np.int32)
    settles, slots = np.zeros(1, np.bool_), np.zeros(1, np.int32)
    verdicts = []
    for scores, outcome in zip(policies, wdls, strict=True):
        policy[0, : len(scores)], wdl[0] = scores, outcome
        steps += 1
        rest = (policy, num_legal, wdl, steps, best, before, settles)
        judge(slots, slots, rule.as_integers(), T, *rest)
        verdicts.append((bool(settles[0]), int(best[0])))
    return verdicts


def _definition(
    rule: ExitRule, policies: list[list[int]], wdls: list[list[int]]
) -> list[tuple[bool, int]]:
    verdicts: list[tuple[bool, int]] = []
    for t, (scores, wdl) in enumerate(zip(policies, wdls, strict=True), start=1):
        best = scores.index(max(scores))
        ranked = sorted((Fraction(score, t) for score in scores), reverse=True)
        agrees = len(scores) == 1 or ranked[0] - ranked[1] >= rule.policy_margin
        if len(scores) > 1 and rule.best_move_unchanged:
            agrees &= t > 1 and verdicts[-1][1] == best
        if len(scores) > 1 and rule.value_drift is not None and t == 1:
            agrees = False
        elif len(scores) > 1 and rule.value_drift is not None:
            pairs = zip(wdl, wdls[t - 2], strict=True)
            drift = max(abs(Fraction(a, t) - Fraction(b, t - 1)) for a, b in pairs)
            agrees &= drift <= rule.value_drift
        verdicts.append((t == T or (t >= rule.min_steps and agrees), best))
    return verdicts


@settings(max_examples=200, deadline=None)
@given(
    policies=st.integers(1, 4).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(-4, 4), min_size=n, max_size=n), min_size=T, max_size=T
        )
    ),
    wdls=st.lists(SCORES, min_size=T, max_size=T),
    rule=st.builds(
        ExitRule,
        min_steps=st.sampled_from([1, 2, 3, 255]),
        policy_margin=st.integers(0, 2),
        best_move_unchanged=st.booleans(),
        value_drift=st.none() | st.integers(0, 20),
    ),
)
def test_kernel_is_the_definition(
    policies: list[list[int]], wdls: list[list[int]], rule: ExitRule
) -> None:
    verdicts = _kernel(rule, policies, wdls)
    assert verdicts == _definition(rule, policies, wdls)
    if len(policies[0]) > 1:
        early = [settles for settles, _ in verdicts[: rule.first_exit - 1]]
        assert not any(early[: T - 1])


def test_drift_is_unknown_at_the_first_step() -> None:
    rule = ExitRule(min_steps=1, best_move_unchanged=False, value_drift=1000)
    verdicts = _kernel(rule, [[5, 1]] * 2, [[1, 1, 1]] * 2)
    assert [settles for settles, _ in verdicts] == [False, True]


def test_stored_form() -> None:
    rule = ExitRule(min_steps=3, policy_margin=7, best_move_unchanged=False, value_drift=9)
    assert ExitRule.from_metadata(rule.to_metadata()) == rule
    assert ExitRule.from_metadata(None) == ExitRule()
    with pytest.raises(NetworkError, match="not understood"):
        ExitRule.from_metadata({"patience": 3})
    with pytest.raises(NetworkError, match="min_steps"):
        ExitRule(min_steps=0)
