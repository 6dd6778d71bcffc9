"""What pages ask for: runs, series, games, files; and that nothing else can be had."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.dash.site import HOST, make_site, small_run
from tests.monitor.runs import selfplay_run, training_run
from vecchess.config import TrainConfig, to_toml
from vecchess.dash.views import run_reader
from vecchess.dash.web.assets import PageFiles
from vecchess.errors import ConfigError


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("site")
    selfplay_run(folder / "runs" / "first")
    training_run(folder / "runs" / "a training, 2")
    with TestClient(make_site(folder, folder / "runs"), base_url=HOST) as client:
        yield client


def test_runs_have_names_that_are_safe_in_addresses(site: TestClient) -> None:
    runs = site.get("/api/runs").json()
    assert {run["id"]: run["name"] for run in runs} == {
        "first": "first",
        "a-training-2": "a training, 2",
    }
    by_name = {run["id"]: run for run in runs}
    assert by_name["first"]["recorded"] == 12
    assert by_name["first"]["state"] == "playing"
    assert by_name["first"]["bottleneck"]["label"] == "Limited by the CPU"
    assert by_name["a-training-2"]["eval"]["opponent"] == "greedy"


def test_one_run_in_full(site: TestClient) -> None:
    run = site.get("/api/runs/a-training-2").json()
    assert run["status"]["kind"] == "train"
    assert "age_s" not in run["status"], "it changes though nothing happens"
    assert run["kinds"]["learn"] == 60
    assert run["networks"] == 3
    assert run["rating_command"].startswith("vecchess eval --history ")
    assert run["newest_network"].endswith(".safetensors")
    first = site.get("/api/runs/first").json()
    assert (first["networks"], first["rating_command"]) == (0, "")
    assert site.get("/api/runs/first/config").json()["games"] == 4096
    assert site.get("/api/runs/first/elo").json() == []


def test_series_are_sampled_and_come_by_column(site: TestClient) -> None:
    whole = site.get("/api/runs/a-training-2/series/learn").json()
    some = site.get("/api/runs/a-training-2/series/learn?most=7").json()
    assert whole["count"] == some["count"] == 60
    assert len(whole["columns"]["loss"]) == 60
    assert 2 <= len(some["columns"]["loss"]) <= 7
    for ends in (0, -1):
        assert some["columns"]["loss"][ends] == whole["columns"]["loss"][ends]
    assert whole["columns"]["spikes"][0].keys() == {
        "block0.first", "block0.second", "block1.first", "block1.second", "heads",
    }  # fmt: skip
    assert site.get("/api/runs/first/series/nothing").json()["columns"] == {}
    assert len(site.get("/api/runs/first/series/load?most=x").json()["columns"]) > 3


def test_a_game_comes_with_the_board_after_each_ply(site: TestClient) -> None:
    game = site.get("/api/runs/first/games/3").json()
    assert len(game["fens"]) == len(game["ucis"]) + 1 == len(game["sans"]) + 1
    assert game["fens"][0] == "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w"
    assert game["fen"].startswith(game["fens"][-1])
    live = site.get("/api/runs/first/games/103").json()
    assert live["is_live"]
    assert live["result"] == "*"
    assert len(live["ucis"]) == 30


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs/nope",
        "/api/runs/first/games/99999",
        "/api/runs/first/games/-1",
        "/api/runs/..%2f..%2fetc/config",
        "/api/runs/../../etc/passwd",
        "/api/nothing",
        "/static/nothing.js",
        "/static/.built_from",
        "/static/..%2f__init__.py",
        "/static/%2e%2e/%2e%2e/run.py",
        "//etc/passwd",
    ],
)
def test_what_is_not_there_is_a_line(site: TestClient, path: str) -> None:
    answer = site.get(path)
    assert answer.status_code == 404
    assert "root:" not in answer.text
    assert isinstance(answer.json()["error"], str)


def test_numbers_that_are_none_are_no_fault_of_the_server(site: TestClient) -> None:
    for digits in ("9" * 16, "9" * 5000, "\u00b2", "1.5", "-3", "0x1"):
        assert site.get(f"/api/runs/first/games/{digits}").status_code == 404
        found = site.get("/api/runs/first/series/load", params={"most": digits})
        assert found.json() == site.get("/api/runs/first/series/load").json()


def test_odd_bytes_in_one_run_do_not_hide_the_others(tmp_path: Path) -> None:
    small_run(tmp_path / "runs" / "second")
    made = small_run(tmp_path / "runs" / os.fsdecode(b"fir\xffst"))
    made.status(net="\ud800", state="stopped", why="\udfff", notes=[{"line": "\ud800"}])
    made.measure("eval", opponent="\ud800", score=0.5)
    (made.path / "nets").mkdir(exist_ok=True)
    (made.path / "nets" / os.fsdecode(b"\xff.safetensors")).touch()
    with TestClient(make_site(tmp_path, tmp_path / "runs"), base_url=HOST) as client:
        runs = client.get("/api/runs").json()
        assert {run["name"] for run in runs} == {"fir?st", "second"}
        assert client.get("/api/runs/fir-st").json()["newest_network"] == "?.safetensors"
        assert client.get("/api/play/").status_code == 200


@pytest.mark.parametrize(
    "query", ["", "t=", "t=nothing", "t=boards/first/17", "t=run/../x", "&".join(["t=runs"] * 9)]
)
def test_topics_that_are_none_are_refused(site: TestClient, query: str) -> None:
    assert site.get(f"/api/events?{query}").status_code == 400


def test_large_answers_are_packed_and_files_are_kept(site: TestClient) -> None:
    series = site.get("/api/runs/a-training-2/series/learn")
    assert series.headers["content-encoding"] == "gzip"
    assert series.headers["cache-control"] == "no-store"
    script = site.get("/static/main-ABCD.js")
    assert "immutable" in script.headers["cache-control"]
    index = site.get("/")
    assert index.headers["cache-control"] == "no-cache"
    again = site.get("/", headers={"if-none-match": index.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for path in ("/", "/api/runs", "/api/events?t=runs"):
        assert site.head(path).status_code == 200


def test_runs_come_and_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_reader, "FRESH_S", 0.0)
    (tmp_path / "a").mkdir()
    with TestClient(make_site(tmp_path, tmp_path / "a", tmp_path / "b"), base_url=HOST) as client:
        assert client.get("/api/runs").json() == []
        small_run(tmp_path / "a" / "one")
        small_run(tmp_path / "b" / "one")
        assert [run["id"] for run in client.get("/api/runs").json()] == ["one-2", "one"]
        shutil.rmtree(tmp_path / "a" / "one")
        assert [run["id"] for run in client.get("/api/runs").json()] == ["one-2"]
        small_run(tmp_path / "b" / "one", lines=3)
        assert client.get("/api/runs/one-2").json()["kinds"] == {"load": 3}


def test_weights_of_a_module_are_not_offered(tmp_path: Path) -> None:
    """They are no network without its code, which is not run here."""
    for name, net in (("own", "tiny"), ("theirs", "module:their.nets:make?channels=8")):
        made = training_run(tmp_path / name)
        made.run.config.write_text(to_toml(TrainConfig(seed=7, net=net)))
    places = tmp_path / "own", tmp_path / "theirs"
    with TestClient(make_site(tmp_path, *places), base_url=HOST) as client:
        own, theirs = (client.get(f"/api/runs/{place.name}").json() for place in places)
        assert own["networks"] == theirs["networks"] == 3
        assert own["rating_command"] == f"vecchess eval --history {tmp_path / 'own'}"
        assert theirs["rating_command"] == ""
        offered = client.get("/api/play/").json()["networks"]
        assert {name.split("/")[0] for name in offered if "/" in name} == {"own"}


def test_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    places = [small_run(tmp_path / name).path for name in ("a/a run", "b/a run", "c/a-run")]
    with TestClient(make_site(tmp_path, *places), base_url=HOST) as client:
        names = {run["id"]: run["name"] for run in client.get("/api/runs").json()}
        assert names == {"a-run": "a run", "a-run-2": "a-run-2", "a-run-3": "a-run"}
        for run, name in names.items():
            assert client.get(f"/api/runs/{run}").json()["name"] == name


def test_a_run_that_is_watched_twice_is_shown_once(tmp_path: Path) -> None:
    run = small_run(tmp_path / "runs" / "one").path
    both = run_reader.RunRegistry([run, tmp_path / "runs", run / "." / ""])
    assert list(both.views()) == ["one"]


def test_pages_that_were_not_built_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="make pages"):
        PageFiles(tmp_path)


def test_a_fresh_run_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = small_run(tmp_path / "one")
    shown = run_reader.RunRegistry([made.path])
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    assert shown.view("one").status.games == 120
    made.status(games=121)
    assert shown.view("one").status.games == 120
    monkeypatch.setattr(time, "monotonic", lambda: 1001.0)
    assert shown.view("one").status.games == 121
