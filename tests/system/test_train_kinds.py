"""Objectives other than the default, and settings that ``vecchess train`` refuses."""

import gzip
import signal
from pathlib import Path

import numpy as np
import pytest

from tests.system.commands import inside, last_json
from tests.system.training import PGN, facts, gated, little_options
from vecchess.train import run_train


@pytest.fixture(scope="module")
def little(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """See ``little_options``."""
    return little_options(tmp_path_factory.mktemp("little"))


@pytest.mark.thorough
@pytest.mark.parametrize("objective", ["ppo", pytest.param("reinforce", marks=pytest.mark.slow)])
def test_objectives_of_drawn_moves(tmp_path: Path, little: list[object], objective: str) -> None:
    run = tmp_path / "run"
    options = [
        "--gpus",
        "cpu",
        "--iterations",
        2,
        "--positions-per-iter",
        112,
        "--seats",
        4,
        "--batch-size",
        32,
    ]
    more = ["--objective", objective, "--max-plies", 24, "--eval-games", 2, "--eval-every", 2]
    done = inside("train", *options, *more, "--loaders", 0, "--json", *little, "--run-dir", run)
    summary = last_json(done)
    assert {match["opponent"] for match in summary["matches"]} == {"random", "greedy"}
    learnt = [line for line in facts(run) if line["kind"] == "learn"]
    assert all(np.isfinite(line["loss"]) for line in learnt)
    first = [line for line in facts(run) if line["kind"] == "on_policy"]
    assert [line["iteration"] for line in first] == [1, 2]
    if objective == "ppo":
        assert all(line["ratio_error"] == line["clipped"] == 0 for line in first)
    again = last_json(inside("replay", run, "--verify-all", 8, "--gpus", "cpu", "--json"))
    assert (again["identical"], len(again["networks"])) == (8, 2)


def test_supervised_from_pgn(tmp_path: Path, little: list[object]) -> None:
    pgn, run = tmp_path / "mates.pgn.gz", tmp_path / "run"
    options = ["--objective", "supervised", "--data", pgn, *little, "--batch-size", 16]
    pgn.write_bytes(gzip.compress(PGN.encode()))
    done = inside("train", *options, "--iterations", 2, "--gpus", "cpu", "--run-dir", run)
    assert (done.returncode, "too few for 2 iterations" in done.stderr) == (2, True), done.stderr
    pgn.write_bytes(gzip.compress(PGN.encode() * 3))
    more = ["--epochs", 8, "--iterations", 2, "--gpus", "cpu", "--eval-every", 0, "--holdout", 0.2]
    more += ["--loaders", 0]
    summary = last_json(inside("train", *options, *more, "--run-dir", run, "--json"))
    assert summary["positions"] == 33
    examined = [line for line in facts(run) if line["kind"] == "examine"]
    assert len(examined) == 2
    assert len(examined[0]["top1"]) == 4
    files = [run / "config.toml", run / "status.json"]
    before = [file.read_bytes() for file in files]
    for iterations, reason in ((1, "2 iterations are done"), (9, "leave 0 updates for 7 more")):
        done = inside("train", "--run-dir", run, "--resume", "--iterations", iterations)
        assert (done.returncode, reason in done.stderr) == (2, True), done.stderr
        assert [file.read_bytes() for file in files] == before
    assert inside("train", "--run-dir", run, "--resume").returncode == 0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--objective", "alphazer"], "objective"),
        (["--search", "none"], "alphazero learns from searches"),
        (["--objective", "ppo", "--search", "puct"], "learns from drawn moves"),
        (["--objective", "ppo", "--temperature", "0.5"], "needs temperature 1"),
        (["--objective", "supervised"], "--data"),
        (["--objective", "supervised", "--data", "nowhere.pgn"], "nowhere.pgn"),
        (["--data", "games.pgn"], "there is no PGN file"),
        (["--objective", "ppo", "--data", "games.pgn"], "no --data"),
        (["--net", "tinny"], "tinny"),
        (["--init-from", "nowhere.safetensors"], "nowhere.safetensors"),
        (["--resume"], "--run-dir"),
        (["--objective", "supervised", "--data", "EMPTY.pgn"], "EMPTY.pgn is empty"),
        (["--objective", "supervised", "--data", "EMPTY.npz"], "EMPTY.npz is not a readable shard"),
        (["--objective", "supervised", "--data", "TEXT"], "TEXT is not a readable shard"),
        (["--objective", "supervised", "--data", "FOLDER"], "FOLDER is neither a run nor"),
        (["--nnodes", "2"], "master_addr"),
        (["--node-rank", "1"], "node_rank"),
        (["--iterations", "0"], "iterations"),
        (["--gate", "5"], "write ELO0,ELO1"),
        (["--objective", "ppo", "--gate", "0,5"], "no --gate"),
        (["--history", "9"], "history"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_one_line(tmp_path: Path, options: list[str], reason: str) -> None:
    run = tmp_path / "run"
    (tmp_path / "FOLDER").mkdir()
    (tmp_path / "TEXT").write_text("1. e4 e5 *")
    for name in ("EMPTY.pgn", "EMPTY.npz"):
        (tmp_path / name).touch()
    options = [str(tmp_path / o) if o.split(".")[0].isupper() else o for o in options]
    where = [] if "--resume" in options else ["--run-dir", run]
    done = inside("train", "--gpus", "cpu", *options, *where)
    assert done.returncode == 2, done.stderr
    assert reason in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert not run.exists()


@pytest.mark.thorough
def test_a_gate_refuses_others(tmp_path: Path, little: list[object]) -> None:
    run = tmp_path / "run?"  # its networks' paths are heads of players, and "?" begins settings
    (verdict,) = gated(run, little, "400,800", "--iterations", 1)
    assert not verdict["admitted"]
    assert verdict["sprt"]["state"] == "rejected"
    assert len(list((run / "nets").glob("*.safetensors"))) == 1


def test_games_that_cannot_be_gathered_leave_no_run(tmp_path: Path) -> None:
    """So that the same command works once the file is right."""
    pgn, run = tmp_path / "games.pgn", tmp_path / "run"
    pgn.write_text('[Event "?"]\n\n1. e4 Ke4 *\n')
    options = ["--objective", "supervised", "--data", pgn, "--gpus", "cpu", "--run-dir", run]
    for _ in range(2):
        done = inside("train", *options)
        assert (done.returncode, "games.pgn" in done.stderr) == (2, True), done.stderr
        assert "holds a run" not in done.stderr


@pytest.mark.parametrize("phase", ["import_data", "DatasetSource"])
def test_a_stop_ends_while_recorded_games_are_read(
    tmp_path: Path, little: list[object], monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    def stop(*_: object) -> None:
        signal.raise_signal(signal.SIGTERM)
        pytest.fail("it goes on")

    pgn, run = tmp_path / "mates.pgn", tmp_path / "run"
    pgn.write_text(PGN)
    monkeypatch.setattr(run_train, phase, stop)
    options = ["--objective", "supervised", "--data", pgn, *little, "--gpus", "cpu"]
    done = inside("train", *options, "--run-dir", run)
    assert (done.returncode, "stopped by SIGTERM" in done.stderr) == (75, True), done.stderr
    assert not (run / "config.toml").exists()
