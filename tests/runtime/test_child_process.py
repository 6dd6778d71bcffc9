"""Spawned processes: what they import, what they wrote before they died, how they are ended."""

import gc
import os
import signal
import time
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import pytest

from vecchess.runtime.child_process import MOST_TEXT, NUM_LINES, ChildProcess


class Imported:
    """An argument that is made in the child while it imports."""

    def __init__(self) -> None:
        self.was_enabled = gc.isenabled()

    def __reduce__(self) -> tuple[Any, ...]:
        return Imported, ()


def tell(argument: Imported, answers: Connection) -> None:
    answers.send((argument.was_enabled, gc.isenabled(), gc.get_freeze_count()))


def test_the_collector_rests_only_while_a_child_imports() -> None:
    answers, child_end = Pipe()
    process = ChildProcess("a name", tell, (Imported(), child_end))
    process.start()
    child_end.close()
    while_importing, at_work, num_frozen = answers.recv()
    process.join()
    assert (while_importing, at_work) == (False, True)
    assert num_frozen > 0
    assert process.exitcode == 0


def complain() -> None:
    for number in range(50):
        os.write(2, f"line {number}\n".encode())
    os.write(2, b"no end of line \xff" + b"x" * 1000)
    os.kill(os.getpid(), signal.SIGKILL)


def stay_silent() -> None:
    pass


def ended(body: Callable[[], None]) -> ChildProcess:
    process = ChildProcess("a name", body, keeps_stderr=True)
    process.start()
    process.join()
    return process


def test_the_last_lines_are_kept_and_all_are_forwarded(capfd: pytest.CaptureFixture[str]) -> None:
    process = ended(complain)
    lines = process.last_lines()
    assert len(lines) == NUM_LINES
    assert lines[:-1] == [f"line {number}" for number in range(11, 50)]
    assert lines[-1] == "x" * MOST_TEXT
    assert capfd.readouterr().err.startswith("line 0\nline 1\n")
    assert process.reason_of_death() == "killed by SIGKILL"


def test_a_silent_child_has_no_lines() -> None:
    process = ended(stay_silent)
    assert process.last_lines() == []
    assert process.reason_of_death() == "exit code 0"


def sleep_on(ready: Connection) -> None:
    ready.send(())
    time.sleep(600)


def test_a_child_ignores_stop_signals_and_is_ended() -> None:
    ready, child_end = Pipe()
    process = ChildProcess("a name", sleep_on, (child_end,))
    process.start()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGTERM)  # it is still importing
    ready.recv()
    os.kill(process.pid, signal.SIGINT)
    process.end(patience_s=0.2)
    assert not process.is_alive()
    assert process.reason_of_death() == "killed by SIGKILL"
