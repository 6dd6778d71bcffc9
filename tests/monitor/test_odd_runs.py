"""Runs with files that are damaged, odd, of earlier versions, or gone."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.export.made import played
from tests.monitor.runs import MadeRun, numbered, selfplay_run, so_far
from vecchess.errors import DataError
from vecchess.monitor.run_view import RunView
from vecchess.store.shard import read_shard


@pytest.mark.timeout(60)
def test_pipes_among_the_files_are_left_alone(tmp_path: Path) -> None:
    """To open one that nobody writes to would last for ever."""
    made = selfplay_run(tmp_path / "first")
    shard = next((made.path / "games").glob("*.npz"))
    names = ("status.json", "metrics.jsonl", "games/manifest.jsonl", "live/000.npz")
    (made.path / "eval").mkdir()
    for file in (shard, made.path / "eval" / "history.json", *map(made.path.joinpath, names)):
        file.unlink(missing_ok=True)
        os.mkfifo(file)
    view = RunView(made.path)
    assert (view.status.state, view.stats.games, view.series.kinds) == ("unknown", 0, {})
    assert view.live_games() == view.elo() == []
    with pytest.raises(DataError, match="no regular file"):
        read_shard(shard)


def test_a_run_without_a_status_is_over_once_its_folder_rests(tmp_path: Path) -> None:
    made = MadeRun(tmp_path)
    made.record(played())
    view = RunView(tmp_path)
    assert (view.status.state, view.status.is_over) == ("unknown", False)
    for file in [tmp_path, *tmp_path.rglob("*")]:
        os.utime(file, (1e9, 1e9))
    view.refresh()
    assert view.status.is_over, "a minute without a change: it ended, or was killed"


STATUS_FILES = [
    b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"schema": 2, "state": "playing"}',
    b'{"schema": 1}', b'{"schema": 1, "state": 5, "workers": 7, "load": [], "stats": "x"}',
    b'{"schema": 1, "state": "playing", "games": "many", "pid": "x", "notes": [1, {}],'
    b' "workers": [3, {"index": 0}], "stats": {"games": "x", "lengths": 4}, "eta_s": null,'
    b' "updated_unix": null, "load": {"verdict": 7, "plies_per_s": "x"}}',
    b'{"schema": 1, "state": "playing", "pid": 1e300, "updated_unix": 1e300}',
]  # fmt: skip


@pytest.mark.parametrize("data", STATUS_FILES)
def test_any_status_can_be_looked_at(data: bytes, tmp_path: Path) -> None:
    made = selfplay_run(tmp_path)
    view = RunView(tmp_path)
    (tmp_path / "status.json").write_bytes(data)
    view.refresh()
    json.dumps(view.status.to_dict())
    assert view.stats.games == 12
    made.status()
    view.refresh()
    assert view.status.state == "playing"


def test_what_is_damaged_is_left_out(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path)
    view = RunView(tmp_path)
    live = made.show(1, numbered(so_far(played(), [9]), 300))
    live.write_bytes(live.read_bytes()[:200])
    assert {game.worker for game in view.live_games()} == {0}
    bad = so_far(played(), [3, 3])
    bad.action[0] = 0  # a1a2, where a pawn stands
    made.show(1, numbered(bad, 300))
    assert [game.number for game in view.live_games() if game.worker == 1] == [301]
    with (tmp_path / "games" / "manifest.jsonl").open("ab") as file:
        file.write(b'garbage\n{"schema": 2, "fi')
    view.refresh()
    assert view.stats.games == 12
    (tmp_path / "games" / "w0.npz").write_bytes(b"PK")
    with pytest.raises(DataError):
        RunView(tmp_path).game(0)
    assert RunView(tmp_path).game(9).number == 9
    (tmp_path / "config.toml").write_text("seed = ")
    view.refresh()
    assert view.config == {}


def test_a_run_that_vanishes_is_said_to(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    view = RunView(made.path)
    shutil.rmtree(made.path)
    view.refresh()
    assert view.status.state == "unknown"
    assert view.status.is_over
    assert view.status.why.startswith(f"{made.path} is gone")
    assert view.stats.games == 0
    assert view.series.kinds == {}
    assert view.live_games() == []
    assert view.networks() == []
