"""``vecchess train --plan``: what it works out from speeds, and that it measures a training."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.system.commands import inside, last_json, start
from vecchess.bench import training_plan
from vecchess.bench.training_plan import TrainingPlan, plan_training
from vecchess.bench.training_speed import FLOAT, FOLDED, LearningSpeed, Speed
from vecchess.config import TrainConfig
from vecchess.errors import ConfigError, VecchessError
from vecchess.runtime.cost_meter import Cost
from vecchess.runtime.devices import CPU

PLAYING = Speed(100, Cost(wall_s=2, core_s=3))
LEARNING = {FLOAT: Speed(1000, Cost(1, 1)), FOLDED: Speed(1000, Cost(0.5, 0.5))}
QUICK = ["--gpus", "cpu", "--batch-size", 32]
PLAYED = ["--positions-per-iter", 320, "--seats", 8, "--sims", 2, "--iterations", 4]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_plan, "MEASURED_S", 0.1)


def plan(learning: dict[str, Speed] = LEARNING, recorded: int = 0, **settings: Any) -> TrainingPlan:
    config = TrainConfig.model_validate(
        {"iterations": 10, "positions_per_iter": 4000, "eval_every": 0} | settings
    )
    playing = None if recorded else PLAYING
    return TrainingPlan(config, [CPU], playing, LearningSpeed(learning, recorded), 1000, 500)


def test_a_run_costs_its_positions_and_its_samples_in_both_phases() -> None:
    found = plan(fold_at=0.75, batch_size=1000, samples_per_position=2.0)
    assert (found.positions, found.samples) == (40_000, 80_000)
    costs = found.costs()
    assert costs["playing"] == Cost(800, 1200)
    assert costs["learning"] == Cost(60 + 10, 60 + 10)
    assert costs["matches"] == Cost()
    assert found.total == Cost(870, 1270)
    assert json.dumps(found.to_dict())


def test_one_phase_is_the_whole_run() -> None:
    for phase in (FLOAT, FOLDED):
        found = plan({phase: LEARNING[FLOAT]}, batch_size=1000, samples_per_position=2.0)
        assert found.costs()["learning"] == Cost(80, 80)


def test_fast_searches_are_samples_without_a_target() -> None:
    whole, half = (
        plan(batch_size=10),
        plan(batch_size=10, tree={"search": "puct", "full_share": 0.5, "fast_sims": 4}),
    )
    assert half.positions == whole.positions
    assert half.samples == whole.samples
    assert half.disk_bytes()["games"] < whole.disk_bytes()["games"]


def test_matches_grow_with_their_number() -> None:
    few, many = (plan(eval_every=every).costs()["matches"] for every in (5, 1))
    assert many.core_s == pytest.approx(few.core_s * 11 / 3)


def test_recorded_games_are_read_and_not_played() -> None:
    found = plan(recorded=5000, objective="supervised", data=("x",))
    assert "playing" not in found.costs()
    assert found.costs()["learning"].wall_s == pytest.approx(5000 * (0.9 + 0.1 / 2) / 1000)
    assert found.disk_bytes()["games"] == 0


def test_games_take_no_more_than_their_quota() -> None:
    """A training that may go back, because games of others are checked, keeps all."""
    whole = plan().disk_bytes()["games"]
    others = {"executor": "mailbox", "verify_share": 0.5}
    for share, more, left in ((2, {}, whole), (0.5, {}, whole / 2), (0.5, others, whole)):
        found = plan(keep_gb=share * whole / 1e9, **more).disk_bytes()
        assert found["games"] == round(left)


def test_machines_side_by_side_take_the_same_time() -> None:
    two = PLAYING.on(2)
    assert (two.per_s, two.cost_of(200)) == (100, Cost(2, 6))


@pytest.mark.thorough
def test_a_training_is_measured(tmp_path: Path) -> None:
    facts = last_json(inside("train", "--plan", *QUICK, *PLAYED, "--json"))
    assert facts["positions"] == 4 * 320
    assert facts["samples"] == 4 * 15 * 32
    assert facts["positions_per_s"] > 0
    assert sorted(facts["samples_per_s"]) == ["float", "folded"]
    assert 0 < facts["cost"]["playing"]["core_s"] < facts["cost"]["total"]["core_s"]


@pytest.mark.slow
def test_other_objectives_are_measured(tmp_path: Path) -> None:
    options = [*QUICK, "--positions-per-iter", 320, "--seats", 8, "--loaders", 0]
    facts = last_json(inside("train", "--plan", *options, "--objective", "ppo", "--json"))
    assert list(facts["samples_per_s"]) == ["float", "folded"]
    run = tmp_path / "run"
    short = ["--net", "constant", "--games", 8, "--max-plies", 40]
    assert inside("selfplay", *short, "--run-dir", run).returncode == 0
    options = [*QUICK, "--objective", "supervised", "--data", run, "--iterations", 2]
    done = inside("train", "--plan", *options)
    assert done.returncode == 0, done.stderr
    assert "playing" not in done.stdout
    assert "2 iterations, 288 samples" in done.stdout  # 9 batches of 8 * 40 plies less 2 %


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    games = tmp_path / "games.pgn"
    games.write_text('[Event "x"]\n\n1. e4 *\n')
    for options, part in (
        (["--net", "no-such-net"], "no-such-net"),
        (["--objective", "ppo", "--search", "puct"], "ppo learns from drawn moves"),
        (["--objective", "supervised", "--data", games, "--gpus", "cpu"], "vecchess gather pgn"),
        (["--nnodes", 2], "needs master_addr"),
        (["--resume"], "leave out --resume"),
    ):
        done = inside("train", "--plan", *options)
        assert done.returncode == 2, options
        assert part in done.stderr.splitlines()[-1]
        assert done.stdout == ""


@pytest.mark.parametrize("name", ["games.pgn", "games.PGN", "games.pgn.zst", "games.pgn.gz"])
def test_pgn_files_are_to_be_gathered_first(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("1. e4 *")
    config = {"objective": "supervised", "data": [tmp_path / name], "gpus": "cpu"}
    with pytest.raises(ConfigError, match="vecchess gather pgn"):
        plan_training(TrainConfig.model_validate(config), print)


def test_a_folder_named_like_a_pgn_file_is_one_of_shards(tmp_path: Path) -> None:
    (place := tmp_path / "games.pgn").mkdir()
    config = {"objective": "supervised", "data": [place], "gpus": "cpu"}
    with pytest.raises(VecchessError) as caught:
        plan_training(TrainConfig.model_validate(config), lambda line: None)
    assert "vecchess gather pgn" not in str(caught.value)


@pytest.mark.slow
def test_ctrl_c_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process: subprocess.Popen[str] = start("train", "--plan", "--gpus", "cpu")
    assert process.stderr is not None
    while "playing" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert not list(tmp_path.glob("vecchess-plan-*"))
