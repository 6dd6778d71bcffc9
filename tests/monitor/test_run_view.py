"""A run as onlookers see it, while it goes on and after."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.export.made import played, searched
from tests.monitor.runs import (
    MadeRun,
    joined,
    load,
    numbered,
    selfplay_run,
    state_of,
)
from vecchess.errors import ConfigError
from vecchess.monitor import changing_file
from vecchess.monitor.charts import charts
from vecchess.monitor.run_view import RunView
from vecchess.store.stats import GameStats


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is not a run: it has no config\.toml"):
        RunView(tmp_path)


def test_a_run_is_seen_and_not_touched(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    before = state_of(made.path)
    view = RunView(made.path)
    assert view.name == "first"
    assert view.config["net"] == "small"
    assert view.status.state == "playing"
    assert not view.status.is_over
    assert view.status.why == view.status.resume_command == ""
    assert view.stats == GameStats.of(joined(played(), searched().take(np.arange(4))))
    assert view.series.kinds == {"load": 12}
    assert [game.number for game in view.live_games()] == [100, 101, 102, 103]
    view.game(9)
    view.refresh()
    json.dumps(view.status.to_dict())
    assert state_of(made.path) == before


def test_refreshing_finds_what_is_new_and_reads_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = selfplay_run(tmp_path / "first")
    view = RunView(made.path)
    read: list[str] = []
    for name in ("open_regular", "read_bytes"):
        real = getattr(changing_file, name)
        monkeypatch.setattr(
            changing_file, name, lambda p, *n, real=real: read.append(p.name) or real(p, *n)
        )
    view.refresh()
    assert read == []
    made.measure("load", **load(plies_per_s=1.0))
    view.refresh()
    assert (view.series.last("load") or {})["plies_per_s"] == 1.0
    made.record(numbered(played(), 50))
    view.refresh()
    assert view.stats.games == 20
    assert view.game(57).number == 57
    made.status(games=121)
    view.refresh()
    assert view.status.games == 121
    assert set(read) == {"metrics.jsonl", "manifest.jsonl", "status.json"}
    read.clear()
    view.refresh()
    assert read == []


def test_networks_come_in_the_order_in_which_they_were_learnt(tmp_path: Path) -> None:
    made = MadeRun(tmp_path, "train")
    for samples in (1000, 0, 256):
        made.net(samples, samples)
    names = [net.stem.removeprefix(tmp_path.name) for net in RunView(tmp_path).networks()]
    assert names == ["-s0-d0", "-s256-d256", "-s1000-d1000"]


def test_the_rated_curve_is_read(tmp_path: Path) -> None:
    made = MadeRun(tmp_path, "train")
    view = RunView(tmp_path)
    assert view.elo() == []
    (tmp_path / "eval").mkdir()
    history = {"schema": 1, "curve": [{"player": "a", "elo": 12.0}, {"player": "b"}, 7]}
    (tmp_path / "eval" / "history.json").write_text(json.dumps(history))
    view.refresh()
    assert view.elo() == [{"player": "a", "elo": 12.0}]
    (made.path / "eval" / "history.json").write_text("{")
    view.refresh()
    assert view.elo() == []


def test_charts_leave_out_the_time_between_generations(tmp_path: Path) -> None:
    made = MadeRun(tmp_path, "train")
    for generation in range(2):
        for _ in range(4):
            made.measure("load", generation, **load(gpu_util=[0.5, 0.7]))
        made._clock += 600
    found = {chart.key: chart for chart in charts(RunView(tmp_path))}
    minutes = [x for x, _ in found["speed"].curves[0].points]
    assert [round(60 * x) for x in minutes] == [0, 5, 10, 15, 30, 35, 40, 45]
    busy = {curve.name: curve.points for curve in found["busy"].curves}
    assert busy["GPU"][0][1] == pytest.approx(0.6)
    assert set(found) == {"speed", "games", "busy", "fill", "steps", "queue", "memory"}


@pytest.mark.parametrize("host_busy", [0.0, 0.3])
def test_the_loop_beside_a_gpu_is_drawn_where_there_is_one(
    host_busy: float, tmp_path: Path
) -> None:
    made = MadeRun(tmp_path)
    for _ in range(3):
        made.measure("load", **load(host_busy=host_busy))
    found = {chart.key: chart for chart in charts(RunView(tmp_path))}
    names = [curve.name for curve in found["busy"].curves]
    assert names == ["network", *(["loop"] if host_busy else []), "movers"]
