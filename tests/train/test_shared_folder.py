"""Which folders a training resumes: by ``--resume``, or because torchrun started it again."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from vecchess.config import TrainConfig, build, to_toml
from vecchess.errors import ConfigError
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import absolute_paths, pin_run
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.run_train import _shared_folder

ALONE = Ranks.alone(torch.device("cpu"))


def config_with(**settings: Any) -> TrainConfig:
    return build(TrainConfig, {"net": "tiny", **settings})


def run_of(folder: Path, launch: str = "", **settings: Any) -> RunFolder:
    """A run that has begun, under the torchrun job ``launch``."""
    run, config = RunFolder(folder), config_with(**settings)
    run.create()
    pin_run(run, config)
    if launch:
        run.write_launch(launch)
    run.write_config(to_toml(absolute_paths(config)))
    return run


def resumes(folder: Path, launch: str = "", resume: bool = False, **settings: Any) -> bool:
    return _shared_folder(folder, config_with(**settings), resume, ALONE, launch)[1]


def test_an_empty_folder_begins_a_run(tmp_path: Path) -> None:
    assert not resumes(tmp_path / "new")
    assert not resumes(tmp_path / "new", "7")


def test_a_run_resumes_by_itself_in_its_own_job_alone(tmp_path: Path) -> None:
    run_of(tmp_path, "7", batch_size=64)
    assert resumes(tmp_path, "7", batch_size=64)
    assert resumes(tmp_path, "7", batch_size=64, gpus="cpu", threads=1)  # another machine
    for other in ("8", "", "7\n"):
        with pytest.raises(ConfigError, match=r"holds a run already: add --resume, or choose an"):
            resumes(tmp_path, other, batch_size=64)
    assert resumes(tmp_path, "8", True, batch_size=64)


def test_a_run_that_no_job_began_wants_resume(tmp_path: Path) -> None:
    run_of(tmp_path)
    with pytest.raises(ConfigError, match="holds a run already: add --resume"):
        resumes(tmp_path, "7")


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    run_of(tmp_path, "7", batch_size=64)
    with pytest.raises(ConfigError) as error:
        resumes(tmp_path, "7", batch_size=128, iterations=77)
    assert f"{tmp_path} holds a run that this torchrun began with " in str(error.value)
    assert "batch_size = 64, not 128" in str(error.value)
    assert "iterations = " in str(error.value)
    assert "\n" not in str(error.value)
    with pytest.raises(ConfigError, match="holds a run already"):  # games of another network
        resumes(tmp_path, "8", net="small")


def test_a_run_of_selfplay_is_refused(tmp_path: Path) -> None:
    run = run_of(tmp_path, "7")
    run.config.write_text("games = 8\n")
    with pytest.raises(ConfigError):
        resumes(tmp_path, "7")


def test_a_damaged_mark_is_another_job(tmp_path: Path) -> None:
    run = run_of(tmp_path, "7")
    (run.path / "launch").write_bytes(b"\xff\x00")
    with pytest.raises(ConfigError, match="holds a run already"):
        resumes(tmp_path, "7")


def test_rank_0_that_does_not_see_the_run_begins_none(tmp_path: Path) -> None:
    """Machines may have changed their numbers: without a shared folder the work would be lost."""
    ranks: Any = SimpleNamespace(
        is_main=True,
        hosts=["a", "b", "c"],
        gather_object=lambda value: [value, {"seen": False}, {"seen": True}],
        broadcast_object=lambda value: value,
    )
    with pytest.raises(ConfigError, match=r"rank 2 on c has the run .*, rank 0 on a does not see"):
        _shared_folder(tmp_path / "new", config_with(), False, ranks, "7")
