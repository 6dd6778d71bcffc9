"""What a run's folder says of where the run stands."""

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from vecchess.errors import ConfigError, DataError
from vecchess.store import status_file as statuses
from vecchess.store.run_folder import RunFolder
from vecchess.store.status_file import NUM_NOTES, StatusWriter

pytestmark = pytest.mark.plain

SUMMARY = {"games": 3, "stopped_by": "", "exit_code": 0}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.setattr(statuses, "INTERVAL_S", 0.01)
    run = RunFolder(tmp_path / "run")
    run.create()
    return run


def told(run: RunFolder) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((run.path / "status.json").read_text())
    return facts


def wait_for(run: RunFolder, key: str, value: Any) -> dict[str, Any]:
    deadline = time.monotonic() + 20
    while not (run.path / "status.json").exists() or told(run)[key] != value:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return told(run)


def test_it_is_written_while_the_run_goes_on(run: RunFolder) -> None:
    with StatusWriter(run, "selfplay") as status:
        first = wait_for(run, "state", "starting")
        assert (first["pid"], first["kind"], first["why"]) == (os.getpid(), "selfplay", "")
        assert first["schema"] == 1  # docs/formats.md
        status.update(state="playing", games=2, load={"plies_per_s": 3.0})
        later = wait_for(run, "games", 2)
        assert later["state"] == "playing"
        assert later["updated_unix"] >= first["updated_unix"]
        status.finish(SUMMARY)
    last = told(run)
    assert (last["state"], last["why"], last["summary"]) == ("done", "", SUMMARY)
    assert (last["load"], last["games"]) == ({}, 2)


def test_the_cost_is_written_until_the_end(run: RunFolder) -> None:
    spent = iter(range(10**6))
    with StatusWriter(run, "train", lambda: {"core_s": next(spent)}) as status:
        early = wait_for(run, "state", "starting")["cost"]["core_s"]
        status.finish(SUMMARY)
    assert told(run)["cost"]["core_s"] > early


def test_nothing_is_known_at_first(run: RunFolder) -> None:
    with StatusWriter(run, "train") as status:
        first = wait_for(run, "state", "starting")
        status.finish(SUMMARY)
    for name in ("started_unix", "updated_unix", "pid", "host", "memory_bytes", "disk_free_bytes"):
        assert first.pop(name)
    assert first == {
        "schema": 1, "kind": "train", "state": "starting", "why": "", "net": "", "iteration": 0,
        "iterations": 0, "games": 0, "target": 0, "positions": 0, "positions_target": 0,
        "eta_s": None, "load": {}, "workers": [], "learning": {}, "stats": {}, "restarts": 0,
        "blocks_checked": 0, "unwritten_games": 0, "cost": None, "notes": [],
    }  # fmt: skip


def test_what_was_finished_stays_so(run: RunFolder) -> None:
    def fail() -> None:
        with StatusWriter(run, "selfplay") as status:
            status.finish(SUMMARY)
            raise ValueError("too late")

    with pytest.raises(ValueError, match="too late"):
        fail()
    assert (told(run)["state"], told(run)["why"]) == ("done", "")
    with StatusWriter(run, "selfplay"):
        pass  # neither finished nor failed
    assert told(run)["state"] in ("starting", "done")


def test_a_pulse_is_seen_though_nothing_is_told(run: RunFolder) -> None:
    with StatusWriter(run, "train") as status:
        first = wait_for(run, "state", "starting")["updated_unix"]
        deadline = time.monotonic() + 20
        while told(run)["updated_unix"] == first:
            assert time.monotonic() < deadline
        status.finish(SUMMARY)


def test_a_signal_is_named(run: RunFolder) -> None:
    with StatusWriter(run, "selfplay") as status:
        status.finish(SUMMARY | {"stopped_by": "SIGTERM"})
    assert (told(run)["state"], told(run)["why"]) == ("stopped", "SIGTERM")


@pytest.mark.parametrize(
    ("error", "state", "why"),
    [
        (DataError("the disk\nis full"), "failed", "the disk is full"),
        (ValueError("odd"), "failed", "ValueError: odd"),
        (KeyboardInterrupt(), "stopped", "KeyboardInterrupt:"),
    ],
)
def test_why_it_failed(run: RunFolder, error: BaseException, state: str, why: str) -> None:
    def fail() -> None:
        with StatusWriter(run, "selfplay") as status:
            status.update(games=7)
            raise error

    with pytest.raises(type(error)):
        fail()
    assert (told(run)["state"], told(run)["why"], told(run)["games"]) == (state, why, 7)


def test_a_run_that_is_refused_to_go_on_keeps_its_status(run: RunFolder) -> None:
    def refuse(**facts: Any) -> dict[str, Any]:
        with suppress(ConfigError), StatusWriter(run, "train") as status:
            status.update(**facts)
            raise ConfigError("9 iterations are done already")
        return told(run)

    assert refuse()["state"] == "failed", "a new run has none"
    with StatusWriter(run, "train") as status:
        status.finish(SUMMARY)
    done = told(run)
    assert refuse(iterations=3) == done
    assert refuse(state="playing")["state"] == "failed"


def test_the_newest_notes_are_kept(run: RunFolder) -> None:
    with StatusWriter(run, "selfplay") as status:
        for number in range(NUM_NOTES + 5):
            status.add_note(f"line {number}")
        status.finish(SUMMARY)
    lines = [note["line"] for note in told(run)["notes"]]
    assert lines == [f"line {number}" for number in range(5, NUM_NOTES + 5)]


def test_a_disk_that_refuses_is_minded_at_the_end_only(run: RunFolder) -> None:
    with StatusWriter(run, "selfplay") as status:
        wait_for(run, "state", "starting")
        run.path.rename(run.path.with_name("away"))
        status.update(games=1)
        time.sleep(0.05)
        with pytest.raises(DataError, match="cannot write"):
            status.finish(SUMMARY)


def test_what_a_killed_run_showed_is_taken_away(run: RunFolder) -> None:
    run.live.mkdir()
    (run.live / "000.npz").write_bytes(b"old")
    with StatusWriter(run, "selfplay") as status:
        assert list(run.live.iterdir()) == []
        status.finish(SUMMARY)
