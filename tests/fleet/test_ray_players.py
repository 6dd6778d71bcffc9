"""The program that keeps players on a cluster, as the learner sees it; others in its place."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.system.commands import inside
from vecchess import errors
from vecchess.config import ContributeConfig, SelfplayConfig, build
from vecchess.errors import ConfigError, WorkerDied
from vecchess.fleet import ray_players
from vecchess.fleet.ray_players import RayPlayers, check_ray
from vecchess.runtime.signals import StopSignals

SAYS = """
import os, sys
def say(kind, line=""):
    os.write(1, f'{{"kind": "{kind}", "line": "{line}"}}\\n'.encode())
"""
STAYS = SAYS + "say('ready'); os.read(0, 1)"


class Program:
    """Players whose driver is a program of the test's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self._monkeypatch, self._folder = monkeypatch, tmp_path
        monkeypatch.setattr(ray_players, "FIRST_PAUSE_S", 0.01)
        self.lines: list[str] = []
        self.stop = StopSignals()

    def players(self, source: str) -> RayPlayers:
        """Players by a driver that runs ``source``."""
        self._monkeypatch.setattr(ray_players, "DRIVER", [sys.executable, "-S", "-c", source])
        config = build(SelfplayConfig, {"gpus": "cpu", "ray_address": "127.0.0.1:6379"})
        return RayPlayers(str(self._folder), config, self.lines.append, self.stop)


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Program:
    return Program(monkeypatch, tmp_path)


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_lines_of_the_driver_are_passed_on_and_it_ends_with_its_stdin(program: Program) -> None:
    with program.players(STAYS.replace("os.read", "say('line', 'x'); os.read")) as players:
        wait_until(lambda: program.lines)
        process = players._process
        players.check()
    assert program.lines == ["x"]
    assert process is not None
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        (SAYS + "say('refused', 'no cluster')", ConfigError, "^no cluster$"),
        (SAYS + "say('ready'); say('failed', 'no node')", WorkerDied, "^no node$"),
        ("import sys; sys.exit(3)", ConfigError, r"the program .* ended \(exit code 3\)"),
        ("print('no message', flush=True); input()", ConfigError, "the program .* ended"),
        ("import os; os.kill(os.getpid(), 6)", ConfigError, r"ended \(killed by SIGABRT\)"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_an_error(
    program: Program, source: str, error: type[Exception], words: str
) -> None:
    with program.players(source) as players:
        wait_until(lambda: players._error)
        with pytest.raises(error, match=words):
            players.check()
    assert program.lines == []


def test_a_cluster_that_was_lost_is_asked_until_it_answers(
    program: Program, tmp_path: Path
) -> None:
    """First it is lost after it was there, then it is not there twice."""
    source = f"""
{SAYS}
with open({str(tmp_path / "starts")!r}, "a+") as file:
    file.write("x")
    file.seek(0)
    starts = len(file.read())
if starts in (1, 4):
    say("ready")
if starts == 4:
    os.read(0, 1)
say("lost" if starts == 1 else "refused", f"reason {{starts}}")
"""
    with program.players(source) as players:
        wait_until(lambda: len(program.lines) == 2)
        players.check()
    assert program.lines == [
        "the Ray cluster is lost, asking until it answers: reason 1",
        "the Ray cluster answers again",
    ]


def test_a_driver_that_hangs_is_killed_where_nothing_may_be_waited_for(program: Program) -> None:
    with program.players(SAYS + "say('ready'); import time; time.sleep(1000)") as players:
        wait_until(lambda: players._has_begun)
        process = players._process
        program.stop.must_exit_now = True
    assert process is not None
    assert process.returncode == -9


def test_without_ray_there_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"^ray is not installed: pip install 'vecchess\[ray\]'$"):
        check_ray("local")


@pytest.mark.parametrize("command", ["train", "selfplay"])
def test_a_command_without_its_cluster_touches_nothing(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(errors, "find_spec", lambda name: object())
    run = tmp_path / "run"
    done = inside(
        command, "--executor", "ray", "--ray-address", "127.0.0.1:1", "--run-dir", run,
        "--gpus", "cpu",
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "vecchess: error: no Ray cluster answers at 127.0.0.1:1 (Connection refused): is its head "
        "started?\n"
    )
    assert not run.exists()


def test_players_get_the_settings_of_the_devices(program: Program, tmp_path: Path) -> None:
    settings = {
        "gpus": "0-3",
        "threads": 3,
        "slots": 5,
        "tree": {"search": "puct", "syzygy": str(tmp_path)},
    }
    config = build(SelfplayConfig, settings)
    players = RayPlayers("s3://bucket/run", config, program.lines.append, program.stop)
    told = json.loads(json.dumps(players._arguments))
    found = build(ContributeConfig, told["settings"])
    assert (found.threads, found.slots, found.syzygy) == (3, 5, tmp_path)
    assert told["place"] == "s3://bucket/run"
