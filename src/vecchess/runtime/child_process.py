"""Spawned processes that import quickly, ignore stop signals from their first instruction, or end
with the parent.

Ctrl-C reaches every process of the terminal's group. A child that is still importing would die
of it with a traceback before it can install a handler. So it is started with the signals blocked
(a blocked signal stays blocked across exec), sets them to be ignored, and unblocks them.
"""

import gc
import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import parent_process, resource_tracker
from multiprocessing.context import SpawnProcess
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any


class ChildProcess(SpawnProcess):
    """A spawned process; torch and numba do not survive fork.

    Its garbage collector rests while the process imports what its target needs, and at its end:
    looking at all that numba and torch make, which stays, takes a third of that time.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Begin in the child with ``_unimported``, before the target and its arguments."""
        return _unimported, (type(self),), self.__dict__

    def run(self) -> None:
        """Call the target, in the child."""
        gc.enable()
        gc.freeze()
        try:
            super().run()
        finally:
            gc.freeze()


def _unimported(kind: type[ChildProcess]) -> ChildProcess:
    gc.disable()
    return kind.__new__(kind)


def start_with_signals_blocked(process: BaseProcess, numbers: Iterable[signal.Signals]) -> None:
    """Start ``process`` with the signals ``numbers`` blocked until it calls ``ignore_signals``."""
    with signals_blocked(numbers):
        process.start()


@contextmanager
def signals_blocked(numbers: Iterable[signal.Signals]) -> Iterator[None]:
    """Start processes within the block with the signals ``numbers`` blocked."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows has no process groups of a terminal
        yield
        return
    resource_tracker.ensure_running()  # starting it unblocks signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_signals(numbers: Iterable[signal.Signals]) -> None:
    """In the child: ignore these signals from now on, those that are pending included."""
    numbers = list(numbers)
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)


def exit_with_parent() -> None:
    """In the child: exit at once when the parent ends, whatever the cause."""
    Thread(target=_exit_with_parent, name="vecchess-parent", daemon=True).start()


def _exit_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
