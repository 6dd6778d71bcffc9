"""The rule by which a slot settles before T: exact integer comparisons, slot by slot.

All enabled conditions must hold. With accumulators A after t steps and logits A / t:

    t >= min_steps
    best - second best >= policy_margin * t          margin of logits, without division
    best move the same as one step ago               ties go to the lowest index in ``legal``
    |wdl_t * (t - 1) - wdl_(t-1) * t| <= value_drift * t * (t - 1)      every outcome

At the first step nothing counts as unchanged. A position with one legal move leaves at min_steps,
all others at T at the latest. The rule asks for a stable move and value, because chess policies are
seldom sure.
"""

import numpy as np
from numpy.typing import NDArray

from vecchess.jit import inline, kernel
from vecchess.snn.integer.integer_net import ExitRule

NO_BEST = -1
"""Best move before the first step."""


@inline
def _drifted(wdl, previous, t, limit):  # type: ignore[no-untyped-def]
    for outcome in range(wdl.shape[0]):
        moved = np.int64(wdl[outcome]) * (t - 1) - np.int64(previous[outcome]) * t
        if abs(moved) > limit * t * (t - 1):
            return True
    return False


@inline
def _may_leave(rule, t, num_legal, margin, unchanged, wdl, previous_wdl):  # type: ignore[no-untyped-def]
    if t < rule[0]:
        return False
    if num_legal == 1:
        return True
    if margin < rule[1] * t:
        return False
    if rule[2] != 0 and not unchanged:
        return False
    return rule[3] < 0 or (t > 1 and not _drifted(wdl, previous_wdl, t, rule[3]))


@kernel
def judge(  # type: ignore[no-untyped-def]
    slots, rows, rule, time_steps, policy, num_legal, wdl, steps, best, previous_wdl, settles
):
    """Fill ``settles: bool[K]`` after a time step, and keep best move and wdl of each slot.

    slots: int32[K], of best: int32[S] and previous_wdl: int32[S, 3]; rows: int32[K], of policy,
    num_legal, wdl and steps as in ``Requests``, this step included; rule: ``as_integers``.
    """
    for k in range(slots.shape[0]):
        slot, row = slots[k], rows[k]
        scores = policy[row]
        top = 0
        second = np.int64(-(2**62))
        for move in range(1, num_legal[row]):
            if scores[move] > scores[top]:
                second = np.int64(scores[top])
                top = move
            elif scores[move] > second:
                second = np.int64(scores[move])
        t = np.int64(steps[row])
        margin = np.int64(scores[top]) - second
        unchanged = best[slot] == top
        settles[k] = t >= time_steps or _may_leave(
            rule, t, num_legal[row], margin, unchanged, wdl[row], previous_wdl[slot]
        )
        best[slot] = top
        for outcome in range(wdl.shape[1]):
            previous_wdl[slot, outcome] = wdl[row, outcome]


def exit_step(rule: ExitRule, policy: NDArray[np.int32], wdl: NDArray[np.int32]) -> int:
    """The time step, 1 to T, after which a position leaves by ``rule``.

    policy: int32[T, L] and wdl: int32[T, 3], its accumulators after each step; L legal moves.
    """
    time_steps, num_legal = policy.shape
    only, counts = np.zeros(1, np.int32), np.array([num_legal], np.uint8)
    best, previous = np.full(1, NO_BEST, np.int32), np.zeros((1, wdl.shape[1]), np.int32)
    steps, settles = np.zeros(1, np.uint8), np.zeros(1, np.bool_)
    numbers = rule.as_integers()
    while not settles[0]:
        now = slice(int(steps[0]), int(steps[0]) + 1)
        steps += 1
        judge(
            only, only, numbers, time_steps, policy[now], counts, wdl[now], steps, best, previous,
            settles,
        )  # fmt: skip
    return int(steps[0])
