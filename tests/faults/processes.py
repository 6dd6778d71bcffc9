"""The processes of a run under torture, and faults of processes. By Linux's /proc."""

import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from bench.usage import descendants, held_by

SPAWNED = b"multiprocessing.spawn"
"""In the command of a worker, and of the process that compiles."""


@dataclass(frozen=True)
class Victims:
    """A supervisor and its workers at one moment."""

    supervisor: int
    workers: tuple[int, ...]

    @classmethod
    def of(cls, supervisor: Popen[str]) -> "Victims":
        """Those of a running ``supervisor``."""
        return cls(supervisor.pid, tuple(_workers_of(supervisor.pid)))


def kill(pid: int) -> None:
    """Kill a process at once."""
    _signal(pid, signal.SIGKILL)


def end(supervisor: Popen[str]) -> None:
    """Kill a supervisor and all that it has started, paused or not, and wait until none runs."""
    pause(supervisor.pid)  # it starts nothing more, and what it has just forked is its child
    started = descendants(supervisor.pid)
    for pid in (supervisor.pid, *started):
        kill(pid)
    supervisor.wait()
    while any(map(held_by, started)):  # the last write of one may be under way
        time.sleep(0.005)


def pause(pid: int) -> None:
    """Stop a process until ``resume``."""
    _signal(pid, signal.SIGSTOP)


def resume(pid: int) -> None:
    """Continue a paused process."""
    _signal(pid, signal.SIGCONT)


def slow(pid: int, seconds: float) -> None:
    """For ``seconds`` let a process run a tenth of the time only."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pause(pid)
        time.sleep(0.045)
        resume(pid)
        time.sleep(0.005)


@contextmanager
def limited_files(victims: Victims, size: int) -> Iterator[None]:
    """Let files of the processes grow to ``size`` bytes only: writes are cut there, as on a disk
    that becomes full.

    A process that the supervisor starts meanwhile inherits the limit, so it is lifted from the
    supervisor first, and then from all that are its children by then.
    """
    for pid in (*victims.workers, victims.supervisor):
        _limit_files(pid, size)
    try:
        yield
    finally:
        _limit_files(victims.supervisor, -1)
        for child in _children_of(victims.supervisor):
            _limit_files(int(child), -1)


def _limit_files(pid: int, size: int) -> None:
    """Set the largest size of files of a process; -1: none."""
    with suppress(ProcessLookupError):
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard if size < 0 else size, hard))


def starve(pid: int, spare_bytes: int) -> None:
    """Limit the address space of a process to its present size and ``spare_bytes``; -1: none."""
    with suppress(ProcessLookupError, FileNotFoundError):
        _, hard = resource.prlimit(pid, resource.RLIMIT_AS)
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
        limit = hard if spare_bytes < 0 else pages * resource.getpagesize() + spare_bytes
        resource.prlimit(pid, resource.RLIMIT_AS, (limit, hard))


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _workers_of(pid: int) -> list[int]:
    return [int(child) for child in _children_of(pid) if _is_spawned(child)]


def _children_of(pid: int) -> list[str]:
    """What the main thread of a process has started, also what is about to run its program."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return []


def _is_spawned(pid: str) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return SPAWNED in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
