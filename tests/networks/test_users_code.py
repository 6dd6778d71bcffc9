"""Code of a user's module that raises, exits or prints: one line, exit code 2, whatever it is."""

import json
from pathlib import Path

import pytest

from tests.networks.failing_modules import PLACES
from tests.system.commands import inside, vecchess

NET = "module:tests.networks.failing_modules:make"
GAMES = ["--games", 2, "--max-plies", 61, "--gpus", "cpu"]
HOW = {
    "value": "ValueError: no luck (",
    "assert": """AssertionError: in 'assert how == "none"' (""",
    "exit": "SystemExit: 3 (",
    "os_exit": "SystemExit: os._exit(3) (",
    "interrupt": "KeyboardInterrupt: in 'raise KeyboardInterrupt' (",
    "base": "Odd: no luck (",
}


def the_error(*arguments: object) -> str:
    """The last line on stderr of a command that ends with exit code 2 and no result."""
    done = inside(*arguments)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("place", [place for place in PLACES if place not in ("later", "deepcopy")])
def test_an_error_anywhere_is_one_line_with_its_place(place: str) -> None:
    line = the_error("net", "check", f"{NET}?at={place}", "--json")
    assert line.startswith(f"vecchess: error: {NET}?at={place}: ")
    assert "ValueError: no luck (tests/networks/failing_modules.py:" in line


@pytest.mark.parametrize("how", HOW)
def test_whatever_it_raises_has_a_line(how: str) -> None:
    for place in ("make", "forward"):
        line = the_error("net", "check", f"{NET}?at={place}&how={how}")
        assert f"fails: {HOW[how]}tests/networks/failing_modules.py:" in line


@pytest.mark.parametrize(
    "command",
    [
        ["bench", "inference", "--slots", 16, "--positions", 256, "--gpus", "cpu", "--net"],
        ["match", "random", *GAMES, "--json", "net"],
        ["analyse", "--sims", 64, "--gpus", "cpu", "--net"],
        ["net", "info"],
    ],
    ids=lambda command: command[0],
)
def test_commands_say_it_in_their_line(command: list[object]) -> None:
    *words, last = command
    net = f"{NET}?at={'make' if last == 'info' else 'later'}"
    where = [f"net:{net}"] if last == "net" else [last, net]
    assert "no luck" in the_error(*words, *where)


@pytest.mark.slow
def test_workers_of_selfplay_say_it(tmp_path: Path) -> None:
    for how in ("value", "exit", "os_exit"):
        run = ["--run-dir", tmp_path / how, "--json"]
        done = vecchess("selfplay", "--net", f"{NET}?at=later&how={how}", *GAMES, *run)
        assert (done.returncode, done.stdout) == (2, "")
        assert HOW[how] in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_what_it_prints_or_writes_breaks_no_result(tmp_path: Path) -> None:
    net = f"{NET}?at=forward&how=writes"
    done = vecchess("selfplay", "--net", net, *GAMES, "--run-dir", tmp_path / "run", "--json")
    assert json.loads(done.stdout)["games"] == 2
    done = vecchess("net", "check", net, "--json")
    assert json.loads(done.stdout)["same_in_any_slot"]
    assert "something printed" in done.stderr
    assert "something written" in done.stderr


def test_a_variable_shows_the_whole_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    done = inside("net", "check", f"{NET}?at=make", env={"VECCHESS_TRACEBACK": "1"})
    assert done.returncode == 2
    assert done.stderr.count("Traceback (most recent call last)") == 1
    assert "in fail\n" in done.stderr
