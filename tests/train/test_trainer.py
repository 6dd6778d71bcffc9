"""The loop of a run, with stand-ins for what it calls: its order, and stops in between."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vecchess.config import TrainConfig
from vecchess.runtime.signals import StopSignals
from vecchess.store.run_folder import RunFolder
from vecchess.train.distributed.ranks import Heartbeat
from vecchess.train.trainer import Trainer


class Told(list[str]):
    """Keeps which methods were called, whatever they are."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **named: self.append(name)


class Gate:
    """Answers in turn; None stands for somebody who asks to stop."""

    def __init__(self, stop: StopSignals, answers: list[dict[str, Any] | None]) -> None:
        self.stop, self.answers, self.iterations = stop, answers, list[int]()

    def judge(self, net: object, iteration: int, stop: StopSignals) -> dict[str, Any] | None:
        self.iterations.append(iteration)
        answer = self.answers.pop(0)
        if answer is None:
            stop.request_stop("SIGTERM")
        return answer


def trainer_with(tmp_path: Path, answers: list[dict[str, Any] | None]) -> tuple[Trainer, Any, Told]:
    """At the end of the only iteration, on a rank that publishes nothing itself."""
    config, stop, told = TrainConfig(iterations=1, gate="0,5", eval_every=0), StopSignals(), Told()
    ranks = SimpleNamespace(
        is_local_main=False,
        world_size=1,
        rank=0,
        broadcast_=lambda tensors: None,
        barrier=lambda: None,
        heartbeat=lambda reason, is_done: Heartbeat(reason, True),
    )
    learner = SimpleNamespace(
        net=SimpleNamespace(state_dict=dict, folded=True), progress=SimpleNamespace(steps=1)
    )
    gate = Gate(stop, answers)
    parts: list[Any] = [config, RunFolder(tmp_path), ranks, stop, learner, None, told, None, gate]
    trainer = Trainer(*parts)
    trainer.standing.has_begun, trainer.standing.iteration = True, 1
    trainer.standing.candidate_waits = True
    return trainer, gate, told


@pytest.mark.parametrize("admitted", [True, False])
def test_a_candidate_that_waited_is_judged_once(tmp_path: Path, admitted: bool) -> None:
    trainer, gate, told = trainer_with(tmp_path, [{"admitted": admitted}])
    saved: list[bool] = []
    source: Any = SimpleNamespace(examine=lambda learner: {})
    for _ in range(2):
        trainer.train(source, lambda: saved.append(trainer.standing.candidate_waits))
    assert gate.iterations == [1]
    assert saved == [False]
    assert [what for what in told if what != "begin"] == ["enter", "gated", "examined"]


def test_a_stop_leaves_it_to_the_next_start(tmp_path: Path) -> None:
    trainer, gate, told = trainer_with(tmp_path, [None])
    saved: list[bool] = []
    trainer.train(Told(), lambda: saved.append(trainer.standing.candidate_waits))
    assert gate.iterations == [1]
    assert saved == [True]
    assert "gated" not in told
