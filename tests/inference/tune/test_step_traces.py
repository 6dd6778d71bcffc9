"""Answers step by step are those of a backend that lets positions leave by a rule."""

import numpy as np
import pytest

from tests.inference.requests import answer, ask
from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.tune.exit_calibration import ScoredTraces
from vecchess.inference.tune.step_traces import record_steps
from vecchess.snn.initialise import new_network
from vecchess.snn.integer.integer_net import ExitRule
from vecchess.snn.presets import NetConfig

RULES = [
    ExitRule(),
    ExitRule.never(),
    ExitRule(min_steps=1, policy_margin=400, best_move_unchanged=False, value_drift=900),
]


@pytest.mark.parametrize("name", ["cpu", "reference"])
def test_a_rule_gives_the_recorded_answers_at_the_predicted_steps(name: str) -> None:
    config = NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32, time_steps=4)
    network = new_network(config, 1, random_positions(16, 1)[0])
    requests = ask(60)
    traces = record_steps(
        lambda rule: open_backend(name, network, 7, rule), requests, config.time_steps
    )
    scales = network.policy_scale, network.value_scale
    target = np.zeros(traces.policy.shape[1:])
    positions = ScoredTraces(traces, target, np.zeros(60, np.int8), *scales)
    at = np.arange(60)
    for rule in RULES:
        expected = positions.exit_steps(rule)
        policy, wdl, steps = answer(open_backend(name, network, 9, rule), ask(60), list(at), 4)
        assert np.array_equal(steps, expected)
        assert np.array_equal(wdl, traces.wdl[expected - 1, at])
        wide = traces.policy.shape[2]
        assert np.array_equal(policy[:, :wide], traces.policy[expected - 1, at])
