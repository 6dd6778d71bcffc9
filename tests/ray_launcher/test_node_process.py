"""A command and its guard, on this machine and without Ray."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from vecchess.ray_launcher.node_process import NodeProcess
from vecchess.ray_launcher.run_ray import wait_for_nodes
from vecchess.runtime.signals import StopSignals

STOPPABLE = """
import os, signal, sys, time

def save(*_):
    open("saved", "w").close()
    sys.exit(75)

signal.signal(signal.SIGTERM, save)
print("at work", flush=True)
print(f"pid {os.getpid()}", file=sys.stderr, flush=True)
time.sleep(60)
"""


def started(program: str, folder: Path, *arguments: str, **variables: str) -> NodeProcess:
    process = NodeProcess("here/0", ("-c", program))
    process.start(list(arguments), str(folder), variables)
    return process


def received(process: NodeProcess, kind: str) -> list[tuple[str, Any]]:
    """All messages up to the first of a kind: their kinds and values."""
    messages: list[tuple[str, Any]] = []
    while not any(one == kind for one, _ in messages):
        more = process.messages(30.0)
        assert more, messages
        messages += [tuple(message.values()) for message in more]  # type: ignore[misc]
    return messages


def is_gone(pid: int) -> bool:
    for _ in range(300):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def test_the_output_of_a_command_and_its_exit_code(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; print(sys.argv[1:], os.getcwd(), os.environ['VECCHESS_X']); "
        "print('x' * 9000); print(signal.pthread_sigmask(signal.SIG_BLOCK, []), file=sys.stderr); "
        "sys.exit(3)"
    )
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # as in Ray's workers
    try:
        process = started(program, tmp_path, "a", "b c", VECCHESS_X="y")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    messages = received(process, "ended")
    assert [what for kind, what in messages if kind == "out"] == [
        f"['a', 'b c'] {tmp_path} y",
        "x" * 9000,
    ]
    assert [what for kind, what in messages if kind == "err"] == ["set()"]
    assert messages[-1] == ("ended", 3)


def test_stopping_is_a_sigterm(tmp_path: Path) -> None:
    process = started(STOPPABLE, tmp_path)
    received(process, "out")
    process.stop()
    process.stop()
    assert received(process, "ended")[-1] == ("ended", 75)


def test_a_command_that_is_killed(tmp_path: Path) -> None:
    process = started("import os; os.kill(os.getpid(), 9)", tmp_path)
    assert received(process, "ended") == [("ended", -9)]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        started(STOPPABLE, tmp_path / "nowhere")


def test_a_command_is_stopped_where_its_starter_is_killed(tmp_path: Path) -> None:
    holder = (
        "import sys\nfrom vecchess.ray_launcher.node_process import NodeProcess\n"
        f"process = NodeProcess('x', ('-c', {STOPPABLE!r}))\n"
        f"process.start([], {str(tmp_path)!r}, {{}})\n"
        "while True:\n"
        "    for message in process.messages(1.0):\n"
        "        print(message['line'], flush=True)\n"
    )
    starter = subprocess.Popen([sys.executable, "-c", holder], stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    line = ""
    while not line.startswith("pid "):
        line = starter.stdout.readline()
    os.kill(starter.pid, signal.SIGKILL)
    starter.wait()
    assert is_gone(int(line.split()[1]))
    assert (tmp_path / "saved").exists()


def test_one_of_two_is_killed_and_the_other_saves(tmp_path: Path) -> None:
    processes = [NodeProcess("here/0", ("-c", STOPPABLE)), NodeProcess("here/1", ("-c", STOPPABLE))]
    for process in processes:
        process.start([], str(tmp_path), {})
    lines: list[str] = []

    def report(line: str) -> None:
        lines.append(line)
        if line.startswith("here/1 | pid "):
            os.kill(int(line.rsplit(None, 1)[1]), signal.SIGKILL)

    results = wait_for_nodes(processes, StopSignals(), report)
    assert [result.name for result in results] == ["here/1", "here/0"]
    assert results[0].exit_code == 1
    assert results[1].exit_code == 75
    assert lines[-2:] == ["here/1 was killed by SIGKILL", "stopping here/0"]
