"""``vecchess train`` with a module of the user: three objectives, a resume, and refusals."""

import shlex
from pathlib import Path

import pytest

from tests.system.commands import games, inside, last_json, vecchess
from tests.system.training import PGN, QUICK, newest
from vecchess.networks.module_net import create_module_net

pytestmark = pytest.mark.thorough

NET = "module:tests.networks.modules:learning"
SUPERVISED = [
    "--objective", "supervised", "--gpus", "cpu", "--batch-size", 8, "--eval-every", 0,
    "--loaders", 0, "--holdout", 0, "--lr", 1e-3,
]  # fmt: skip


@pytest.fixture(scope="module")
def pgn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("pgn") / "games.pgn"
    file.write_text(PGN * 2)
    return file


def test_supervised_learning_publishes_weights_that_play(pgn: Path, tmp_path: Path) -> None:
    run, rest = tmp_path / "run", ["--iterations", 2, "--json"]
    summary = last_json(
        inside("train", *SUPERVISED, *rest, "--net", NET, "--data", pgn, "--run-dir", run)
    )
    file = Path(summary["net"])
    file = file if file.is_absolute() else run / "nets" / file.name
    trained = create_module_net(f"{NET}?weights={file}", seed=0)
    assert trained.sha256 == summary["sha256"] == newest(run)
    assert trained.sha256 != create_module_net(NET, seed=0).sha256
    done = inside("match", f"net:{NET}?weights={file}", "random", "--games", 2, "--max-plies", 61)
    assert done.returncode == 0, done.stderr


def test_what_was_learnt_is_tried_and_rated_by_the_module(pgn: Path, tmp_path: Path) -> None:
    common = [*SUPERVISED, "--iterations", 1, "--net", NET, "--data", pgn]
    done = inside("train", *common, "--run-dir", tmp_path / "a run")
    [line] = [line for line in done.stdout.splitlines() if line.startswith("try it")]
    program, *words = shlex.split(line.removeprefix("try it"))
    tried = inside(*words)
    assert (program, words[0], tried.returncode) == ("vecchess", "analyse", 0), tried.stderr
    games = ["--against", "random", "--games", 2, "--json"]
    rated = last_json(inside("eval", "--history", tmp_path / "a run", *games))
    assert [point["samples"] for point in rated["curve"]] == [0, 16]


@pytest.mark.slow
def test_two_ranks_learn_the_bits_of_one(pgn: Path, tmp_path: Path) -> None:
    common = ["train", *SUPERVISED, "--net", NET, "--data", pgn, "--iterations", 1]
    for name, gpus in (("one", "cpu"), ("two", "cpu:2")):
        done = vecchess(*common, "--gpus", gpus, "--micro-batch", 4, "--run-dir", tmp_path / name)
        assert done.returncode == 0, done.stderr
    assert newest(tmp_path / "one") == newest(tmp_path / "two")


@pytest.mark.parametrize("objective", ["ppo", pytest.param("alphazero", marks=pytest.mark.slow)])
def test_games_of_the_newest_weights_are_learnt_from(objective: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    sims = [] if objective == "ppo" else ["--sims", 2]
    quick = [*QUICK[: QUICK.index("--sims")], *QUICK[QUICK.index("--sims") + 2 :], *sims]
    quick += ["--positions-per-iter", 32, "--seats", 4, "--max-plies", 8, "--batch-size", 32]
    common = ["train", "--objective", objective, *quick, "--net", NET, "--lr", 1e-3]
    assert inside(*common, "--run-dir", run).returncode == 0
    second = newest(run)
    assert len(set(games(run).nets)) == 2
    assert inside("train", "--run-dir", run, "--resume", "--iterations", 3).returncode == 0
    assert set(games(run).nets) > {second}
    assert newest(run) != second


@pytest.mark.parametrize("flag", [("--history", 2), ("--init-from", "some.safetensors")])
def test_settings_of_other_networks_are_refused(flag: tuple[str, object], tmp_path: Path) -> None:
    done = inside("train", *QUICK, "--net", NET, *flag, "--run-dir", tmp_path / "run")
    assert done.returncode == 2
    assert f"{flag[0]} is for networks of vecchess's own" in done.stderr
