"""``vecchess watch --simple``: lines until the run is over."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.monitor.runs import MadeRun, load, match, selfplay_run, state_of, training_run
from tests.system.commands import inside
from vecchess.watch import plain_lines as module
from vecchess.watch.follow import RunFollower, newest_run
from vecchess.watch.plain_lines import watch_lines


def watched(
    monkeypatch: pytest.MonkeyPatch, follower: RunFollower, *events: Callable[[], Any]
) -> tuple[int, list[str]]:
    """The exit code and lines when ``events`` happen, one at each look."""
    said: list[str] = []
    waiting = list(events)
    monkeypatch.setattr(module.time, "sleep", lambda seconds: waiting.pop(0)())
    return watch_lines(follower, 0.0, said.append), said


def test_lines_tell_a_self_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = selfplay_run(tmp_path / "first")
    note = {"time_unix": 5.0, "line": "cpu#0 died"}
    slow = {"time_unix": 4.0, "line": "by a clock that is behind"}
    code, said = watched(
        monkeypatch,
        RunFollower(made.path),
        lambda: made.status(games=500, notes=[note], load=load(sims_per_s=16000.0)),
        lambda: made.status(state="done", games=4096, notes=[slow, note]),
    )
    assert code == 0
    assert said[0] == f"{made.path}: selfplay with tiny-s0-d0.safetensors"
    assert said[1].endswith(
        " 0:01:35  playing  120/4,096 games  9,418 plies/s  fill 97%  network 91%  movers 11%  "
        "2.66 steps  +0 =8 -0  ETA 0:00:32  [cpu#0 60 games  cpu#1 60 games]  Limited by the CPU"
    )
    assert said[2].endswith("  cpu#0 died")
    assert "500/4,096 games" in said[3]
    assert "16,000 sims/s" in said[3]
    assert said[4].endswith("  by a clock that is behind")
    assert said[5:] == [
        f"{made.path}: all done in 0:01:35",
        "12 games  White 0% draws 100% Black 0%  mean 60 plies",
    ]


def test_lines_tell_a_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = training_run(tmp_path / "gumbel", 1, 2)

    def play_match() -> None:
        made.measure("eval", 2, 60, **match("random", 0.75))
        made.status(state="evaluating", iteration=2, load={}, workers=[], eta_s=None)

    code, said = watched(
        monkeypatch,
        RunFollower(made.path),
        play_match,
        lambda: made.status(state="stopped", why="SIGTERM"),
    )
    assert code == 3
    assert "[1/6]  learning  120/300 updates  812 samples/s  loss 3.88  policy" in said[1]
    assert said[1].endswith("ETA 0:00:12")
    assert said[2] == "[2]  policy against random: 75.0% [67.0%, 83.0%]  +75 =0 -25"
    assert "[2/6]  evaluating" in said[3]
    assert said[4] == f"{made.path}: stopped by SIGTERM"
    assert said[-1] == f"resume with: vecchess train --run-dir {made.path} --resume"


def test_times_and_intervals_that_are_none_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Milliseconds, and what another program may have written."""
    made = selfplay_run(tmp_path)
    made.measure("eval", **match("random", 0.5) | {"score_interval": "no interval"})

    def play_match() -> None:
        made.measure("eval", **match("greedy", 0.5) | {"score_interval": [0.1, 0.2, 0.3]})
        made.status(state="done", notes=[{"time_unix": 1.79e12, "line": "x"}])

    _, said = watched(monkeypatch, RunFollower(made.path), play_match)
    assert said[2:4] == ["  x", "[0]  policy against greedy: 50.0%  +50 =0 -50"]


@pytest.mark.parametrize(
    ("state", "code"), [("done", 0), ("stopped", 3), ("failed", 3), ("gone", 3)]
)
def test_the_exit_code_tells_whether_it_was_done(
    state: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = selfplay_run(tmp_path)
    if state == "gone":
        made.killed()
    else:
        made.status(state=state, why="a reason")
    assert watched(monkeypatch, RunFollower(tmp_path))[0] == code


def test_the_newest_run_is_taken_and_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    assert newest_run(runs) is None

    def begin() -> None:
        made = selfplay_run(runs / "first")
        made.status(state="done")
        (runs / "no run").mkdir()

    code, said = watched(monkeypatch, RunFollower(None, runs), begin)
    assert code == 0
    assert said[0] == f"no run in {runs} yet: waiting for one"
    assert said[1].startswith(f"{runs / 'first'}: selfplay")
    second = MadeRun(runs / "second")
    os.utime(second.run.config, (4e9, 4e9))
    assert newest_run(runs) == runs / "second"


def test_a_run_that_goes_on_is_not_left_for_a_newer_one(tmp_path: Path) -> None:
    first = selfplay_run(tmp_path / "first")
    follower = RunFollower(None, tmp_path)
    os.utime(MadeRun(tmp_path / "second").run.config, (4e9, 4e9))
    names = []
    for state in ("playing", "done"):
        first.status(state=state)
        follower.refresh()
        assert follower.view is not None
        names.append(follower.view.name)
    assert names == ["first", "second"]


def test_the_command_prints_lines_where_there_is_no_terminal(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    before = state_of(made.path)
    before.pop("status.json")
    command = [sys.executable, "-m", "vecchess_cli.main", "watch", str(made.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        said = process.stdout.readline() + process.stdout.readline()
        made.status(state="failed", why="no room")
        said += process.stdout.read()
        assert process.wait(60) == 3
    assert b"120/4,096 games" in said
    assert b"failed: no room" in said
    assert b"\x1b" not in said
    after = state_of(made.path)
    after.pop("status.json")
    assert after == before


def test_what_stdout_cannot_say_is_a_question_mark(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / os.fsdecode(b"fir\xffst"))
    made.status(state="failed", why="\u2192 \ud800")
    command = [sys.executable, "-m", "vecchess_cli.main", "watch", str(made.path), "--simple"]
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=ascii_only, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (3, "")
    assert "fir?st: failed: ? ?" in done.stdout


def test_texts_of_a_run_cannot_change_the_terminal(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    note = {"time_unix": 5.0, "line": "\x1b[2Jcleared\x07"}
    made.status(state="failed", net="\x1b]0;title", why="\u202eturned\r", notes=[note])
    done = inside("watch", made.path, "--simple")
    said = done.stdout.splitlines()
    assert said[0] == f"{made.path}: selfplay with ?]0;title"
    assert said[1].endswith("  ?[2Jcleared?")
    assert said[2] == f"{made.path}: failed: ?turned?"
    assert done.stdout.replace("\n", "").isprintable()


def test_ctrl_c_ends_with_130(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    command = [sys.executable, "-m", "vecchess_cli.main", "watch", str(made.path), "--simple"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_what_is_no_run_is_refused_in_a_line(tmp_path: Path) -> None:
    done = inside("watch", tmp_path / "nowhere")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "is not a run: it has no config.toml" in done.stderr


def test_folders_that_are_closed_to_us_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may look anywhere, so the refusal is made up."""
    is_file = Path.is_file

    def refusing(path: Path) -> bool:
        if "closed" in path.parent.name:
            raise PermissionError(path)
        return is_file(path)

    for number in range(4):
        (tmp_path / f"closed{number}").mkdir()
    selfplay_run(tmp_path / "open")
    (tmp_path / "closed4").mkdir()
    monkeypatch.setattr(Path, "is_file", refusing)
    assert newest_run(tmp_path) == tmp_path / "open"
