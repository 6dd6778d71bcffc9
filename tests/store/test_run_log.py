"""The log of a run: what is written stays, and writing it never stops a run."""

import json
import os
from pathlib import Path

import pytest

from vecchess.errors import DataError, DiskFull
from vecchess.store import run_log
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_log import MOST_WAITING, RunLog, read_log
from vecchess.store.status_file import StatusWriter

pytestmark = pytest.mark.plain


def events(folder: Path) -> list[str]:
    return [values["event"] for values in read_log(folder)]


def test_events_are_kept_in_order_with_their_facts(tmp_path: Path) -> None:
    RunLog(tmp_path).write("start", pid=3)
    RunLog(tmp_path).write("worker died", reason="killed by SIGKILL", stderr=["a", "b"])
    first, second = read_log(tmp_path)
    assert (first["schema"], first["event"], first["pid"]) == (1, "start", 3)
    assert (second["reason"], second["stderr"]) == ("killed by SIGKILL", ["a", "b"])
    assert second["time_unix"] >= first["time_unix"]


def test_a_line_that_a_killed_run_left_torn_is_cut(tmp_path: Path) -> None:
    RunLog(tmp_path).write("start")
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"schema": 1, "eve')
    assert events(tmp_path) == ["start"]
    RunLog(tmp_path).write("resume")
    assert events(tmp_path) == ["start", "resume"]


def test_damaged_lines_are_left_out(tmp_path: Path) -> None:
    RunLog(tmp_path).write("start")
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('[]\n{"event": 3, "time_unix": 0.5}\n{"event": "x"}\nnot JSON\n')
    RunLog(tmp_path).write("end")
    assert events(tmp_path) == ["start", "end"]


def test_what_a_full_disk_refuses_is_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, append = RunLog(tmp_path), run_log.append_line

    def refuse(*_: object, **__: object) -> int:
        raise DiskFull("no room")

    monkeypatch.setattr(run_log, "append_line", refuse)
    for number in range(MOST_WAITING + 3):
        log.write(str(number))
    assert events(tmp_path) == []
    monkeypatch.setattr(run_log, "append_line", append)
    log.flush()
    assert events(tmp_path) == [str(number) for number in range(3, MOST_WAITING + 3)]


def test_no_folder_and_a_folder_in_its_place_stop_nothing(tmp_path: Path) -> None:
    RunLog(tmp_path / "none").write("start")
    (tmp_path / "log.jsonl").mkdir()
    RunLog(tmp_path).write("start")
    with pytest.raises(DataError, match=r"log\.jsonl"):
        events(tmp_path)


def test_it_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_log, "MOST_BYTES", 1000)
    log = RunLog(tmp_path)
    for number in range(200):
        log.write(str(number), text="x" * 50)
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sizes.keys() == {"log.jsonl", "log.1.jsonl"}
    assert max(sizes.values()) < 1200
    kept = [int(name) for name in events(tmp_path)]
    assert kept == list(range(kept[0], 200))
    assert len(kept) >= 6


def test_of_a_long_text_the_end_is_kept(tmp_path: Path) -> None:
    RunLog(tmp_path).write("worker died", traceback="first" + "x" * 5000 + "last")
    (values,) = read_log(tmp_path)
    assert values["traceback"].startswith("...x")
    assert values["traceback"].endswith("xlast")
    assert len(values["traceback"]) == run_log.MOST_TEXT + 3


def test_a_status_logs_the_beginning_notes_and_the_end(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    run.create()
    summary = {"stopped_by": "SIGTERM"}
    for _ in range(2):
        with StatusWriter(run, "selfplay") as status:
            run.write_config("games = 3\n")
            status.add_note("a line")
            status.finish(summary)
    assert events(run.path) == ["start", "note", "end", "resume", "note", "end"]
    first, note, end = list(read_log(run.path))[:3]
    assert (first["kind"], first["pid"], note["line"]) == ("selfplay", os.getpid(), "a line")
    assert (end["state"], end["why"]) == ("stopped", "SIGTERM")


def test_an_error_that_ends_a_run_is_logged(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    run.create()
    with pytest.raises(DataError), StatusWriter(run, "train"):
        raise DataError("the disk is broken")
    *_, end = read_log(run.path)
    assert (end["event"], end["state"], end["why"]) == ("end", "failed", "the disk is broken")


def test_changed_settings_are_named(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    run.create()
    assert run.write_config('games = 3\n[game]\nmax_plies = 7\n[tree]\nsearch = "none"\n') == {}
    changes = run.write_config("games = 4\nseed = 1\n[game]\nmax_plies = 7\n")
    assert changes == {"games": [3, 4], "seed": [None, 1], "tree.search": ["none", None]}
    assert json.dumps(changes)
    assert run.config.read_text() == "games = 4\nseed = 1\n[game]\nmax_plies = 7\n"
    run.config.write_text("games = = 3")
    assert run.write_config("games = 3\n") == {}
