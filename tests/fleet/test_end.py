"""Players learn that a run is over, whoever played its last games."""

from pathlib import Path
from typing import Any

import pytest

import vecchess
from tests.fleet.test_liar import SETTINGS
from vecchess.config import TrainConfig, build
from vecchess.fleet.fleet_run import end_fleet
from vecchess.fleet.task import OVER_NAME, RUN_NAME
from vecchess.runtime.reporting import no_report
from vecchess.runtime.signals import StopSignals
from vecchess.store.run_folder import RunFolder
from vecchess.train.run_train import train_run


def with_players(folder: Path, has_players: bool) -> Path:
    """A folder in which a learner has told players of the run, or not."""
    if has_players:
        (folder / RUN_NAME).parent.mkdir(parents=True)
        (folder / RUN_NAME).write_bytes(b"{}")
    return folder


@pytest.mark.parametrize("has_players", [True, False])
def test_players_are_told_where_there_are_any(has_players: bool, tmp_path: Path) -> None:
    folder = with_players(tmp_path / "run", has_players)
    end_fleet(RunFolder(folder), no_report, StopSignals())
    assert (folder / OVER_NAME).exists() == has_players


@pytest.mark.thorough
def test_self_play_of_one_machine_ends_a_fleet(tmp_path: Path) -> None:
    folder = with_players(tmp_path / "run", True)
    vecchess.selfplay("constant", 2, run_dir=folder, gpus="cpu")
    assert (folder / OVER_NAME).exists()


@pytest.mark.thorough
def test_a_training_of_one_machine_ends_a_fleet(tmp_path: Path) -> None:
    folder = with_players(tmp_path / "run", True)
    settings: dict[str, Any] = SETTINGS | {"iterations": 1, "positions_per_iter": 48}
    train_run(build(TrainConfig, settings), folder, False, True)
    assert (folder / OVER_NAME).exists()
