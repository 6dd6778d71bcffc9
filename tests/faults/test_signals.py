"""Signals: to whole commands in each of their phases, and what is hard to hit from outside."""

import ctypes
import os
import pickle
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.faults.signals import torment
from tests.system.commands import start
from vecchess.runtime import signals as stop_signals
from vecchess.runtime.signals import OnSignal, Stopped, StopSignals
from vecchess_cli import root as commands
from vecchess_cli.main import run


@pytest.mark.thorough
def test_a_conversation_in_each_of_its_phases() -> None:
    assert torment("uci without torch", times=4, seed=1, at_a_time=4)["wrong"] == []


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize(
    ("command", "times"), [("selfplay", 200), ("train", 200), ("match", 200), ("uci", 200)]
)
def test_commands_in_each_of_their_phases(command: str, times: int) -> None:
    found = torment(command, times, seed=1, at_a_time=2)
    assert found["wrong"] == []
    assert found["slowest_s"] < 25


SLOW_MODULE = """
import pathlib, time
pathlib.Path(__file__).with_name("imports").touch()
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("module", ["typer", "torch"])
def test_a_signal_while_modules_are_imported_harms_nothing(
    tmp_path: Path, module: str, number: signal.Signals
) -> None:
    """``typer`` is imported before ``main`` handles a signal, ``torch`` by the command itself."""
    (tmp_path / f"{module}.py").write_text(SLOW_MODULE)
    process = start(
        "train", "--gpus", "cpu", "--run-dir", tmp_path / "run",
        env={"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    while not (tmp_path / "imports").exists() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate(timeout=25)
    handled = 130 if number == signal.SIGINT else 75
    assert process.returncode == (-number if module == "typer" else handled)
    assert "Traceback" not in err
    assert out == ""
    assert not (tmp_path / "run").exists()


def test_a_hangup_that_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals() as stops:
            signal.raise_signal(signal.SIGHUP)
            assert stops.reason == ""
            signal.raise_signal(signal.SIGTERM)
            assert stops.reason == "SIGTERM"
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


WAITS = """
import signal, sys, time
from vecchess.runtime.signals import StopSignals
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
with StopSignals() as stops:
    print("here", flush=True)
    while not stops.reason:
        time.sleep(0.02)
    print("saved", file=sys.stderr, flush=True)
    print("saved", flush=True)
sys.exit(75)
"""


@contextmanager
def on_a_terminal(program: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A Python program whose three streams are a terminal, and our end of that."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait()


def wait_until_it_is_here(ours: int) -> None:
    """The line and its end: its writer is done with it, and waits."""
    said = b""
    while not said.endswith(b"here\r\n"):
        said += os.read(ours, 100)


def test_a_lost_terminal_fails_no_line() -> None:
    with on_a_terminal(WAITS) as (process, ours):
        wait_until_it_is_here(ours)
        os.close(ours)
        process.send_signal(signal.SIGHUP)
        assert process.wait(20) == 75


def test_a_hangup_leaves_a_terminal_that_is_there() -> None:
    with on_a_terminal(WAITS) as (process, ours):
        wait_until_it_is_here(ours)
        process.send_signal(signal.SIGHUP)
        assert process.wait(20) == 75
        assert os.read(ours, 100).count(b"saved") == 2
        os.close(ours)


def test_before_anything_is_begun_the_first_signal_is_raised() -> None:
    with StopSignals(on_signal=OnSignal.RAISE) as stops:
        with pytest.raises(Stopped, match="stopped by SIGUSR1 before") as caught:
            signal.raise_signal(signal.SIGUSR1)
        assert caught.value.exit_code == 75
        with pytest.raises(Stopped):
            stops.set_action(OnSignal.SET_FLAG)
    with StopSignals() as stops:
        with pytest.raises(Stopped) as caught, stops.interrupting():
            signal.raise_signal(signal.SIGINT)
        assert caught.value.exit_code == 130
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(Stopped), stops.interrupting():
            pytest.fail("somebody has asked to stop already")


def test_what_is_lost_in_a_callback_from_c_is_raised_again() -> None:
    @ctypes.CFUNCTYPE(None)
    def callback() -> None:
        signal.raise_signal(signal.SIGTERM)

    def busy() -> None:
        callback()
        for _ in range(1000):
            time.sleep(0.01)

    hook = sys.unraisablehook
    with StopSignals(on_signal=OnSignal.RAISE) as stops:
        with pytest.raises(Stopped, match="SIGTERM"):
            busy()
        assert not stops.must_exit_now
    assert sys.unraisablehook is hook


def test_what_is_raised_elsewhere_does_not_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What got lost was about to be raised once more; whoever cleans up is left in peace."""
    monkeypatch.setattr(stop_signals, "RESEND_S", 0.2)

    @ctypes.CFUNCTYPE(None)
    def callback() -> None:
        signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with StopSignals() as stops:
        with pytest.raises(Stopped, match="Ctrl-C"), stops.interrupting():
            callback()
        time.sleep(0.4)
        assert not stops.must_exit_now
        with pytest.raises(Stopped), stops.interrupting():
            pytest.fail("somebody has asked to stop already")
        stops._on_signal = OnSignal.RAISE
        stops._has_raised = True
        sys.unraisablehook(SimpleNamespace(exc_type=Stopped))  # type: ignore[arg-type]
    assert signal.getsignal(signal.SIGINT) is before
    time.sleep(0.4)


def test_who_is_spawned_heeds_nothing() -> None:
    with StopSignals(interrupts=True) as stops:
        signal.raise_signal(signal.SIGTERM)
        assert pickle.loads(pickle.dumps(stops)).reason == ""


PROGRAM = """
import atexit, time
import vecchess_cli.main as m
def run():
    atexit.register(lambda: (print("ends", flush=True), time.sleep(2)))
    return 3
m.run = run
m.main()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_once_a_command_is_over_its_exit_code_stands(number: signal.Signals) -> None:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ends\n"
    process.send_signal(number)
    assert process.wait(20) == 3
    process.stdout.close()


def test_what_was_half_made_goes_without_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Half:
        def __init__(self) -> None:
            raise Stopped("SIGUSR2")

        def __del__(self) -> None:
            self.lacking()  # type: ignore[attr-defined]

    monkeypatch.setattr(commands, "app", lambda standalone_mode: Half())
    assert run() == 75
    assert capsys.readouterr().err == "vecchess: stopped by SIGUSR2 before anything had started\n"
