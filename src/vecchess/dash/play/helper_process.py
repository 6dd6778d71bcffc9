"""Processes of the play page: command, priority, errors, and the time until idle ones end."""

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from vecchess.errors import VecchessError

NICENESS = 10
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


class HelperFailed(VecchessError):  # noqa: N818
    """A process of the play page ended or hangs; the next request starts a new one."""


class Busy(VecchessError):  # noqa: N818
    """The limit of engines or requests is reached."""


def python_command(module: str, *arguments: str) -> list[str]:
    """This Python, running ``module``."""
    return [sys.executable, "-m", module, *arguments]


def popen_options() -> dict[str, Any]:
    """One thread, no GPU, and a process group of its own: Ctrl-C ends us, and we end it."""
    return {"env": os.environ | ONE_THREAD | {"CUDA_VISIBLE_DEVICES": ""}, "process_group": 0}


def lower_priority(pid: int) -> None:
    """Lower the priority of a process, and of threads that it starts from now on."""
    with suppress(OSError):  # it may be gone already
        os.setpriority(os.PRIO_PROCESS, pid, NICENESS)


class IdleTimer:
    """Calls ``end`` after ``idle_s`` seconds without use."""

    def __init__(self, idle_s: float, end: Callable[[], object]) -> None:
        """Not started yet."""
        self._idle_s, self._end = idle_s, end
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Count from now."""
        self.stop()
        self._handle = asyncio.get_running_loop().call_later(self._idle_s, self._end)

    def stop(self) -> None:
        """Stop counting: the process is in use."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
