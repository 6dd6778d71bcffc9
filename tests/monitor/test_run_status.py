"""Where a run stands, in words: whether it lives, how it ended, what holds it up."""

import subprocess
import time
from pathlib import Path

import pytest

from tests.monitor.runs import MadeRun, load, match, selfplay_run, training_run, worker
from vecchess.monitor.bottleneck import LABELS
from vecchess.monitor.run_status import RunStatus
from vecchess.monitor.run_view import RunView


@pytest.mark.parametrize(
    ("changes", "state", "why"),
    [
        ({"state": "done"}, "done", "all done in 0:01:35"),
        ({"state": "stopped", "why": "SIGINT"}, "stopped", "stopped with Ctrl-C"),
        ({"state": "failed", "why": "no room"}, "failed", "failed: no room"),
    ],
)
def test_a_run_that_ended_says_how(
    changes: dict[str, str], state: str, why: str, tmp_path: Path
) -> None:
    made = selfplay_run(tmp_path / "the run")
    made.status(**changes)
    view = RunView(made.path)
    assert view.status.state == state
    assert view.status.is_over
    assert view.status.why == why
    assert view.status.workers == []
    assert view.live_games() == [], "nothing is being played any more"
    resume_command = f"vecchess selfplay --run-dir '{made.path}' --resume"
    assert view.status.resume_command == ("" if state == "done" else resume_command)


def test_games_of_a_self_play_that_is_over_are_those_recorded(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path)
    assert RunView(tmp_path).status.games == 120, "as it is played: recording comes later"
    made.status(state="stopped", why="SIGINT", games=661)
    view = RunView(tmp_path)
    assert view.status.games == view.stats.games == view.status.stats.games == 12


def test_a_run_that_was_killed_is_gone_once_it_is_silent(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path)
    made.killed(0.0)
    view = RunView(tmp_path)
    assert view.status.state == "playing", "it may be at work on something long"
    made.killed(18_000.0)
    view.refresh()
    assert view.status.state == "playing", "we saw it change just now, whatever its clock says"
    status = RunView(tmp_path).status
    assert (status.state, status.is_over) == ("gone", True)
    assert status.why == "killed, or its machine went down; last update 5 h ago"
    assert status.resume_command.endswith("--resume")


class Clock:
    """A reader's own clock, moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("vecchess.monitor.status_reader.time.monotonic", lambda: self.now)


def test_silence_is_no_death_while_the_process_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, made = Clock(monkeypatch), selfplay_run(tmp_path)
    view = RunView(tmp_path)
    clock.now += 100.0
    view.refresh()
    assert view.status.state == "playing"
    made.status(updated_unix=time.time() - 100, pid=2**22 + 1)
    assert RunView(tmp_path).status.state == "gone"


def test_a_process_that_began_later_is_another_one(tmp_path: Path) -> None:
    """The number of a run that was killed may be in use again: of a container, it mostly is."""
    made = selfplay_run(tmp_path)
    with subprocess.Popen(["sleep", "60"]) as other:
        made.status(updated_unix=time.time() - 100, pid=other.pid)
        state = RunView(tmp_path).status.state
        other.kill()
    assert state == "gone"


@pytest.mark.parametrize("ahead_s", [-10.0, -200.0, 10.0, 200.0])
def test_clocks_that_differ_do_not_make_a_live_run_gone(
    ahead_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor a dead one alive: it is, once it has been watched without a change."""
    clock, made = Clock(monkeypatch), selfplay_run(tmp_path)
    made.status(host="elsewhere", updated_unix=time.time() + ahead_s)
    view = RunView(tmp_path)
    assert view.status.state == "playing", "at the first look"
    for second in range(1, 30):
        clock.now += 1.0
        made.status(host="elsewhere", updated_unix=time.time() + ahead_s + second)
        view.refresh()
        assert view.status.state == "playing"
        assert view.status.age_s == 0.0
    clock.now += 9.0
    view.refresh()
    assert view.status.state == "playing"
    clock.now += 2.0
    view.refresh()
    assert (view.status.state, view.status.age_s) == ("gone", 11.0)


@pytest.mark.parametrize("ahead_s", [-9.0, 3600.0])
def test_a_run_that_was_killed_elsewhere_is_gone_once_it_was_watched(
    ahead_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, made = Clock(monkeypatch), selfplay_run(tmp_path)
    made.killed(-ahead_s, host="elsewhere")
    view = RunView(tmp_path)
    assert view.status.state == ("playing" if ahead_s < 0 else "gone")
    clock.now += 11.0
    view.refresh()
    assert view.status.state == "gone"


def test_a_change_that_was_not_watched_is_judged_by_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dashboard reads only while its pages are looked at."""
    clock, made = Clock(monkeypatch), selfplay_run(tmp_path)
    view = RunView(tmp_path)
    clock.now += 7200.0
    made.killed(3600.0)
    view.refresh()
    assert view.status.state == "gone"


@pytest.mark.parametrize(
    ("given", "gpu", "code", "advice"),
    [
        ({}, False, "cpu-bound", "or a GPU"),
        ({}, True, "gpu-bound", "As it should be"),
        ({"verdict": "mover-bound", "mover_busy": 0.99}, True, "cpu-bound", "The GPU waits"),
        ({"verdict": "mover-bound", "mover_busy": 0.99}, False, "cpu-bound", "longer than the"),
        ({"verdict": "host-bound", "host_busy": 0.98}, True, "cpu-bound", "the loop that feeds it"),
        ({"verdict": "starved", "device_busy": 0.2}, False, "starved", "more --concurrent-games"),
        ({"verdict": "starved", "batch_fill": 0.6}, True, "starved", "more --concurrent-games"),
        ({"verdict": "starved", "batch_fill": 0.4}, True, "starved", "too few are left"),
        ({"verdict": "starved", "batch_fill": 0.2}, False, "starved", "too few are left"),
    ],
)  # fmt: skip
def test_bottlenecks_with_their_advice(
    given: dict[str, object], gpu: bool, code: str, advice: str, tmp_path: Path
) -> None:
    made = MadeRun(tmp_path)
    left = 10 if "left" in advice or given.get("batch_fill") == 0.6 else 4000
    made.status(load=load(**given), workers=[worker(0, gpu=gpu)], games=4096 - left)
    found = RunView(tmp_path).status.bottleneck
    assert found.code == code
    assert found.label == LABELS[code]
    assert advice in found.advice
    stages = {"mover_busy": "movers", "host_busy": "loop"}
    assert found.slowest == next((stages[key] for key in stages if key in given), "network")


def test_players_on_processors_need_no_gpu(tmp_path: Path) -> None:
    made = MadeRun(tmp_path)
    for device, code in (("host_ab12: cpu, cpu", "cpu-bound"), ("cpu_1: cuda:0", "gpu-bound")):
        made.status(load=load(), workers=[worker(0) | {"device": device}], games=96)
        assert RunView(tmp_path).status.bottleneck.code == code


def test_workers_that_have_not_begun_are_not_called_starved(tmp_path: Path) -> None:
    made = MadeRun(tmp_path)
    idle = {"plies_per_s": 0.0, "evals_per_s": 0.0, "device_busy": 0.0, "verdict": "starved"}
    made.status(load=load(**idle))
    assert RunView(tmp_path).status.bottleneck.label == ""


def test_progress_is_of_the_stage(tmp_path: Path) -> None:
    made = training_run(tmp_path, 1, 1)
    view = RunView(tmp_path)
    assert view.status.progress == pytest.approx(0.4)
    assert view.status.bottleneck.slowest == "learning"
    last = view.series.last("eval") or {}
    assert last == last | match("greedy", 0.5)
    made.status(games=96, target=192)
    view.refresh()
    assert view.status.progress == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("games", "target", "progress"), [(5, 20, 0.25), (5000, 0, None), (0, 0, None)]
)
def test_games_of_a_run_with_and_without_an_end(
    games: int, target: int, progress: float | None
) -> None:
    assert RunStatus(state="playing", games=games, target=target).progress == progress
