"""The training loop with stubs for all that it calls: its order, and stops in between."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vecchess.config import TrainConfig
from vecchess.runtime.signals import StopSignals
from vecchess.store.run_folder import RunFolder
from vecchess.train import trainer as trainers
from vecchess.train.distributed.ranks import Heartbeat
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
    learner = SimpleNamespace(net=SimpleNamespace(state_dict=dict, folded=True), steps=1)
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
        "log_evaluation",
    ]


def test_a_stop_leaves_the_candidate_to_the_next_start(tmp_path: Path) -> None:
    trainer, gate, calls = trainer_with(tmp_path, [None])
    saved: list[bool] = []
    trainer.train(CallLog(), lambda: saved.append(trainer.progress.candidate_waits))
    assert gate.iterations == [1]
    assert saved == [True]
    assert "log_gate" not in calls
