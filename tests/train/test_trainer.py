"""The training loop with stubs for what it calls: its order, stops in between, and ranks of
different speed."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from threading import Barrier, Thread
from time import sleep
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.train.games import games, searched
from tests.train.step.alone import ALONE, Together
from vecchess.config import OptimiserConfig, TrainConfig
from vecchess.runtime.signals import StopSignals
from vecchess.snn.create import create_sized
from vecchess.snn.presets import NetConfig
from vecchess.snn.torch_integer import from_integers
from vecchess.store.run_folder import RunFolder
from vecchess.train import trainer as trainers
from vecchess.train.data.batch_spec import UPDATES, BatchSpec, IterationPlan
from vecchess.train.data.samples import Samples, make_samples
from vecchess.train.data.shard_block import trainable_plies
from vecchess.train.distributed.ranks import Heartbeat
from vecchess.train.step.device_batcher import StepMetrics
from vecchess.train.step.learner import Learner
from vecchess.train.trainer import Trainer

BATCH, SIZES = 64, NetConfig(num_planes=25, blocks=1, channels=32, time_steps=4)
AHEAD = 3
"""A loader reads the specs of so many batches ahead."""


def whole_batch(step: int) -> BatchSpec:
    return BatchSpec(1, 3, step, BATCH)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Learner, "exported", lambda learner: None)


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
    learner = SimpleNamespace(weights=list, exported=lambda: None, played=None, steps=1)
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


def test_a_gate_that_is_taken_off_leaves_no_candidate(tmp_path: Path) -> None:
    trainer, gate, _ = trainer_with(tmp_path, [])
    trainer.config = TrainConfig(iterations=1, eval_every=0)
    trainer.train(SimpleNamespace(evaluate=lambda learner: {}), lambda: None)  # type: ignore[arg-type]
    assert not trainer.progress.candidate_waits
    assert gate.iterations == []


def test_matches_that_a_stop_ended_are_played_at_the_next_start(tmp_path: Path) -> None:
    trainer, _, _ = trainer_with(tmp_path, [])
    trainer.config = TrainConfig(iterations=1, eval_every=1)
    answers: list[list[dict[str, Any]]] = [[], [{"elo": 1.0}]]
    trainer.matches = SimpleNamespace(play=lambda: answers.pop(0))  # type: ignore[assignment]
    saved: list[bool] = []
    for _ in range(3):
        trainer.train(
            SimpleNamespace(evaluate=lambda learner: {}),  # type: ignore[arg-type]
            lambda: saved.append(trainer.progress.matches_wait),
        )
    assert saved == [True, False]
    assert trainer.progress.matches == [{"elo": 1.0, "iteration": 1}]


def test_of_each_pairing_the_first_and_the_newest_match_are_kept(tmp_path: Path) -> None:
    trainer, _, _ = trainer_with(tmp_path, [])
    trainer.config = TrainConfig(eval_every=1)
    pairings = [
        (player, other) for player in ("policy", "puct 4") for other in ("random", "greedy")
    ]
    trainer.matches = SimpleNamespace(  # type: ignore[assignment]
        play=lambda: [{"player": player, "opponent": other} for player, other in pairings]
    )
    for iteration in range(5):
        trainer.progress.iteration = iteration
        trainer._play_matches()
    kept = [(m["iteration"], m["player"], m["opponent"]) for m in trainer.progress.matches]
    assert kept == [(iteration, *names) for iteration in (0, 4) for names in pairings]


class StubLearner:
    """Notes generations, the iterations done at each update, and when it was folded."""

    shares = SimpleNamespace(share_of=lambda rank, spec: spec, note=lambda times: None)

    def __init__(self) -> None:
        self.net, self.steps = SimpleNamespace(folded=False), 0
        self.calls: list[float | str] = []

    def begin_generation(self) -> None:
        self.calls.append("begin")

    def fold(self) -> None:
        self.net.folded = True
        self.calls.append("fold")

    def step(self, batch: object, done: float, *rest: object) -> StepMetrics:
        self.steps += 1
        self.calls.append(done)
        return StepMetrics({"skipped": 0.0}, [0.0, 0.0, 0.0])

    def seconds_a_part(self, batch: object, waited_s: float) -> float:
        return waited_s


def test_the_fold_comes_within_an_iteration_of_a_short_run(tmp_path: Path) -> None:
    """Of two iterations of four updates the last quarter is folded."""
    learner: Any = StubLearner()
    reporter: Any = SimpleNamespace(
        begin_iteration=lambda *_: None,
        log_games=lambda _: None,
        note=lambda _: None,
        display_learning=lambda *_: nullcontext(SimpleNamespace(update=lambda *_: None)),
    )
    ranks: Any = SimpleNamespace(world_size=1, rank=0, device=torch.device("cpu"))
    loader: Any = SimpleNamespace(batches=lambda specs: iter(list(specs)))
    config, rest = TrainConfig(iterations=2, fold_at=0.75), (reporter, CallLog())
    trainer: Any = Trainer(
        config, RunFolder(tmp_path), ranks, StopSignals(), learner, loader, *rest
    )
    plan = IterationPlan(4, whole_batch, 100)
    source: Any = SimpleNamespace(prepare=lambda *_: plan)
    for _ in range(2):
        assert trainer._prepare_and_learn(source)
    assert learner.calls == ["begin", 0.25, 0.5, 0.75, 1.0, "begin", 1.25, 1.5, "fold", 1.75, 2.0]


def test_ranks_wait_longer_for_the_first_update_on_gpus(tmp_path: Path) -> None:
    """It compiles kernels; so does the first one after the fold."""
    waits: list[float] = []

    @contextmanager
    def timeout(seconds: float) -> Iterator[None]:
        waits.append(seconds)
        yield

    learner: Any = StubLearner()
    loader: Any = SimpleNamespace(batches=lambda specs: iter(list(specs)))
    display = nullcontext(SimpleNamespace(update=lambda *_: None))
    reporter: Any = SimpleNamespace(note=lambda _: None, display_learning=lambda *_: display)
    config, rest = TrainConfig(iterations=2, fold_at=0.75), (reporter, CallLog())
    for kind, expected in (("cuda", [trainers.FIRST_UPDATE_S] * 2), ("cpu", [])):
        ranks: Any = SimpleNamespace(
            world_size=1, rank=0, device=SimpleNamespace(type=kind), timeout=timeout
        )
        trainer = Trainer(config, RunFolder(tmp_path), ranks, StopSignals(), learner, loader, *rest)
        trainer.progress.iteration = 1
        waits.clear()
        learner.net.folded = False
        assert trainer._learn(IterationPlan(4, whole_batch, 100))
        assert waits == expected


def positions(count: int) -> Samples[Tensor]:
    """So many positions of made-up games."""
    records = searched(games(6))
    chosen = np.random.default_rng(1).choice(trainable_plies(records), count)
    made = make_samples(records, chosen)
    return made._replace(planes=made.planes.view(np.int64)).map(torch.from_numpy)


def learnt_by(num_ranks: int, pause_s: float, folder: Path) -> list[tuple[Learner, list[int]]]:
    """What each rank has learnt after updates of the same batch, and its rows in each of them; the
    last rank pauses at every part."""
    batch = positions(BATCH)
    config = TrainConfig(batch_size=BATCH, micro_batch=16, optimiser=OptimiserConfig(warmup=0))
    plan = IterationPlan(UPDATES + AHEAD + 2, whole_batch, 100)
    barrier, table = Barrier(2), dict[int, list[Tensor]]()
    found = []

    def learn(rank: int) -> None:
        ranks: Any = ALONE if num_ranks == 1 else Together(rank, barrier, table)
        learner = Learner(config, from_integers(create_sized(SIZES, 3)), ranks)
        if rank == num_ranks - 1:
            compute = learner._backward
            learner._backward = lambda *given: (sleep(pause_s), compute(*given))[1]  # type: ignore[method-assign]
        rows: list[int] = []
        asked: list[Any] = []
        step = learner.step

        def step_of_rows(*given: Any) -> StepMetrics:
            assert given[3] == asked[learner.steps].first_row
            return step(*given)

        learner.step = step_of_rows  # type: ignore[method-assign]

        def batches(specs: Any) -> Any:
            for spec in chain(specs, [None] * AHEAD):
                asked.append(spec)
                if len(asked) > AHEAD:
                    due = asked[-1 - AHEAD]
                    rows.append(due.rows)
                    yield batch.map(lambda column: column[due.first_row :][: due.rows])  # noqa: B023

        loader: Any = SimpleNamespace(batches=batches)
        display = nullcontext(SimpleNamespace(update=lambda *_: None))
        reporter: Any = SimpleNamespace(note=print, display_learning=lambda *_: display)
        rest: Any = (StopSignals(), learner, loader, reporter, CallLog())
        assert Trainer(config, RunFolder(folder), ranks, *rest)._learn(plan)
        found.append((learner, rows))

    threads = [Thread(target=learn, args=(rank,)) for rank in range(num_ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return sorted(found, key=lambda each: each[0].ranks.rank)


@pytest.mark.thorough
def test_a_slow_rank_gets_fewer_rows_and_all_learn_the_same(tmp_path: Path) -> None:
    [(alone, every)] = learnt_by(1, 0.0, tmp_path)
    pair = learnt_by(2, 0.1, tmp_path)
    assert every == [BATCH] * (UPDATES + AHEAD + 2)
    assert [rows[UPDATES] for _, rows in pair] == [32, 32]
    assert [rows[-1] for _, rows in pair] == [48, 16]
    for learner, _ in pair:
        for mine, its in zip(learner.weights(), alone.weights(), strict=True):
            assert torch.equal(mine, its)
