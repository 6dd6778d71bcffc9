"""The training loop with stubs for all that it calls: its order, and stops in between."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vecchess.config import TrainConfig
from vecchess.runtime.signals import StopSignals
from vecchess.store.run_folder import RunFolder
from vecchess.train import trainer as trainers
from vecchess.train.data.batch_spec import IterationPlan
from vecchess.train.distributed.ranks import Heartbeat
from vecchess.train.step.device_batcher import StepMetrics
from vecchess.train.trainer import Trainer


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainers, "exported", lambda net: None)


class CallLog(list[str]):
    """Records the names of the methods that are called on it."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **named: self.append(name)


class StubGate:
    """Answers in turn; None stands for a stop request."""

    def __init__(self, stop: StopSignals, answers: list[dict[str, Any] | None]) -> None:
        self.stop, self.answers, self.iterations = stop, answers, list[int]()

    def judge(self, net: object, iteration: int) -> dict[str, Any] | None:
        self.iterations.append(iteration)
        answer = self.answers.pop(0)
        if answer is None:
            self.stop.request_stop("SIGTERM")
        return answer


def trainer_with(
    tmp_path: Path, answers: list[dict[str, Any] | None]
) -> tuple[Trainer, Any, CallLog]:
    """At the end of the only iteration, on a rank that publishes nothing itself."""
    config, stop, calls = (
        TrainConfig(iterations=1, gate="0,5", eval_every=0),
        StopSignals(),
        CallLog(),
    )
    ranks = SimpleNamespace(
        is_local_main=False,
        world_size=1,
        rank=0,
        broadcast_=lambda tensors: None,
        barrier=lambda: None,
        heartbeat=lambda reason, is_done: Heartbeat(reason, True),
    )
    learner = SimpleNamespace(weights=list, played=None, steps=1)
    gate = StubGate(stop, answers)
    parts: list[Any] = [config, RunFolder(tmp_path), ranks, stop, learner, None, calls, gate]
    trainer = Trainer(*parts)
    trainer.progress.has_begun, trainer.progress.iteration = True, 1
    trainer.progress.candidate_waits = True
    return trainer, gate, calls


@pytest.mark.parametrize("admitted", [True, False])
def test_a_candidate_that_waited_is_judged_once(tmp_path: Path, admitted: bool) -> None:
    trainer, gate, calls = trainer_with(tmp_path, [{"admitted": admitted}])
    saved: list[bool] = []
    source: Any = SimpleNamespace(evaluate=lambda learner: {})
    for _ in range(2):
        trainer.train(source, lambda: saved.append(trainer.progress.candidate_waits))
    assert gate.iterations == [1]
    assert saved == [False]
    assert [name for name in calls if name != "begin_iteration"] == [
        "set_state",
        "log_gate",
        *(["share_cost"] if admitted else []),
        "log_evaluation",
    ]


def test_a_stop_leaves_the_candidate_to_the_next_start(tmp_path: Path) -> None:
    trainer, gate, calls = trainer_with(tmp_path, [None])
    saved: list[bool] = []
    trainer.train(CallLog(), lambda: saved.append(trainer.progress.candidate_waits))
    assert gate.iterations == [1]
    assert saved == [True]
    assert "log_gate" not in calls


class StubLearner:
    """Notes the iterations done at each update, and when it was folded."""

    def __init__(self) -> None:
        self.net, self.steps = SimpleNamespace(folded=False), 0
        self.calls: list[float | str] = []

    def fold(self) -> None:
        self.net.folded = True
        self.calls.append("fold")

    def step(self, batch: object, done: float, rank_values: list[float]) -> StepMetrics:
        self.steps += 1
        self.calls.append(done)
        return StepMetrics({"skipped": 0.0}, [0.0, 0.0])


def test_the_fold_comes_within_an_iteration_of_a_short_run(tmp_path: Path) -> None:
    """Of two iterations of four updates the last quarter is folded."""
    learner: Any = StubLearner()
    reporter: Any = SimpleNamespace(
        begin_iteration=lambda *_: None,
        log_games=lambda _: None,
        note=lambda _: None,
        display_learning=lambda *_: nullcontext(SimpleNamespace(update=lambda *_: None)),
    )
    ranks: Any = SimpleNamespace(world_size=1, rank=0)
    loader: Any = SimpleNamespace(batches=lambda specs: iter(list(specs)))
    config, rest = TrainConfig(iterations=2, fold_at=0.75), (reporter, CallLog())
    trainer: Any = Trainer(
        config, RunFolder(tmp_path), ranks, StopSignals(), learner, loader, *rest
    )
    plan = IterationPlan(4, lambda step: step, 100)  # type: ignore[arg-type]
    source: Any = SimpleNamespace(prepare=lambda *_: plan)
    for _ in range(2):
        assert trainer._prepare_and_learn(source)
    assert learner.calls == [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, "fold", 1.75, 2.0]
