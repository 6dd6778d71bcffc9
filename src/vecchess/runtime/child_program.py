"""Programs as child processes, each in a session of its own: Ctrl-C ends vecchess, and vecchess
ends them."""

import os
import signal
from contextlib import suppress
from subprocess import Popen, TimeoutExpired
from typing import Any


def start_program(command: list[str], **options: Any) -> "Popen[Any]":
    """Start ``command``; ``options`` are those of Popen. Raises OSError."""
    return Popen(command, start_new_session=True, **options)


def end_program(process: "Popen[Any]", patience_s: float = 0.0) -> None:
    """Wait until the program has ended. Where that takes longer than ``patience_s``, or there is
    none, kill it and those that it has started."""
    if patience_s:
        with suppress(TimeoutExpired):
            process.wait(patience_s)
            return
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
