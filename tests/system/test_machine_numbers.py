"""``vecchess train`` on any number of machines: processes on this one."""

import socket
from pathlib import Path

import pytest

from tests.system.commands import games, inside, start
from tests.system.training import newest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
OPTIONS = [
    "--gpus", "cpu", "--positions-per-iter", 240, "--seats", 6, "--batch-size", 30, "--sims", 2,
    "--max-plies", 30, "--eval-every", 0, "--seed", 3, "--loaders", 0,
    "--fold-at", 1,
]  # fmt: skip


def meeting_of(machines: int) -> list[object]:
    """Options by which so many machines find each other; the number of one is the last word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return [
        "--nnodes",
        machines,
        "--master-addr",
        "127.0.0.1",
        "--master-port",
        port,
        "--node-rank",
    ]


def train_on(folders: list[Path], *options: object) -> list[str]:
    """What each machine says; one for each of ``folders``, in which it works.

    The run is named by a path within, so that each sees another one.
    """
    place = ["--run-dir", "run", *meeting_of(len(folders))]
    machines = []
    for rank, folder in enumerate(folders):
        temporary = folder / f"tmp-{rank}"
        temporary.mkdir(exist_ok=True)
        env = {"TMPDIR": str(temporary)}
        machines.append(start("train", *options, *place, rank, cwd=folder, env=env))
    said = [machine.communicate(timeout=280)[1] for machine in machines]
    assert [machine.returncode for machine in machines] == [0] * len(machines), said
    assert not any("Traceback" in one for one in said)
    for rank, folder in enumerate(folders):
        assert not list((folder / f"tmp-{rank}").glob("vecchess-run-*")), "copies are removed"
    return said


@pytest.mark.parametrize("objective", ["alphazero", "ppo"])
def test_any_number_of_machines_writes_the_same_network(tmp_path: Path, objective: str) -> None:
    """One, two, and a run that goes on with one and three: the others need no file of the first."""
    settings = tmp_path / "train.toml"  # what is learnt does not depend on the run's length
    settings.write_text('[optimiser]\nlr_schedule = "constant"\nwarmup = 0\n')
    options = [*OPTIONS, "--net", "net.toml", "--objective", objective, "--config", settings]
    if objective == "ppo":
        options[options.index("--sims") : options.index("--sims") + 2] = []
    folders = [tmp_path / name for name in "abcdef"]
    for folder in folders:
        folder.mkdir()
    one, two, first, *others = folders
    for folder in (one, two, first):
        (folder / "net.toml").write_text("blocks = 1\nchannels = 32\ntime_steps = 4\n")
    train_on([one], *options, "--iterations", 3)
    said = train_on([two, others[0]], *options, "--iterations", 3)
    assert said[0].count("plays alone, 2 machines learn") == 1
    assert said[1] == ""
    train_on([first, others[0]], *options, "--iterations", 1)
    resume = ["--resume", "--gpus", "cpu", "--iterations"]
    train_on([first], *resume, 2)
    train_on([first, *others[:2]], *resume, 3)
    assert newest(two / "run") == newest(first / "run") == newest(one / "run")
    played = [games(folder / "run").digest() for folder in (one, two, first)]
    assert len(set(played)) == 1
    assert not any((folder / "run").exists() for folder in others)


def test_a_shared_folder_is_written_by_rank_0_alone(tmp_path: Path) -> None:
    """Matches, and recorded games that rank 0 has imported, included."""
    pgn = tmp_path / "games.pgn"
    pgn.write_text('[Event "?"]\n[Result "1-0"]\n\n1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7# 1-0\n')
    (tmp_path / "net.toml").write_text("blocks = 1\nchannels = 32\ntime_steps = 4\n")
    options = [*OPTIONS, "--net", tmp_path / "net.toml", "--data", pgn, "--gate", "0,400"]
    options += ["--eval-every", 1, "--eval-games", 4, "--gate-games", 4, "--iterations", 2]
    train_on([tmp_path] * 2, *options)
    run = tmp_path / "run"
    assert not (run / "machines").exists()
    assert (run / "data/0-games").is_dir()
    one = tmp_path / "one"
    assert inside("train", *options, "--run-dir", one).returncode == 0
    assert newest(one) == newest(run)
    assert games(one).digest() == games(run).digest()
    assert {path.name for path in run.iterdir()} == {path.name for path in one.iterdir()}


def test_a_mistake_ends_all_machines_at_once(tmp_path: Path) -> None:
    """Rank 0 alone looks at what settings name."""
    place = meeting_of(2)
    options = [*OPTIONS, "--init-from", "nowhere.safetensors", "--run-dir", "run"]
    machines = [start("train", *options, *place, rank, cwd=tmp_path) for rank in (0, 1)]
    said = [machine.communicate(timeout=60)[1] for machine in machines]
    assert [machine.returncode for machine in machines] == [2, 2], said
    assert [len(one.splitlines()) for one in said] == [1, 0], said
    assert "nowhere.safetensors" in said[0]
    assert not (tmp_path / "run").exists()
