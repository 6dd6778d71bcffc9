"""Exit patterns: the margins predict, to the step, what the engine does with the rule."""

import numpy as np
import pytest
from bench.peers.exit_speedup import (
    SHARES,
    BatchSynchronous,
    exit_patterns,
    find_margin,
    measure_margins,
    step_ratio,
    steps_at,
)

from tests.bench.nets import questions, small_net
from vecchess.bench.entrants import Continuous, unanswered
from vecchess.bench.paired_timing import Lap
from vecchess.inference.backend import Backend
from vecchess.inference.backend_registry import open_backend
from vecchess.snn.integer.integer_net import ExitRule


def open_with(rule: ExitRule) -> Backend:
    return open_backend("cpu", small_net(), 8, rule)


@pytest.mark.parametrize("kind", [Continuous, BatchSynchronous])
def test_margins_predict_when_positions_leave(kind: type[Continuous | BatchSynchronous]) -> None:
    margins = measure_margins(questions(), open_with)
    assert margins.shape == (4, questions().num_rows)
    margin = find_margin(margins, 2.0)
    rule = ExitRule(min_steps=1, best_move_unchanged=False, policy_margin=margin)
    entrant = kind("x", open_with(rule), unanswered(questions()))
    entrant.answer_all(questions().num_rows)
    steps = entrant.requests.steps[: questions().num_rows]
    assert np.array_equal(steps, steps_at(margins, margin))


def test_quick_positions_do_not_come_more_often() -> None:
    margins = measure_margins(questions(), open_with)
    margin = find_margin(margins, 2.0)
    rule = ExitRule(min_steps=1, best_move_unchanged=False, policy_margin=margin)
    entrant = Continuous("x", open_with(rule), unanswered(questions()))
    turns = [entrant.turn() for _ in range(300)]
    mean = sum(turn.steps for turn in turns) / sum(turn.positions for turn in turns)
    assert mean == pytest.approx(steps_at(margins, margin).mean(), rel=0.01)


def test_the_margin_is_found_as_nearly_as_positions_allow() -> None:
    margins = np.array([[3, 10, 1, 7], [9, 12, 2, 8]])
    assert steps_at(margins, 0).tolist() == [1, 1, 1, 1]
    assert steps_at(margins, 8).tolist() == [2, 1, 2, 2]
    for mean in (1.0, 1.25, 1.5, 1.75, 2.0):
        assert steps_at(margins, find_margin(margins, mean)).mean() == mean


def test_patterns_tell_speed_and_ideal() -> None:
    fixed = Continuous("fixed_T", open_with(ExitRule.never()), unanswered(questions()))
    rows = exit_patterns(questions(), open_with, [fixed], seconds=0.1)
    assert len(rows) == len(SHARES)
    means = [row["mean_time_steps"] for row in rows]
    assert means == sorted(means)
    for row in rows:
        assert row["ideal"] == pytest.approx(4 / row["mean_time_steps"])
        assert row["speedup"] > 0
        assert row["share_of_ideal"] == row["share_of_slots_ideal"]
        assert row["batch_synchronous_speedup"] > 0


def test_a_ratio_of_steps_leaves_out_how_many_an_answer_takes() -> None:
    laps = {
        "one": [Lap(10, 20, s, 0.5) for s in (1.0, 4.0, 1.0)],
        "other": [Lap(10, 40, s, 0.5) for s in (2.0, 8.0, 5.0)],
    }
    assert step_ratio(laps, "one", "other") == 1.0
