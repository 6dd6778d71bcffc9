"""A fixed set of positions: how it is divided among iterations, and what may change in between."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vecchess.config import TrainConfig, build
from vecchess.errors import ConfigError
from vecchess.selfplay.worker.networks import latest_net, mark_latest
from vecchess.store.run_folder import RunFolder
from vecchess.train import dataset_source
from vecchess.train.data.batch_spec import BatchShares
from vecchess.train.dataset_source import DatasetSource

POSITIONS = 1200


def source(rank: int = 0, run: RunFolder | None = None, **settings: Any) -> DatasetSource:
    given = {"objective": "supervised", "holdout": 0.0, "batch_size": 100, "data": ("games",)}
    loader: Any = SimpleNamespace(count=lambda spec: POSITIONS, batches=list)
    ranks: Any = SimpleNamespace(rank=rank, is_main=rank == 0)
    return DatasetSource(build(TrainConfig, given | settings), ranks, loader, 3, run)


def begun_run(path: Path) -> RunFolder:
    """A run whose newest network is named "first"."""
    run = RunFolder(path)
    run.create()
    mark_latest(run, "first", "0" * 64)
    return run


def steps_of(made: DatasetSource, iterations: range, done: int = 0) -> list[int]:
    """The updates of each of ``iterations``, the first after ``done``."""
    found: list[int] = []
    for iteration in iterations:
        found.append(made.prepare(iteration, done + sum(found)).num_steps)
    return found


def test_iterations_divide_the_epochs() -> None:
    assert steps_of(source(iterations=5, epochs=2), range(5)) == [4, 5, 5, 5, 5]
    with pytest.raises(ConfigError, match="too few for 13 iterations"):
        source(iterations=13)


def test_other_iterations_or_epochs_divide_what_is_left() -> None:
    first = steps_of(source(iterations=4), range(4))[:2]
    assert first == [3, 3]
    assert steps_of(source(iterations=5), range(2, 5), done=6) == [2, 2, 2]
    assert steps_of(source(iterations=6, epochs=2), range(4, 6), done=12) == [6, 6]
    with pytest.raises(ConfigError, match="1 epochs leave 0 updates for 2 more iterations"):
        source(iterations=6).prepare(4, 12)


def test_a_run_goes_on_with_its_data_and_its_batch(tmp_path: Path) -> None:
    state = source(run=begun_run(tmp_path)).state()
    source().restore(state)
    with pytest.raises(ConfigError, match="goes on with its --batch-size, 100, not 50"):
        source(batch_size=50).restore(state)
    with pytest.raises(ConfigError, match="give the same files"):
        source().restore(state | {"positions": 7})


@pytest.mark.parametrize("gate", ["", "0,5"])
def test_a_candidate_has_to_beat_the_network_of_then(tmp_path: Path, gate: str) -> None:
    run = begun_run(tmp_path)
    state, older = source(run=run).state(), {"positions": POSITIONS, "batch_size": 100}
    mark_latest(run, "later", "1" * 64)
    source(run=run, gate=gate).restore(older)
    source(1, run, gate=gate).restore(state)
    assert latest_net(run).name == "later"
    source(run=run, gate=gate).restore(state)
    assert latest_net(run).name == ("first" if gate else "later")


@pytest.mark.parametrize("size", [100, 128, 600])
@pytest.mark.parametrize("holdout", [0.05, 0.25, 0.5])
def test_held_out_positions_are_evaluated_once(
    size: int, holdout: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset_source, "MOST_HELD_OUT", 500)
    found: list[int] = []
    for rank in range(3):
        made = source(rank, holdout=holdout, batch_size=size, iterations=1)
        shares = BatchShares(made._config, 3)
        learner: Any = SimpleNamespace(shares=shares, evaluate=lambda parts: parts)
        parts: Any = made.evaluate(learner)
        assert len(parts) == -(-min(made.num_held_out, 500) // size), "the same on all ranks"
        found += [position for part in parts for position in part.draw(POSITIONS)]
    assert len(found) == len(set(found)) == min(made.num_held_out, 500)
    assert min(found) >= POSITIONS - made.num_held_out
