"""``vecchess report``: one file, whatever the run, that nothing in the run can break."""

import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from tests.export.made import played, searched
from tests.monitor.runs import (
    MadeRun,
    generation,
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
from vecchess.errors import ConfigError
from vecchess.monitor.charts import Chart, Curve
from vecchess.monitor.run_view import RunView
from vecchess.report.compare_runs import common_charts
from vecchess.report.examples import NUM_NEWEST, examples
from vecchess.report.facts import differences, facts
from vecchess.report.write_report import page_of, templates, write_report
from vecchess.store.records import GameRecords

EVIL = "<script>alert(1)</script>&\"'"
VOID = {"meta", "line", "polyline", "polygon", "rect", "circle", "use", "path", "link"}


class Page(HTMLParser):
    """Checks that tags nest, and keeps what stands in them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.references: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        assert self.open == []
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.references += [value or "" for key, value in attrs if key in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open = self.open if tag in VOID else self.open[:-1]

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)


def page(*runs: Path) -> Page:
    return Page(page_of([RunView(run) for run in runs]))


def test_a_training_is_told(tmp_path: Path) -> None:
    made = training_run(tmp_path / "gumbel")
    before = state_of(made.path)
    found = page(made.path)
    for words in ("gumbel learning", "40% of this stage", "What ran", "seed 7", "Strength"):
        assert words in found.text
    for words in ("policy against random 70", "[3] policy against greedy: 70.0% [62.0%, 78.0%]"):
        assert words in found.text
    for words in ("spike rate of each layer", "block0.first", "heads", "best move predicted"):
        assert words in found.text
    for words in ("drawn 24 (100%)", "ply cap 24", "lengths of games", "time steps of a position"):
        assert words in found.text
    for words in ("the longest draw: game", "before the largest turn", "expected score", "1. "):
        assert words in found.text
    assert state_of(made.path) == before, "a view only reads"


def test_strength_is_drawn_by_cost(tmp_path: Path) -> None:
    runs = []
    for name in "ab":
        made = training_run(tmp_path / name)
        made.measure("publish", 4, 90, net="x", sha256="ab", cost={"core_s": 7200, "wall_s": 60})
        points = [
            {"player": str(hours), "elo": 100 * hours, "cost": {"core-hours": hours}}
            for hours in (0.05, 0.5, 2)
        ]
        odd = [{"elo": 1, "cost": 7}, {"elo": 2}, {"elo": 3, "cost": {"core-hours": -1}}]
        (made.path / "eval").mkdir()
        (made.path / "eval" / "cost.json").write_text(json.dumps({"curve": [*odd, *points]}))
        runs.append(made.path)
    assert "cost 2 core-hours in 0:01:00" in page(runs[0]).text
    assert "Elo by cost" in page(runs[0]).text
    assert "0.05 0.2 1 core-hours" in page(runs[0]).text
    [chart] = [c for c in common_charts([RunView(run) for run in runs], "ab") if c.key == "cost"]
    assert [curve.name for curve in chart.curves] == ["a", "b"]
    assert chart.is_logarithmic


def test_a_page_needs_nothing_else(tmp_path: Path) -> None:
    found = page(training_run(tmp_path / "gumbel").path)
    assert all(reference.startswith("#") for reference in found.references)
    assert not {"script", "img", "iframe", "link"} & set(found.tags)
    style = files("vecchess.report").joinpath("report.css").read_text()
    assert "url(" not in style
    assert "@import" not in style


def test_any_run_has_a_report(tmp_path: Path) -> None:
    empty = MadeRun(tmp_path / "empty")
    assert "No game is recorded." in page(empty.path).text
    unfinished = selfplay_run(tmp_path / "unfinished")
    unfinished.killed(18_000.0)
    text = page(unfinished.path).text
    assert "unfinished gone" in text
    assert "killed, or its machine went down; last update 5 h ago" in text
    assert f"Resume with: vecchess selfplay --run-dir {unfinished.path} --resume" in text
    damaged = selfplay_run(tmp_path / "damaged")
    (damaged.path / "games" / "w1.npz").write_bytes(b"PK")
    (damaged.path / "config.toml").write_text("= 3")
    (damaged.path / "metrics.jsonl").write_bytes(b'{"schema": 1, "kind": "learn", "loss"\n\xff')
    text = page(damaged.path).text
    assert "game 7" in text, "the shard that can be read"
    assert "game 11" not in text
    assert "Learning" not in text


def test_nothing_that_a_run_says_is_markup(tmp_path: Path) -> None:
    made = training_run(tmp_path / "<b>&'x", 1, 3)
    made.run.config.write_text(f'[game]\nopenings = """{EVIL}"""\n')
    made.measure("eval", 2, 5, **(match(EVIL, 0.5) | {"player": EVIL}))
    made.measure("learn", 2, 5, loss=1.0, spikes={EVIL: 0.1})
    made.status(
        state="failed", why=EVIL, net=EVIL, host=EVIL,
        notes=[{"time_unix": 1.0, "line": EVIL}],
        workers=[{"device": EVIL, "gpu": {"name": EVIL}}],
    )  # fmt: skip
    found = page(made.path, selfplay_run(tmp_path / "other").path)
    assert "script" not in found.tags
    assert found.text.count("<script>alert(1)</script>") >= 6


def test_runs_are_compared(tmp_path: Path) -> None:
    first, second = training_run(tmp_path / "a"), training_run(tmp_path / "b", 2, 9)
    second.run.config.write_text(to_toml(TrainConfig(seed=8, batch_size=512)))
    views = [RunView(first.path), RunView(second.path)]
    common = {chart.title: chart for chart in common_charts(views, ["a", "b"])}
    assert [curve.name for curve in common["loss: total"].curves] == ["a", "b"]
    assert set(common) >= {"score: policy against random", "spike rate", "speed", "results: draws"}
    found = Page(page_of(views))
    assert found.text.startswith("a and b: vecchess report 2 runs Side by side a b")
    assert "batch_size default 512" in found.text
    assert "seed 7 8" in found.text
    assert {"#run-0", "#run-1"} <= set(found.references)


def test_curves_over_different_axes_are_not_compared(tmp_path: Path) -> None:
    first, second = selfplay_run(tmp_path / "a"), MadeRun(tmp_path / "b")
    second.measure("play", 1, 0, **generation(1))
    views = [RunView(first.path), RunView(second.path)]
    assert common_charts(views, ["a", "b"]) == []


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
    assert dict(facts(RunView(tmp_path)))["devices"] == "8 x NVIDIA H200"


def test_examples_are_different_games_and_told_in_san(tmp_path: Path) -> None:
    made = MadeRun(tmp_path)
    made.record(searched())
    found = examples(RunView(tmp_path))
    assert len({one.game.number for one in found}) == len(found) >= 2
    text = found[0].movetext()
    assert text.startswith(f"1. {found[0].game.sans[0]} {found[0].game.sans[1]} 2. ")
    assert text.endswith(" 1/2-1/2")


def test_extreme_games_are_those_of_the_whole_run(tmp_path: Path) -> None:
    """Many games came after the shortest mate and the longest draw."""
    made = MadeRun(tmp_path)
    made.record(ended(6, Termination.CHECKMATE, 1, 0))
    made.record(numbered(played(), 100))
    for first in range(1000, 1000 + 2 * NUM_NEWEST, 8):
        made.record(ended(10, Termination.CHECKMATE, -1, first))
        made.record(ended(20, Termination.STALEMATE, 0, 5000 + first))
    found = {example.title: example.game for example in examples(RunView(tmp_path))}
    assert len(found["the shortest mate"].ucis) == 6
    assert found["the shortest mate"].number < 8
    assert len(found["the longest draw"].ucis) == 60
    assert any(title.endswith(f"of the newest {NUM_NEWEST} games") for title in found)


def ended(plies: int, termination: Termination, result: int, first: int) -> GameRecords:
    """Eight games of so many plies that count as ended in this way, numbered from ``first``."""
    return replace(
        numbered(so_far(played(), [plies] * 8), first),
        termination=np.full(8, termination, np.uint8),
        result=np.full(8, result, np.int8),
    )


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    assert write_report([made.path]) == made.path / "report.html"
    assert (made.path / "report.html").read_text().endswith("</html>\n")
    with pytest.raises(ConfigError, match="a run is named twice"):
        write_report([made.path, tmp_path / "." / "first"])
    with pytest.raises(ConfigError, match="there is no folder"):
        write_report([made.path], tmp_path / "nowhere" / "a.html")


def test_the_command(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    out = tmp_path / "a.html"
    done = inside("report", made.path, "--out", out, "--json")
    assert (done.returncode, done.stderr) == (0, f"written to {out}\n")
    assert json.loads(done.stdout)["file"] == str(out)
    assert out.read_text().startswith("<!doctype html>")
    refused = inside("report", tmp_path)
    assert refused.returncode == 2
    assert "is not a run" in refused.stderr


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_text_can_be_read_in_every_scheme() -> None:
    """WCAG 2.2, 1.4.3 (4.5 : 1 for text) and 1.4.11 (3 : 1 for lines)."""
    style = files("vecchess.report").joinpath("report.css").read_text()
    schemes = [dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in style.split(":root {")[1:]]
    assert len(schemes) == 3, "light, dark, print"
    for colours in schemes:
        for ground in ("page", "card"):
            for text in ("text", "quiet", "link", "good", "warm", "bad"):
                assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground, colours)
            for place in range(6):
                assert contrast(colours[f"s{place}"], colours[ground]) >= 3


def test_charts_are_drawn_whatever_they_hold() -> None:
    drawing = templates().get_template("charts.html").module
    one = Curve("one", [(1.0, 5.0)], [(4.0, 6.0)])
    flat = Curve("flat", [(0.0, -2.0), (5.0, -2.0)])
    for curves in ([one], [flat], [one, flat]):
        drawn = drawing.line_chart(Chart("elo", "Elo", "iterations", "", curves))
        Page(drawn)
        assert "nan" not in drawn
        assert "inf" not in drawn
    assert "one <b>5</b> at 1" in drawing.line_chart(
        Chart("elo", "Elo", "iterations", "", [one, flat])
    )
    assert drawing.bar_chart("lengths", [("0", 0), ("32", 3)], "plies").count("<rect") == 2
    assert (
        drawing.heat_map("map", [("a", [0.1, None]), ("b", [0.0, 0.2])], "update").count("<rect")
        == 3
    )


def test_odd_bytes_are_question_marks(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / os.fsdecode(b"fir\xffst"))
    made.status(state="stopped", why="\ud800", notes=[{"line": "\udfff"}])
    text = write_report([made.path], tmp_path / "report.html").read_text()
    assert "<h1>fir?st " in text
    assert "stopped by ?" in text
