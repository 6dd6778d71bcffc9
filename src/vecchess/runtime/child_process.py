"""Keeps signals away from child processes, from their first instruction on.

Ctrl-C reaches every process of the terminal's group. A child that is still importing would die
of it with a traceback, before it can say that it wants to ignore it. So it is born with the signals
held back (a blocked signal stays blocked across exec), ignores them, and lets go.
"""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import parent_process, resource_tracker
from multiprocessing.process import BaseProcess
from threading import Thread


def start_shielded(process: BaseProcess, numbers: Iterable[signal.Signals]) -> None:
    """Start ``process`` with the signals ``numbers`` held back until it calls ``ignore``."""
    with held_back(numbers):
        process.start()


@contextmanager
def held_back(numbers: Iterable[signal.Signals]) -> Iterator[None]:
    """Processes started meanwhile are born with the signals ``numbers`` held back."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows: children there are no group of a terminal
        yield
        return
    resource_tracker.ensure_running()  # its start, within that of a process, would let signals in
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore(numbers: Iterable[signal.Signals]) -> None:
    """In the child: drop these signals from now on, those that were held back included."""
    numbers = list(numbers)
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)


def end_with_parent() -> None:
    """In the child: end at once when the parent does, however that ends."""
    Thread(target=_end_with_parent, name="vecchess-parent", daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
