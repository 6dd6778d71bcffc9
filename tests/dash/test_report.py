"""``vecchess report``: the pages and their answers in one file, that no run can break."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.dash.showcase import long_training
from tests.dash.site import made_pages
from tests.export.made import played, searched
from tests.monitor.runs import (
    MadeRun,
    match,
    numbered,
    selfplay_run,
    so_far,
    state_of,
    training_run,
)
from tests.system.commands import inside
from vecchess.chess.rules import Termination
from vecchess.config import TrainConfig, to_toml
from vecchess.dash.views.example_games import NUM_NEWEST, example_games
from vecchess.dash.views.run_facts import differences, facts
from vecchess.dash.views.run_reader import RunRegistry
from vecchess.dash.web.assets import FOLDER
from vecchess.dash.write_report import report_answers, report_page, write_report
from vecchess.errors import ConfigError
from vecchess.monitor.run_view import RunView
from vecchess.store.records import GameRecords

EVIL = "</script><script>alert(1)</script><!--&\"'"
NEEDS_PAGES = pytest.mark.skipif(
    not (FOLDER / "index.html").is_file(), reason="the pages are not built: make pages"
)


def answers_of(*runs: Path) -> dict[str, Any]:
    """The answers as JSON gives them back."""
    return json.loads(json.dumps(report_answers(RunRegistry(runs)), allow_nan=False))


def report_of(out: Path, *runs: Path) -> Path:
    """The file ``out`` with the report on ``runs``."""
    write_report(runs, out)
    return out


def facts_of(run: Path) -> dict[str, str]:
    return dict(facts(RunView(run)))


def test_a_report_answers_what_the_pages_ask(tmp_path: Path) -> None:
    made = training_run(tmp_path / "gumbel")
    before = state_of(made.path)
    answers = answers_of(made.path)
    assert [run["id"] for run in answers["/api/runs"]] == ["gumbel"]
    told = answers["/api/runs/gumbel/facts"]
    assert ["seed", "7"] in told["settings"]
    assert dict(told["facts"])["state"] == "learning, 40% of this stage"
    assert answers["/api/runs/gumbel"]["status"]["learning"]["step"] == 120
    series = answers["/api/runs/gumbel/series/eval"]["columns"]
    assert series["score"][-1] == pytest.approx(0.7)
    assert len(answers["/api/runs/gumbel/series/learn"]["columns"]["spikes"]) == 60
    listed = answers["/api/runs/gumbel/games"]["games"]
    assert listed
    for game in listed:
        shown = answers[f"/api/runs/gumbel/games/{game['number']}"]
        assert len(shown["fens"]) == game["plies"] + 1
        assert shown["previous"] is shown["next"] is None, "other games are not in the file"
    assert {"loss", "speed"} <= {spec["key"] for spec in answers["/api/charts"]}
    assert state_of(made.path) == before, "a view only reads"


def test_cost_and_memory_are_told(tmp_path: Path) -> None:
    made = training_run(tmp_path / "a")
    spent = {"cost": {"core_s": 7200, "wall_s": 60}, "memory_bytes": 412_345_678}
    made.measure("publish", 4, 90, net="x", sha256="ab", **spent)
    (made.path / "eval").mkdir()
    curve = [{"player": "x", "elo": 100, "cost": {"core-hours": 2.0}}]
    (made.path / "eval" / "cost.json").write_text(json.dumps({"curve": curve}))
    assert facts_of(made.path)["cost"] == "2 core-hours in 0:01:00"
    assert facts_of(made.path)["memory"] == "412 MB"
    assert answers_of(made.path)["/api/runs/a/costs"] == curve


def test_a_run_that_was_resumed_began_with_its_first_session(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path)
    first = RunView(tmp_path).series.ends("load")[0]["time_unix"]
    made.status(started_unix=first - 1.0, updated_unix=first + 99.0, state="done")
    whole = facts_of(tmp_path)
    assert (whole["took"], whole["games a second, start included"]) == ("0:01:40", "0.12")
    made.status(started_unix=first + 1000.0, updated_unix=first + 1002.0, state="done")
    resumed = facts_of(tmp_path)
    assert resumed["began"] == whole["began"]
    assert resumed["took"] == "0:00:02, since it was resumed"
    assert "games a second, start included" not in resumed, "games are those of all sessions"


def test_any_run_has_a_report(tmp_path: Path) -> None:
    empty = MadeRun(tmp_path / "empty")
    assert answers_of(empty.path)["/api/runs/empty/games"]["games"] == []
    unfinished = selfplay_run(tmp_path / "unfinished")
    unfinished.killed(18_000.0)
    status = answers_of(unfinished.path)["/api/runs/unfinished"]["status"]
    assert status["why"] == "killed, or its machine went down; last update 5 h ago"
    assert status["resume_command"] == f"vecchess selfplay --run-dir {unfinished.path} --resume"
    damaged = selfplay_run(tmp_path / "damaged")
    (damaged.path / "games" / "w1.npz").write_bytes(b"PK")
    (damaged.path / "config.toml").write_text("= 3")
    (damaged.path / "metrics.jsonl").write_bytes(b'{"schema": 1, "kind": "learn", "loss"\n\xff')
    answers = answers_of(damaged.path)
    assert all(game["number"] < 8 for game in answers["/api/runs/damaged/games"]["games"])
    assert answers["/api/runs/damaged/series/learn"]["count"] <= 1


def test_settings_that_are_the_defaults_are_not_told(tmp_path: Path) -> None:
    config = TrainConfig(objective="ppo", positions_per_iter=7, game={"max_plies": 99})
    MadeRun(tmp_path, "train").run.config.write_text(to_toml(config))
    found = differences(RunView(tmp_path).config)
    assert sorted(found) == [
        ("game.max_plies", "99"), ("objective", "ppo"), ("positions_per_iter", "7"),
    ]  # fmt: skip
    assert differences({}) == []


def test_devices_are_counted(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path)
    gpu = {"name": "NVIDIA H200"}
    made.status(workers=[{"device": f"gpu {i}", "gpu": gpu} for i in range(8)])
    assert facts_of(tmp_path)["devices"] == "8 x NVIDIA H200"


def test_examples_are_different_games(tmp_path: Path) -> None:
    made = MadeRun(tmp_path)
    made.record(searched())
    found = example_games(RunView(tmp_path))
    assert len({game["number"] for game in found}) == len(found) >= 2
    assert len(found[0]["sans"]) == len(found[0]["ucis"]) > 0


def test_extreme_games_are_those_of_the_whole_run(tmp_path: Path) -> None:
    """Many games came after the shortest mate and the longest draw."""
    made = MadeRun(tmp_path)
    made.record(ended(6, Termination.CHECKMATE, 1, 0))
    made.record(numbered(played(), 100))
    for first in range(1000, 1000 + 2 * NUM_NEWEST, 8):
        made.record(ended(10, Termination.CHECKMATE, -1, first))
        made.record(ended(20, Termination.STALEMATE, 0, 5000 + first))
    found = {game["why"]: game for game in example_games(RunView(tmp_path))}
    assert len(found["the shortest mate"]["ucis"]) == 6
    assert found["the shortest mate"]["number"] < 8
    assert len(found["the longest draw"]["ucis"]) == 60
    assert any(why.endswith(f"of the newest {NUM_NEWEST} games") for why in found)


def ended(plies: int, termination: Termination, result: int, first: int) -> GameRecords:
    """Eight games of so many plies that count as ended in this way, numbered from ``first``."""
    return replace(
        numbered(so_far(played(), [plies] * 8), first),
        termination=np.full(8, termination, np.uint8),
        result=np.full(8, result, np.int8),
    )


def evil_run(path: Path) -> MadeRun:
    made = training_run(path, 1, 3)
    made.run.config.write_text(f"[game]\nopenings = '''{EVIL}'''\n")
    made.measure("eval", 2, 5, **(match(EVIL, 0.5) | {"player": EVIL}))
    made.measure("learn", 2, 5, loss=1.0, spikes={EVIL: 0.1})
    made.status(
        state="failed", why=EVIL, net=EVIL, host=EVIL,
        notes=[{"time_unix": 1.0, "line": EVIL}],
        workers=[{"device": EVIL, "gpu": {"name": EVIL}}],
    )  # fmt: skip
    return made


def test_the_file_needs_nothing_else_and_what_a_run_says_is_no_markup(tmp_path: Path) -> None:
    pages = made_pages(tmp_path / "pages")
    (pages / "main-ABCD.css").write_text("p { color: red }")
    (pages / "main-ABCD.js").write_text('const a = "</script>";')
    (pages / "index.html").write_text(
        '<!doctype html>\n<html><head><link rel="stylesheet" href="/static/main-ABCD.css">\n'
        '<script type="module" src="/static/main-ABCD.js"></script>\n</head><body></body></html>\n'
    )
    page = report_page([evil_run(tmp_path / "<b>&'x").path], pages)
    assert page.count("<script") == page.count("</script>") == 2, "the answers and the pages"
    assert "src=" not in page
    assert "href=" not in page
    assert "default-src 'none'" in page
    assert "<!--" not in page
    assert page.endswith("</html>\n")
    [text] = re.findall(r'<script type="application/json" id="report">(.*?)</script>', page)
    report = json.loads(text)
    assert report["start"] == "#/run/-b-x"
    assert report["answers"]["/api/runs/-b-x"]["status"]["net"] == EVIL


def test_pages_that_were_not_built_are_asked_for(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    with pytest.raises(ConfigError, match="the pages are not built: run `make pages`"):
        report_page([made.path], tmp_path / "nothing")


@NEEDS_PAGES
def test_a_file_is_written_whole(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    out = tmp_path / "a.html"
    assert report_of(out, made.path).read_text().endswith("</html>\n")
    with pytest.raises(ConfigError, match="a run is named twice"):
        report_of(out, made.path, tmp_path / "." / "first")
    with pytest.raises(ConfigError, match="there is no folder"):
        report_of(tmp_path / "nowhere" / "a.html", made.path)


@NEEDS_PAGES
def test_the_command(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    out = tmp_path / "a.html"
    done = inside("report", made.path, "--out", out, "--json")
    assert (done.returncode, done.stderr) == (0, f"written to {out}\n")
    assert json.loads(done.stdout)["file"] == str(out)
    assert out.read_text().startswith("<!doctype html>")
    assert inside("report", made.path).returncode == 0
    assert (made.path / "report.html").is_file()
    refused = inside("report", tmp_path)
    assert refused.returncode == 2
    assert "is not a run" in refused.stderr


def test_one_of_page_and_json_has_stdout(tmp_path: Path) -> None:
    refused = inside("report", selfplay_run(tmp_path / "first").path, "--out", "-", "--json")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "vecchess: error: --json and --out - both want stdout: drop one\n"


@NEEDS_PAGES
def test_odd_bytes_are_question_marks(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / os.fsdecode(b"fir\xffst"))
    made.status(state="stopped", why="\ud800", notes=[{"line": "\udfff"}])
    text = report_of(tmp_path / "report.html", made.path).read_text()
    assert '"name":"fir?st"' in text
    assert "stopped by ?" in text


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page on a phone; whatever it complains of fails the test."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, offline=True)
    found = context.new_page()
    complaints: list[str] = []
    found.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    found.on("pageerror", lambda error: complaints.append(str(error)))
    found.on("dialog", lambda dialog: complaints.append(dialog.message))
    found.on("request", lambda asked: complaints.append(asked.url) if "http" in asked.url else None)
    yield found
    context.close()
    assert complaints == []


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@pytest.mark.thorough
@NEEDS_PAGES
def test_a_run_is_read_without_a_server(page: Page, tmp_path: Path) -> None:
    made = long_training(tmp_path / "gumbel", 6)
    out = report_of(tmp_path / "a.html", made.path)
    page.goto(out.as_uri())
    for title in ("Facts", "Strength", "Learning", "Throughput", "Results", "Games"):
        expect(page.get_by_role("region", name=title, exact=True)).to_be_visible()
    for title in ("Loss", "Spike rate", "Score with its 95 % interval", "Speed"):
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    expect(page.locator("main")).to_contain_text("Settings that are not the defaults")
    assert fits(page)
    page.locator(".game-list a").first.click()
    expect(page.locator(".controls .figures")).to_have_text(re.compile(r"ply 0 of \d+"))
    page.keyboard.press("ArrowRight")
    expect(page.locator(".controls .figures")).to_have_text(re.compile(r"ply 1 of \d+"))
    assert fits(page)


@NEEDS_PAGES
def test_a_report_has_only_parts_with_something_to_show(page: Page, tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    place = page.get_by_role("region", name="Strength", exact=True)
    page.goto(report_of(tmp_path / "a.html", made.path).as_uri())
    expect(page.get_by_role("region", name="Results", exact=True)).to_be_visible()
    expect(place).to_have_count(0)
    (made.path / "eval").mkdir()
    curve = [{"player": "x", "elo": 100, "cost": {"core-hours": 2.0}}]
    (made.path / "eval" / "cost.json").write_text(json.dumps({"curve": curve}))
    page.goto(report_of(tmp_path / "b.html", made.path).as_uri())
    expect(place).to_be_visible()


@NEEDS_PAGES
def test_runs_are_compared_without_a_server(page: Page, tmp_path: Path) -> None:
    first, second = training_run(tmp_path / "a"), training_run(tmp_path / "b", 2, 9)
    second.run.config.write_text(to_toml(TrainConfig(seed=8, batch_size=512)))
    odd = [{"elo": 1, "cost": 7}, {"elo": 2}, {"elo": 3, "cost": {"core-hours": -1}}]
    for made in (first, second):
        points = [{"elo": 100 * hours, "cost": {"core-hours": hours}} for hours in (0.05, 0.5, 2)]
        (made.path / "eval").mkdir()
        (made.path / "eval" / "cost.json").write_text(json.dumps({"curve": [*odd, *points]}))
    out = report_of(tmp_path / "both.html", first.path, second.path)
    page.goto(out.as_uri())
    expect(page.get_by_role("heading", name="Loss: total")).to_be_visible()
    expect(page.get_by_role("heading", name="Score of the first pairing")).to_be_visible()
    costs = page.locator(".chart", has_text="Elo by cost")
    expect(costs.locator(".legend li")).to_have_count(2)
    expect(costs.locator(".x-name")).to_have_text("core-hours")
    settings = page.get_by_role("region", name="Settings")
    expect(settings.get_by_role("row", name="batch_size")).to_contain_text("512")
    expect(
        page.get_by_role("region", name="What ran").get_by_role("row", name="state")
    ).to_have_count(1)
    assert fits(page)
    page.get_by_role("link", name="Runs").click()
    page.get_by_role("link", name="b", exact=True).click()
    expect(page.get_by_role("heading", name="b", exact=True)).to_be_visible()


@NEEDS_PAGES
def test_nothing_that_a_run_says_is_run(page: Page, tmp_path: Path) -> None:
    out = report_of(tmp_path / "a.html", evil_run(tmp_path / "<b>&'x").path)
    page.goto(out.as_uri())
    expect(page.locator("main")).to_contain_text(EVIL)
    assert page.locator("script").count() == 2
