"""Every command as a user runs it: what it prints, and what it says to bad input."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.nets import FOUR_STEPS
from tests.system.commands import inside, last_json
from vecchess import self_test
from vecchess.bench import throughput
from vecchess.fleet.block_player import KNOWN_DIGEST
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.tune import slot_search
from vecchess.jit import cache_base
from vecchess.machine_limits import num_cores
from vecchess.snn.integer import net_file
from vecchess.snn.integer.net_file import load_net, save_net
from vecchess.store.run_folder import RunFolder

NUMBA_CACHE = str(cache_base())
"""Kernels stay where they are compiled already when a test moves the user's cache."""


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny network file."""
    file = tmp_path_factory.mktemp("nets") / "tiny.safetensors"
    assert last_json(inside("net", "new", "tiny", "--out", file, "--json"))["exact"]
    return file


def test_net_info_and_check(net: Path) -> None:
    facts = last_json(inside("net", "info", net, "--json"))
    assert facts["sha256"] == load_net(net).sha256
    assert facts["config"]["preset"] == "tiny"
    report = last_json(inside("net", "check", net, "--json"))
    assert report["exact"]
    assert all(row["bound"] < row["limit"] for row in report["bounds"])
    assert "exact in float32" in inside("net", "check", net).stdout


def test_net_check_names_a_value_that_is_not_exact(net: Path, tmp_path: Path) -> None:
    given = load_net(net)
    wild = replace(given.layers["policy"], bias=np.full(73, 2**31 - 1, np.int32))
    layers = {**given.layers, "policy": wild}
    net_file.save_net(replace(given, layers=layers), file := tmp_path / "wild.safetensors")
    done = inside("net", "check", file, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "layer policy" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.thorough
def test_the_network_of_vecchess_plays_where_none_is_named(tmp_path: Path) -> None:
    facts = last_json(inside("net", "info", "default", "--json"))
    assert last_json(inside("net", "check", "default", "--json"))["exact"]
    run = tmp_path / "run"
    options = ["--games", 2, "--max-plies", 4, "--gpus", "cpu", "--run-dir", run]
    done = inside("selfplay", *options)
    assert done.returncode == 0, done.stderr
    assert "2 games with default" in done.stderr
    assert RunFolder(run).records().nets == (facts["sha256"],)
    against = ["--against", "random", "--games", 2]
    found = last_json(inside("eval", *against, "--json", env={"VECCHESS_MAX_PLIES": "61"}))
    assert {row["player"] for row in found["ratings"]} == {"default policy", "random"}


@pytest.mark.parametrize(
    "command",
    ["selfplay", "uci", "analyse", "eval --against random", "match net: random",
     "train --net default", "train --init-from default", "net info default", "tune default",
     "export onnx default", "bench search --net default"],
)  # fmt: skip
def test_an_installation_without_its_network_is_told_in_a_line(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(net_file, "SHIPPED_NET", tmp_path / "default.safetensors")
    done = inside(*command.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "vecchess: error: this installation lacks its network "
        f"{tmp_path}/default.safetensors: install vecchess again\n"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_network_that_sees_three_positions(tmp_path: Path) -> None:
    """Made, played with and calibrated like any other."""
    file, run = tmp_path / "three.safetensors", tmp_path / "run"
    made = last_json(inside("net", "new", FOUR_STEPS, "--history", 3, "--out", file, "--json"))
    assert made["config"]["num_planes"] == 60
    options = ["--games", 4, "--max-plies", 20, "--search", "puct", "--sims", 6, "--gpus", "cpu"]
    done = inside("selfplay", "--net", file, *options, "--run-dir", run)
    assert done.returncode == 0, done.stderr
    assert RunFolder(run).records().nets == (load_net(file).sha256,)
    out = tmp_path / "calibrated.safetensors"
    sizes = ["--games", run, "--positions", 60, "--gpus", "cpu", "--out", out]
    assert last_json(inside("calibrate", file, *sizes, "--json"))["time_steps"] == 4


def test_calibrate(tmp_path: Path) -> None:
    net = tmp_path / "four.safetensors"
    assert inside("net", "new", FOUR_STEPS, "--out", net).returncode == 0
    out = tmp_path / "calibrated.safetensors"
    sizes = ["--play", 2, "--positions", 100, "--gpus", "cpu"]
    done = inside("calibrate", net, *sizes, "--out", out, "--json")
    facts = last_json(done)
    assert "playing 2" in done.stderr
    assert facts["schema"] == 1
    assert len(facts["curve"]) == facts["time_steps"] == 4
    about = last_json(inside("net", "info", out, "--json"))
    assert (about["sha256"], about["exit_rule"]) == (facts["sha256"], facts["rule"])
    assert about["calibration"]["curve"] == facts["curve"]
    shown = inside("net", "info", out).stdout
    assert "all at 4" in shown
    assert "costs" in shown


@pytest.mark.thorough
def test_tune_decides_the_slots_of_runs(
    net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slot_search, "WINDOW_S", 0.02)
    backend = open_backend("cpu", load_net(net), 100, threads=num_cores())
    most = slot_search.backend_nbytes(backend)
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": NUMBA_CACHE}
    limits = ["--memory-gb", f"{most / 1e9:.9f}", "--latency-ms", 100_000]
    facts = last_json(inside("tune", net, "--gpus", "cpu", *limits, "--json", env=env))
    assert facts["schema"] == 1
    assert facts["remembered"]
    assert [rung["slots"] for rung in facts["ladder"]] == [32, 64, 96], "128 are too many"
    assert facts["slots"] in (32, 64, 96)
    options = ["selfplay", "--net", net, "--games", 200, "--max-plies", 6, "--gpus", "cpu"]
    tuned = inside(*options, "--run-dir", tmp_path / "tuned", env=env)
    assert f"network batch {facts['slots']} " in tuned.stderr


@pytest.mark.thorough
def test_variables_are_settings_and_the_preset_is_the_network_of_a_new_file(
    net: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    env = {"VECCHESS_GAMES": "3", "VECCHESS_MAX_PLIES": "6", "VECCHESS_NET": "tiny"}
    done = inside("selfplay", "--gpus", "cpu", "--run-dir", run, "--json", env=env)
    summary = last_json(done)
    assert (summary["games"], summary["plies"]) == (3, 18)
    assert RunFolder(run).records().nets == (load_net(net).sha256,)


@pytest.mark.parametrize("name", ["constant", "tiny"])
def test_bench_throughput(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, "SETTLE_S", 0.05)
    size = ["--slots", 16, "--concurrent-games", 32, "--seconds", 0.2]
    facts = last_json(
        inside("bench", "throughput", "--net", name, "--gpus", "cpu", *size, "--json")
    )
    keys = "schema device net slots games plies_per_s games_per_s evals_per_s mean_time_steps"
    keys += " batch_fill device_busy mover_busy queue_age_p99_ms verdict bytes_per_game"
    assert set(keys.split()) <= set(facts)
    assert facts["plies_per_s"] > 0
    assert 0 < facts["batch_fill"] <= 1


@pytest.mark.slow
def test_bench_throughput_with_workers() -> None:
    size = ["--gpus", "cpu:2", "--slots", 8, "--seconds", 1]
    facts = last_json(inside("bench", "throughput", *size, "--json"))
    assert facts["workers"] == 2
    assert facts["plies_per_s"] > 0


def test_bench_perft_of_a_position() -> None:
    fen = "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"
    facts = last_json(inside("bench", "perft", "--fen", fen, "--depth", 5, "--json"))
    assert facts["nodes"] == 674_624


@pytest.mark.slow
def test_memory_of_16384_games() -> None:
    size = ["--slots", 8192, "--concurrent-games", 16384, "--seconds", 1]
    facts = last_json(
        inside("bench", "throughput", "--net", "constant", "--gpus", "cpu", *size, "--json")
    )
    assert facts["games"] == 16384
    assert facts["bytes_per_game"] <= 4096


@pytest.mark.thorough
def test_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_test, "SELF_TEST_GAMES", 6)
    facts = last_json(inside("doctor", "--json"))
    assert facts["healthy"]
    assert [check["passed"] for check in facts["checks"]] == [True] * 3
    assert KNOWN_DIGEST[:16] in facts["checks"][-1]["found"]
    limits = facts["limits"]
    assert facts["cores"] == max(1, int(limits["cores"]))
    assert limits["memory_mb"] > 0
    assert all(limits[name] for name in ("memory_source", "cores_source"))


@pytest.mark.thorough
def test_doctor_names_a_machine_that_plays_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_test, "SELF_TEST_GAMES", 2)
    monkeypatch.setattr(self_test, "KNOWN_DIGEST", "0" * 64)
    ended = inside("doctor", "--json")
    assert ended.returncode == 3
    last = json.loads(ended.stdout)["checks"][-1]
    assert (last["passed"], "not 0000" in last["found"]) == (False, True)


def test_help_is_for_every_command() -> None:
    for command in (
        [],
        ["selfplay"],
        ["net", "new"],
        ["net"],
        ["calibrate"],
        ["replay"],
        ["bench", "perft"],
        ["export", "pgn"],
        ["export", "lc0"],
        ["export", "csv"],
        ["export", "onnx"],
        ["export", "nir"],
        ["export", "hub"],
        ["export", "tracker"],
        ["net", "from-nir"],
    ):
        done = inside(*command, "--help")
        assert done.returncode == 0
        assert done.stdout.startswith("Usage:")


BAD = [
    (["selfplay", "--gamez", "3"], "No such option: --gamez"),
    (["selfplay", "--games", "-1"], "games"),
    (["selfplay", "--games", "many"], "--games"),
    (["selfplay", "--gpus", "9"], "--gpus 9"),
    (["selfplay", "--net", "no-such-net"], "no-such-net"),
    (["selfplay", "--net", "BROKEN"], "BROKEN"),
    (["selfplay", "--temperature", "hot"], "hot"),
    (["selfplay", "--openings", "no.epd"], "no.epd"),
    (["selfplay", "--openings", "OPENINGS"], "line 2"),
    (["selfplay", "--run-dir", "/proc/nowhere"], "/proc/nowhere"),
    (["selfplay", "--config", "no.toml"], "no.toml"),
    (["selfplay", "--backend", "abacus"], "abacus"),
    (["selfplay", "--resume"], "--run-dir"),
    (["selfplay", "--resume", "--run-dir", "nowhere"], "nowhere"),
    (["net", "info", "BROKEN"], "BROKEN"),
    (["net", "new", "huge", "--out", "x.safetensors"], "huge"),
    (["net", "new", "tiny", "--out", "nowhere/x.safetensors"], "nowhere"),
    (["calibrate", "BROKEN"], "BROKEN"),
    (["calibrate", "nowhere.safetensors"], "nowhere"),
    (["calibrate", "BROKEN", "--positions", "0"], "--positions"),
    (["calibrate", "BROKEN", "--nats-per-doubling", "inf"], "--nats-per-doubling"),
    (["calibrate", "default"], "add --out FILE"),
    (["tune", "nowhere"], "nowhere"),
    (["tune", "constant"], "constant"),
    (["tune", "tiny", "--gpus", "cpu", "--memory-gb", "-1"], "--memory-gb"),
    (["tune", "tiny", "--gpus", "cpu", "--threads", "-1"], "threads"),
    (["replay", "nowhere", "1"], "nowhere"),
    (["export", "pgn", "nowhere", "--out", "x.pgn"], "nowhere"),
    (["export", "csv", "nowhere", "--out", "-", "--games", "9-3"], "--games 9-3"),
    (["export", "lc0", "BROKEN", "--out", "chunks"], "BROKEN"),
    (["export", "onnx", "BROKEN", "--out", "x.onnx"], "BROKEN"),
    (["export", "nir", "BROKEN", "--out", "x.nir"], "BROKEN"),
    (["export", "nir", "default", "--neurons", "soft"], "soft"),
    (["export", "nir", "default", "--out", "-", "--json"], "drop one"),
    (["export", "hub", "BROKEN", "--out", "x"], "BROKEN"),
    (["export", "tracker", "nowhere", "--to", "wandb"], "nowhere"),
    (["net", "from-nir", "BROKEN", "--out", "x.safetensors"], "BROKEN"),
    (["net", "from-nir", "nowhere.nir", "--out", "x.safetensors"], "nowhere.nir"),
    (["bench", "perft", "--fen", "8/8 w", "--depth", "2"], "8/8 w"),
    (["bench", "perft", "--against", "abacus"], "abacus"),
    (["bench", "throughput", "--cores", "4096"], "4096"),
    (["bench", "movegen", "--seed", str(1 << 70)], "--seed"),
    (["tune", "tiny", "--memory-gb", "inf"], "--memory-gb must be above 0, up to 1e+09"),
    (["tune", "tiny", "--latency-ms", "nan"], "--latency-ms must be above 0"),
    (["nonsense"], "nonsense"),
]


@pytest.mark.parametrize(("command", "part"), BAD, ids=lambda value: str(value)[:60])
def test_bad_input_gets_one_line_and_harms_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], part: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("BROKEN").write_bytes(b"not a network")
    Path("OPENINGS").write_text("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\nrubbish\n")
    before = sorted(tmp_path.rglob("*"))
    done = inside(*command)
    assert done.returncode == 2
    assert done.stdout == ""
    assert part in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("curve", [{"a_low": 1.0, "time_steps": 1}]),
        ("curve", [{"a": 1.0, "a_interval": 5, "time_steps": 1}]),
        ("curve", [{"a": 1.0, "time_steps": 1, "x": [{"k": 1}]}]),
        ("curve", [{"a": 1.0, "time_steps": 1, "x": {"k": {"z": 1}, "u": 3}}]),
        ("positions", [{"k": 1}, 3]),
    ],
)
def test_a_calibration_of_others_is_one_line(
    name: str, value: Any, net: Path, tmp_path: Path
) -> None:
    steps = {"mean_time_steps": 2.0}
    calibration = {
        "schema": 1, "curve": [], "fit": steps, "holdout": steps, "games": 2, "positions": 5,
        "nats_per_doubling": 0.1,
    }  # fmt: skip
    file = tmp_path / "odd.safetensors"
    save_net(replace(load_net(net), calibration=calibration | {name: value}), file)
    done = inside("net", "info", file)
    assert done.returncode == 0, done.stderr
    assert "in a form that this version does not read" in done.stdout


def test_the_object_is_printed_though_the_disk_of_the_log_is_full() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "vecchess_cli.main", "net", "info", "default", "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, text=True)
    assert last_json(done)["exact"]


@pytest.mark.parametrize(
    "settings",
    ['shard_games = "x"', 'seats = "x"', "positions_per_iter = 0", "seats = [1]", "seats = inf"],
)
@pytest.mark.parametrize("command", ["info", "verify", "compact"])
def test_games_of_a_run_with_a_damaged_number(command: str, settings: str, tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.create()
    run.config.write_text(f'objective = "alphazero"\n{settings}\n')
    done = inside("games", command, tmp_path)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith(f"vecchess: error: {run.config}: a number of games is none: ")


@pytest.mark.thorough
def test_a_run_may_have_no_standard_streams(tmp_path: Path) -> None:
    """A file that got the number of a closed one would be written to by whoever has a message."""
    command = f"{sys.executable} -m vecchess_cli.main selfplay --net constant --games 1 --gpus cpu"
    done = subprocess.run(f"{command} --run-dir run <&- >&- 2>&-", shell=True, cwd=tmp_path)
    assert done.returncode == 0
    assert RunFolder(tmp_path / "run").records().num_games == 1
