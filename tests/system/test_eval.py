"""``vecchess eval`` as a user runs it."""

import json
import signal
from pathlib import Path

import pytest

from tests.evaluate.players import small_net
from tests.system.commands import inside, last_json, start
from vecchess.evaluate import checkpoint_ratings
from vecchess.jit import cache_base
from vecchess.snn.integer.net_file import save_net
from vecchess_cli.commands import eval as eval_command

NUMBA_CACHE = str(cache_base())
"""Kernels stay where they are compiled already when a test moves the user's cache."""


def test_a_network_is_rated_reported_and_compared(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": NUMBA_CACHE}
    settings = ["--against", "random", "--against", "greedy", "--games", 2, "--out", report]
    done = inside("eval", "material", *settings, "--json", env=env | {"VECCHESS_MAX_PLIES": "90"})
    facts = last_json(done)
    assert facts == json.loads(report.read_text())
    assert facts["anchor"] == {"player": "random", "elo": 0.0}
    assert {row["player"] for row in facts["ratings"]} == {"material policy", "random", "greedy"}
    assert facts["settings"]["max_plies"] == 90
    assert facts["stopped_by"] == ""
    assert "3/3  greedy - random" in done.stderr
    assert "400 Elo above random" in done.stderr
    assert len(list((tmp_path / "cache" / "vecchess" / "arena").iterdir())) == 3

    done = inside("eval", report, report, "--json")
    joint = last_json(done)
    assert joint["ratings"] == facts["ratings"]
    assert joint["found_in"] == {"material policy": [str(report)] * 2}
    assert "against" in done.stderr


def test_the_history_of_a_run_is_rated(tmp_path: Path) -> None:
    (tmp_path / "nets").mkdir()
    for seed in (1, 2):
        save_net(small_net(seed), tmp_path / "nets" / f"run-s{100 * seed}-d0.safetensors")
    env = {"VECCHESS_MAX_PLIES": "61"}
    done = inside("eval", "--history", tmp_path, "--games", 2, "--against", "random", env=env)
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "eval" / "history.json").read_text())
    assert [point["samples"] for point in facts["curve"]] == [100, 200]
    assert len(list((tmp_path / "eval" / "pairs").iterdir())) == 3
    assert f"written to {tmp_path / 'eval' / 'history.json'}" in done.stderr


def test_runs_that_went_on_from_each_other_are_one_history(tmp_path: Path) -> None:
    runs = [tmp_path / "a", tmp_path / "b"]
    for place, run in enumerate(runs):
        (run / "nets").mkdir(parents=True)
        for seed in (0, 1):
            name = f"{run.name}-s{100 * seed}-d0.safetensors"
            save_net(small_net(2 * place + seed), run / "nets" / name)
    places = [word for run in runs for word in ("--history", run)]
    env = {"VECCHESS_MAX_PLIES": "61"}
    done = inside("eval", *places, "--games", 2, "--against", "random", env=env)
    assert done.returncode == 0, done.stderr
    facts = json.loads((runs[1] / "eval" / "history.json").read_text())
    assert [point["samples"] for point in facts["curve"]] == [0, 100, 200]
    assert not (runs[0] / "eval").exists()


def test_ctrl_c_rates_what_was_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", NUMBA_CACHE)
    settings = ["--against", "random", "--against", "minimax:4", "--games", 100]
    process = start("eval", "greedy", *settings, "--json")
    assert process.stderr is not None
    line = process.stderr.readline()
    while line and "1/3" not in line:
        line = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    facts = json.loads(out)
    assert facts["stopped_by"] == "SIGINT"
    assert len(facts["pairs"]) < 3
    assert "stopped with Ctrl-C: rated by the games so far; resume with the same command" in err


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["eval", "tiny", "--history", "."], "not both"),
        (["eval", "tiny", "--every", "2"], "--every and --by-cost belong to --history"),
        (["eval", "tiny", "--by-cost", "3"], "--by-cost belong to --history"),
        (["eval", "--history", ".", "--by-cost", "3", "--every", "2"], "not both"),
        (["eval", "tiny", "--with-policy"], "--with-policy belongs to a NET with --search"),
        (["eval", "tiny", "--sims", "8"], "--sims needs a search"),
        (["eval", "tiny", "--games", "3"], "games: 3 cannot be played in pairs"),
        (["eval", "tiny", "--out", "no/such/folder/x.json"], "there is no folder"),
        (["eval", "tiny", "--out", "."], ". is a folder"),
        (["eval", "no-such-net", "--against", "random"], "there is no network file no-such-net"),
        (["eval", "tiny", "--search", "alphabeta", "--against", "random"], '"gumbel" or "puct"'),
        (["eval", "greedy", "--against", "rnadom"], "there is no player 'rnadom'"),
        (["eval", "greedy", "--openings", "none.epd"], "none.epd"),
        (["eval", "--history", "no/such/run"], "no/such/run has 0 networks"),
        (["eval", "no-such-report.json"], "cannot read no-such-report.json"),
        (
            ["eval", "a.json", "b.json", "--history", "."],
            "reports are rated by the games they hold",
        ),
        (["eval", "tiny", "small"], "give one NET, or reports"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], part: str) -> None:
    done = inside(*arguments)
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith("vecchess: error: ")
    assert part in last


def test_sprt_is_no_setting_of_an_evaluation() -> None:
    assert inside("eval", "greedy", env={"VECCHESS_SPRT": "0,5"}).returncode == 2


class NothingRated:
    """A rating of a run that was stopped before a network of it had played."""

    has_results = True

    def to_dict(self) -> dict[str, list[object]]:
        return {"curve": [], "pairs": []}

    def tables(self) -> dict[str, object]:
        return {}


def test_a_curve_without_points_replaces_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nets").mkdir()
    for seed in (1, 2):
        save_net(small_net(seed), tmp_path / "nets" / f"run-s{100 * seed}-d0.safetensors")
    monkeypatch.setattr(checkpoint_ratings, "rate_history", lambda *_, **__: NothingRated())
    curve = tmp_path / "eval" / "history.json"
    curve.parent.mkdir()
    curve.write_text("a curve of before")
    done = inside("eval", "--history", tmp_path, "--games", 2, "--against", "random")
    assert done.returncode == 0, done.stderr
    assert curve.read_text() == "a curve of before"
    assert "written to" not in done.stderr


def test_a_report_is_written_though_nobody_reads_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: object, **more: object) -> None:
        raise BrokenPipeError

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", NUMBA_CACHE)
    monkeypatch.setattr(eval_command, "print_result", broken)
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    settings = ["--against", "random", "--games", 2]
    assert inside("eval", "material", *settings, "--out", first).returncode == 141
    assert inside("eval", first, "--out", second).returncode == 141
    assert json.loads(second.read_text())["ratings"] == json.loads(first.read_text())["ratings"]


def test_reports_that_rate_nobody_are_refused(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    settings = ["--against", "random", "--games", 2, "--out", report]
    env = {"XDG_CACHE_HOME": str(tmp_path), "NUMBA_CACHE_DIR": NUMBA_CACHE}
    assert inside("eval", "material", *settings, env=env).returncode == 0
    report.write_text(json.dumps(json.loads(report.read_text()) | {"pairs": []}))
    done = inside("eval", report)
    assert done.returncode == 2
    assert "rate nobody" in done.stderr
