"""``vecchess train`` on machines that share no folder: processes with working folders of their own.

A run's folder is given relative to the working folder, so each "machine" has another one.
"""

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.system.commands import PROGRAM, games, inside

OPTIONS = [
    "--gpus", "cpu", "--games-per-iter", 8, "--batch-size", 64, "--sims", 4, "--max-plies", 40,
    "--eval-every", 0, "--fold-at", 0.5, "--seed", 3,
]  # fmt: skip


def train_on(folders: list[Path], *options: list[object]) -> list[tuple[int, str]]:
    """Exit code and stderr of each machine; ``options`` of all where only one list is given."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    running = []
    for node_rank, folder in enumerate(folders):
        folder.mkdir(exist_ok=True)
        place = ["--nnodes", len(folders), "--node-rank", node_rank, "--master-port", port]
        own = options[node_rank % len(options)]
        command = [*PROGRAM, "train", *own, *place, "--master-addr", "127.0.0.1"]
        running.append(
            subprocess.Popen(
                [*map(str, command), "--run-dir", "run"],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=os.environ,
            )
        )
    said = [process.communicate(timeout=280)[1] for process in running]
    return [(process.returncode, text) for process, text in zip(running, said, strict=True)]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two machines' folders after one iteration of a run."""
    folder = tmp_path_factory.mktemp("machines")
    (folder / "net.toml").write_text("blocks = 1\nchannels = 32\n")
    options = [*OPTIONS, "--net", folder / "net.toml", "--iterations", 1]
    alone = inside("train", *options, "--run-dir", folder / "alone")
    assert alone.returncode == 0, alone.stderr  # what it compiles both machines need not
    folders = [folder / "a", folder / "b"]
    ends = train_on(folders, options)
    assert [code for code, _ in ends] == [0, 0], ends
    assert [(one / "run" / "config.toml").exists() for one in folders] == [True, False]
    return folders


def test_another_flag_than_rank_0_is_named(machines: list[Path]) -> None:
    ends = train_on(machines, ["--resume"], ["--resume", "--gpus", "cpu", "--batch-size", 32])
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
    played = [machines[0] / "run", machines[1] / "run" / "machines" / "1"]
    numbers = [games(folder).numbers.tolist() for folder in played]
    assert numbers == [[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]]
    assert max(games(played[1]).lengths) <= 40
