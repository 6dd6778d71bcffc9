"""The lines about learning."""

from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from rich.console import Console

from vecchess.config import TrainConfig
from vecchess.selfplay.worker.networks import PublishedNet
from vecchess.train.data.batch_spec import IterationPlan
from vecchess.train.train_reporter import (
    LearningDisplay,
    TrainReporter,
    evaluation_line,
    ratios_line,
)


def test_skipped_updates_are_counted_and_named() -> None:
    lines: list[str] = []
    logged: list[dict[str, float]] = []
    reporter: Any = SimpleNamespace(
        config=TrainConfig(log_every=4), title="[1/6]", note=lines.append,
        log_steps=logged.append, set_learning=lambda facts: None, log_ratios=lambda ratios: None,
        status_facts=dict,
    )  # fmt: skip
    display: Any = SimpleNamespace(update=lambda line, picture: None)
    plan = IterationPlan(9, lambda step: step, 100)  # type: ignore[arg-type]
    learning = LearningDisplay(reporter, plan, 0, display)
    for step, loss in enumerate([1.0, None, 2.0, 3.0], start=1):
        means = {"skipped": 1.0} if loss is None else {"loss": loss, "skipped": 0.0}
        learning.update(step, means, [0.0])
    assert lines == ["[1/6]  update 2 skipped: its gradient is not finite"]
    assert logged == [{"loss": 2.0, "skipped": 0.25}]
    assert learning.means["loss"] == 3.0


def test_a_stopped_iteration_counts_what_it_learnt() -> None:
    console = Console(file=(out := StringIO()), width=200)
    reporter = TrainReporter(TrainConfig(batch_size=64), console, False, None, MagicMock())
    plan = IterationPlan(9, lambda step: step, 100)  # type: ignore[arg-type]
    with reporter.display_learning(plan, first=2) as learning:
        for step in (3, 4):
            learning.update(step, {"loss": 1.0, "skipped": 0.0}, [0.0])
    assert "learnt 128 samples" in out.getvalue()


@pytest.mark.parametrize(
    ("ratios", "wanted"),
    [
        ({"acting_error": 0.0}, "first update: mean |ratio - 1| to the network that acted 0"),
        (
            {"acting_error": 0.12, "ratio_error": 0.1, "clipped": 0.25},
            "first update: mean |ratio - 1| 0.1, 25.0% beyond the clip range, "
            "to the network that acted 0.12",
        ),
    ],
)
def test_ratios_of_the_first_update_are_named(ratios: dict[str, float], wanted: str) -> None:
    assert ratios_line("[1/6]", ratios) == f"[1/6]  {wanted}"


def test_held_out_positions_without_policies_have_a_value_error_alone() -> None:
    facts = {"rows": 8, "policy_rows": 0, "value_error": [0.5, 0.25]}
    line = evaluation_line("[1/6]", facts)
    assert line == "[1/6]  held out: value error 0.500 0.250  (after each step)"


def test_the_status_names_the_newest_network() -> None:
    """Also once the run is over: nothing plays with it then."""
    status = MagicMock()
    name = "b-s256-d1"
    net = PublishedNet(name, Path("nets") / f"{name}.safetensors", "ab" * 32)
    TrainReporter(TrainConfig(), None, True, status, MagicMock()).log_publish(net)
    status.update.assert_called_once_with(net=f"{name}.safetensors")
