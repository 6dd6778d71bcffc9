"""Runs by URL, with each command that takes a run."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.dash.test_report import NEEDS_PAGES
from tests.export.made import SEED
from tests.monitor.runs import selfplay_run
from tests.system.commands import PROGRAM, SHORT, inside, vecchess
from vecchess.browser import export_web as module
from vecchess.config import SelfplayConfig, build, read_toml
from vecchess.jit import cache_base
from vecchess.runtime.child_program import start_program
from vecchess.store.remote.object_store import ObjectStore
from vecchess.store.remote.run_places import copy_folder
from vecchess.store.run_pins import pin_run

pytestmark = pytest.mark.thorough

GAMES = ["selfplay", "--games", 4, "--net", "tiny", "--seed", 5, *SHORT, "--quiet"]
TRAIN = [
    "train", "--net", "tiny", "--positions-per-iter", 200, "--batch-size", 64, "--sims", 2,
    "--seats", 8, "--eval-every", 0, "--seed", 3, "--quiet", *SHORT,
]  # fmt: skip


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies of this test alone, and the kernels that are compiled."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache_base()))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def lines_of(*arguments: object, code: int = 0) -> str:
    done = inside(*arguments)
    assert done.returncode == code, done.stderr
    return done.stdout


def refused(*arguments: object) -> str:
    done = inside(*arguments)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    return line.removeprefix("vecchess: error: ")


def test_each_command_takes_a_url(s3_place: str) -> None:
    lines_of(*GAMES, "--run-dir", s3_place)
    folder = copy_folder(s3_place, "learner")
    assert not Path("s3:").exists()
    for export in (["csv"], ["csv", "--plies"], ["pgn"]):
        found = [lines_of("export", *export, run, "--out", "-") for run in (s3_place, folder)]
        assert found[0] == found[1] != ""
    assert "written to" not in lines_of("export", "pgn", s3_place)
    assert Path("games.pgn").is_file()
    info = json.loads(lines_of("games", "info", s3_place, "--json"))["runs"][0]
    assert (info["run"], info["games"], info["missing_shards"]) == (s3_place, 4, 0)
    assert "verdict: good" in lines_of("games", "verify", s3_place)
    assert "all bit-identical" in lines_of("replay", s3_place, "--verify-all", 4, "--gpus", "cpu")
    watched = lines_of("watch", s3_place, "--simple")
    assert watched.startswith(f"{s3_place}: selfplay")
    labels = ["gather", "label", s3_place, "--net", "default", "--out", "labels"]
    assert "positions of 4 games" in lines_of(*labels)


def test_a_run_goes_on_at_its_url(s3_place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines_of(*GAMES, "--run-dir", s3_place)
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path("another").absolute()))
    again = [*GAMES, "--run-dir", s3_place, "--resume"]
    again[2] = 8
    assert json.loads(lines_of(*again, "--json"))["games"] == 8
    assert "verdict: good" in lines_of("games", "verify", s3_place)
    assert len(lines_of("export", "csv", s3_place, "--out", "-").splitlines()) == 9


@NEEDS_PAGES
def test_a_report_on_a_run_by_url_goes_into_the_current_folder(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    assert lines_of("report", f"file://{made.path}") == "written to report.html\n"
    assert Path("report.html").stat().st_size > 10_000


def test_a_page_plays_the_games_of_a_run_by_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = selfplay_run(tmp_path / "first")
    made.net(256, 400)
    pin_run(made.run, build(SelfplayConfig, read_toml(made.run.config)))
    asked: list[tuple[Path, str, int]] = []

    def export_web(net: str, name: str, out: Path, config: SelfplayConfig) -> dict[str, int]:
        asked.append((Path(net), name, config.seed))
        return {"files": 9, "bytes": 1}

    monkeypatch.setattr(module, "export_web", export_web)
    lines_of("export", "web", "--run", f"file://{made.path}", "--out", "page")
    copy, name = copy_folder(f"file://{made.path}", "reader"), "first-s256-d400"
    assert asked == [(copy / "nets" / f"{name}.safetensors", name, SEED)]


def test_places_without_a_run_are_refused_in_one_line(s3_place: str) -> None:
    for command in (
        ["games", "info", s3_place],
        ["games", "verify", s3_place],
        ["watch", s3_place, "--simple"],
        ["dash", s3_place],
        ["report", s3_place],
        ["replay", s3_place, 1],
        ["export", "pgn", s3_place],
        ["export", "tracker", s3_place, "--to", "mlflow"],
        ["export", "web", "--run", s3_place, "--out", "page"],
        ["eval", "--history", s3_place],
        ["gather", "label", s3_place, "--net", "tiny", "--out", "labels"],
        ["calibrate", "default", "--games", s3_place],
        ["train", "--resume", "--run-dir", s3_place],
        ["selfplay", "--resume", "--run-dir", s3_place],
    ):
        assert refused(*command) == f"{s3_place} is not a run: it has no config.toml"
    for command in (["compact"], ["prune", "--keep-gb", 1]):
        line = refused("games", *command, s3_place)
        assert line.startswith(f"{s3_place} is a URL: games there are only read")
    assert refused("games", "info", "s4://a/b").startswith("s4://a/b: a URL of a run begins with")
    assert "no such bucket" in refused("watch", "s3://none-of-these/run", "--simple")


@pytest.mark.slow
def test_a_training_killed_goes_on_on_another_machine(
    s3_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines_of(*TRAIN, "--iterations", 3, "--run-dir", "run")
    child = start_program(
        [*PROGRAM, *map(str, TRAIN), "--iterations", "3", "--run-dir", s3_place],
    )
    store = ObjectStore.open(s3_place)
    while not store.names("checkpoints/000001"):
        assert child.poll() is None
        time.sleep(0.05)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path("another").absolute()))
    held = vecchess(*TRAIN, "--iterations", 3, "--run-dir", s3_place)
    assert held.returncode == 2
    assert held.stderr.endswith("holds a run already: add --resume, or choose another place\n")
    lines_of(*TRAIN, "--iterations", 3, "--run-dir", s3_place, "--resume")
    copy = copy_folder(s3_place, "learner")
    assert sorted(path.name for path in (copy / "nets").iterdir()) == sorted(
        path.name for path in Path("run/nets").iterdir()
    )
    newest = json.loads(Path("run/nets/latest.json").read_text())
    assert json.loads(store.get("nets/latest.json") or b"") == newest
    assert "verdict: good" in lines_of("games", "verify", s3_place)
