"""What self-play, training and imports print at their end, to be read and copied."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.export.made import played
from tests.importers.test_pgn_import import MATE, text
from tests.system.commands import inside
from vecchess.config import SelfplayConfig, TrainConfig
from vecchess.fleet import fleet_run
from vecchess.runtime.devices import CPU
from vecchess.selfplay import run_selfplay
from vecchess.selfplay.supervisor.supervisor import RunResult
from vecchess.selfplay.supervisor.worker_throughput import Throughput
from vecchess.store.run_folder import RunFolder
from vecchess.store.stats import GameStats
from vecchess.train import run_train

BUSY = Throughput(plies_per_s=900.0, evals_per_s=900.0, batch_fill=1.0, device_busy=0.9)


def play_with_executor(config: SelfplayConfig, run_dir: Path, *_: Any) -> dict[str, Any]:
    """The summary of a self-play that a signal ended."""
    result = RunResult(GameStats.of(played()), BUSY, 5.0, "SIGTERM", 0)
    return run_selfplay._summary(config, RunFolder(Path(run_dir)), [CPU], result)


def train_run(config: TrainConfig, run_dir: Path, *_: Any, **__: Any) -> dict[str, Any]:
    """The summary of a training: one with a seed was stopped."""
    return {
        "schema": 1, "run_dir": str(run_dir), "spelling": f"{run_dir}/nets/a b.safetensors",
        "net": "a b.safetensors", "cost": {},
        "iterations": 1, "target": 2, "samples": 64, "steps": 1, "matches": [], "exit_code": 0,
        "stopped_by": "SIGTERM" if config.seed else "",
    }  # fmt: skip


def command_after(words: str, said: str) -> list[str]:
    """The words of the command that stands after ``words``, as a shell takes them."""
    [line] = [line for line in said.splitlines() if words in line]
    return shlex.split(line.split(words)[1])


def test_commands_to_copy_survive_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_run, "play_with_executor", play_with_executor)
    monkeypatch.setattr(run_train, "train_run", train_run)
    run = str(tmp_path / "my run [new]; $HOME")
    for kind in ("selfplay", "train"):
        said = inside(kind, "--run-dir", run, "--gpus", "cpu", "--seed", 7).stdout
        again = ["vecchess", kind, "--run-dir", run, "--resume"]
        assert command_after("resume with:", said) == again
    said = inside("train", "--run-dir", run, "--gpus", "cpu", "--seed", 0).stdout
    net = f"{run}/nets/a b.safetensors"
    assert command_after("try it", said) == ["vecchess", "analyse", "--net", net]


@pytest.mark.parametrize("executor", ["local", "mailbox"])
def test_the_limit_of_others_devices_is_not_told(
    executor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_run, "play_with_executor", play_with_executor)
    done = inside("selfplay", "--run-dir", tmp_path / "run", "--executor", executor)
    said = " ".join(done.stdout.split())
    assert ("bottleneck Limited by the CPU" in said) == (executor == "local")
    assert "plies/s 900" in said


def test_paths_are_not_read_as_markup(tmp_path: Path) -> None:
    (tmp_path / "games.pgn").write_text(text("0-1", MATE))
    for name in ("data [new]", "data[/b]"):
        done = inside("gather", "pgn", tmp_path / "games.pgn", "--out", tmp_path / name)
        assert done.returncode == 0
        assert f" plies to {tmp_path / name}; left out: " in done.stdout
