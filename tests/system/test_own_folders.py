"""``vecchess train`` on machines that share no folder: processes with working folders of their own.

A run's folder is given relative to the working folder, so each "machine" has another one.
"""

import json
import socket
from pathlib import Path

import pytest

from tests.system.commands import games, inside, start

OPTIONS = [
    "--gpus", "cpu", "--positions-per-iter", 360, "--seats", 8, "--batch-size", 64, "--sims", 4,
    "--max-plies", 40, "--eval-every", 0, "--fold-at", 0.5, "--seed", 3,
]  # fmt: skip


def train_on(folders: list[Path], *options: list[object]) -> list[tuple[int, str]]:
    """Exit code and stderr of two machines; ``options`` of both where only one list is given.

    Each is a process: where ranks fail, torch's connections stay open to the end of theirs.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    place = ["--run-dir", "run", "--nnodes", 2, "--master-addr", "127.0.0.1"]
    place += ["--master-port", port, "--node-rank"]
    machines = []
    for node_rank, folder in enumerate(folders):
        folder.mkdir(exist_ok=True)
        own = options[min(node_rank, len(options) - 1)]
        machines.append(start("train", *own, *place, node_rank, cwd=folder))
    errors = [machine.communicate(timeout=280)[1] for machine in machines]
    return [(machine.returncode, error) for machine, error in zip(machines, errors, strict=True)]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two machines' folders after one iteration of a run."""
    folder = tmp_path_factory.mktemp("machines")
    (folder / "net.toml").write_text("blocks = 1\nchannels = 32\ntime_steps = 4\n")
    options = [*OPTIONS, "--net", folder / "net.toml", "--iterations", 1]
    folders = [folder / "a", folder / "b"]
    ends = train_on(folders, options)
    assert [code for code, _ in ends] == [0, 0], ends
    assert [(one / "run" / "config.toml").exists() for one in folders] == [True, False]
    return folders


@pytest.mark.slow
def test_another_flag_than_rank_0_is_named(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    run = folders[0] / "run"
    run.mkdir(parents=True)
    (run / "config.toml").write_text('objective = "alphazero"\ngpus = "cpu"\nbatch_size = 64\n')
    ends = train_on(folders, ["--resume"], ["--resume", "--gpus", "cpu", "--batch-size", 32])
    assert [code for code, _ in ends] == [2, 2]
    assert "vecchess: error: rank 1 on " in ends[0][1]
    assert "other settings than rank 0" in ends[0][1]


def test_machine_0_needs_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place = ["--nnodes", 1, "--node-rank", 0, "--master-addr", "127.0.0.1"]
    done = inside("train", "--resume", "--gpus", "cpu", *place, "--run-dir", "run")
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("vecchess: error: run is not a run: it has no config.toml; ")
    assert "--node-rank" in line


@pytest.mark.slow
def test_a_run_goes_on_with_the_settings_of_machine_0(machines: list[Path]) -> None:
    ends = train_on(machines, ["--resume", "--iterations", 2], ["--resume", "--gpus", "cpu"])
    assert [code for code, _ in ends] == [0, 0], ends
    status = json.loads((machines[0] / "run" / "status.json").read_text())["summary"]
    assert (status["iterations"], status["folded"]) == (2, True)
    assert len(games(machines[0] / "run").numbers) >= 16
    assert not (machines[1] / "run").exists()
