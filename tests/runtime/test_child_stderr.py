"""What a child process wrote to stderr before it died."""

import os
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection

import pytest

from vecchess.runtime.child_stderr import MOST_TEXT, NUM_LINES, ChildStderr, redirect_stderr


def complain(stderr: Connection) -> None:
    redirect_stderr(stderr)
    for number in range(50):
        os.write(2, f"line {number}\n".encode())
    os.write(2, b"no end of line \xff" + b"x" * 1000)
    os.kill(os.getpid(), signal.SIGKILL)


def stay_silent(stderr: Connection) -> None:
    redirect_stderr(stderr)


def lines_of(body: Callable[[Connection], None]) -> list[str]:
    context = get_context("spawn")
    stderr = ChildStderr(context)
    process = context.Process(target=body, args=(stderr.child_end,))
    process.start()
    stderr.start()
    process.join()
    return stderr.last_lines()


def test_the_last_lines_are_kept_and_all_are_forwarded(capfd: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(complain)
    assert len(lines) == NUM_LINES
    assert lines[:-1] == [f"line {number}" for number in range(11, 50)]
    assert lines[-1] == "x" * MOST_TEXT
    assert capfd.readouterr().err.startswith("line 0\nline 1\n")


def test_a_silent_child_has_no_lines() -> None:
    assert lines_of(stay_silent) == []
