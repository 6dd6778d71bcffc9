"""``vecchess train`` that goes on with other numbers of machines: processes on this one."""

import json
import socket
from pathlib import Path

import numpy as np
import pytest

from tests.system.commands import games, start
from vecchess.store.run_folder import RunFolder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
OPTIONS = [
    "--gpus", "cpu", "--positions-per-iter", 240, "--seats", 6, "--batch-size", 30, "--sims", 2,
    "--max-plies", 30, "--eval-every", 0, "--seed", 3, "--loaders", 0,
]  # fmt: skip


def train_on(folders: list[Path], run: str, *options: object) -> list[str]:
    """What each machine says; one for each of ``folders``, in which it works."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    place = ["--run-dir", run, "--nnodes", len(folders), "--master-addr", "127.0.0.1"]
    place += ["--master-port", port, "--node-rank"]
    machines = [
        start("train", *options, *place, rank, cwd=folder) for rank, folder in enumerate(folders)
    ]
    said = [machine.communicate(timeout=280)[1] for machine in machines]
    assert [machine.returncode for machine in machines] == [0] * len(machines), said
    assert not any("Traceback" in one for one in said)
    return said


def numbers_in(run: Path) -> list[int]:
    """The games of all machines."""
    return [n for part in RunFolder(run).machines for n in games(part.path).numbers.tolist()]


@pytest.mark.parametrize("objective", ["alphazero", "ppo"])
def test_on_a_shared_disk_every_seat_goes_on(tmp_path: Path, objective: str) -> None:
    """2 machines, 1, 3: no game is lost, none is played twice."""
    (tmp_path / "net.toml").write_text("blocks = 1\nchannels = 32\n")
    options = [*OPTIONS, "--net", tmp_path / "net.toml", "--objective", objective]
    if objective == "ppo":
        options[options.index("--sims") : options.index("--sims") + 2] = []
    train_on([tmp_path] * 2, "run", *options, "--iterations", 1)
    said = train_on([tmp_path], "run", "--resume", "--iterations", 2)
    said += train_on([tmp_path] * 3, "run", "--resume", "--iterations", 3)
    assert not any("begin new games" in one for one in said)
    numbers = numbers_in(tmp_path / "run")
    assert len(set(numbers)) == len(numbers)
    for seat in range(6):
        own = sorted(n for n in numbers if n % 6 == seat)
        assert own == list(range(seat, seat + 6 * len(own), 6))
    status = json.loads((tmp_path / "run/status.json").read_text())["summary"]
    assert status["iterations"] == 3
    spans = [
        np.diff(games(part.path).span_offsets) for part in RunFolder(tmp_path / "run").machines
    ]
    assert max(part.max(initial=0) for part in spans) == 2


def test_without_a_shared_disk_seats_of_others_begin_new_games(tmp_path: Path) -> None:
    (tmp_path / "net.toml").write_text("blocks = 1\nchannels = 32\n")
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    options = [*OPTIONS, "--net", tmp_path / "net.toml"]
    train_on(folders[:2], "run", *options, "--iterations", 1)
    resume = ["--resume", "--gpus", "cpu", "--iterations"]
    [alone] = train_on(folders[:1], "run", *resume, 2)
    assert "3 seats begin new games: theirs are not here" in alone
    said = train_on([folders[0], folders[2]], "run", *resume, 3)
    assert "3 seats begin new games" in said[1]
    own = games(folders[0] / "run").numbers.tolist()
    new = games(folders[2] / "run/machines/1").numbers.tolist()
    assert not set(own) & set(new)
