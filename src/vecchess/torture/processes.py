"""The processes of a run under torture, and faults of processes. By Linux's /proc."""

import os
import resource
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

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


def end(victims: Victims) -> None:
    """Kill all, paused or not, the supervisor first: it would replace workers."""
    for pid in (victims.supervisor, *victims.workers):
        kill(pid)


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


def limit_files(pid: int, size: int) -> None:
    """Limit files of a process to ``size`` bytes: writes are cut there, as on a disk that becomes
    full. -1: no limit."""
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
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(child) for child in children if _is_spawned(child)]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _is_spawned(pid: str) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return SPAWNED in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
