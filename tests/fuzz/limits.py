"""What an input may cost: seconds, memory, and the process it is read in."""

import faulthandler
import resource
import signal
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tests.fuzz.target import MIB, Read
from vecchess.errors import VecchessError

MOST_S = 5.0
STUCK_S = 30.0
"""Machine code that heeds no signal for so long ends the process, which says where it was."""
MOST_RATIO = 10
LONGEST_LINE = 2000
"""Of a refusal: what was wrong, not all of it."""
ROOM_MIB = 3072
"""Address space on top of what the process has: a bomb raises MemoryError, and harms nobody."""


class TooSlow(BaseException):
    """Not an Exception, so that no reader takes it for its own."""


class TooLargeError(Exception):
    """More memory was taken than an input of this size may."""


@contextmanager
def limited() -> Iterator[None]:
    """Alarm and address space, for all inputs within."""

    def stop(_: int, __: FrameType | None) -> None:
        raise TooSlow(f"longer than {MOST_S:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    resource.setrlimit(
        resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM_MIB * MIB, limits[1])
    )
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def in_time() -> Iterator[None]:
    """TooSlow after ``MOST_S``, within ``limited``."""
    signal.setitimer(signal.ITIMER_REAL, MOST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def refusal(read: Read, data: bytes) -> str:
    """Read one input: "" where that went well, else why not. Raises what is no refusal."""
    try:
        read(data)
    except VecchessError as refused:
        line = str(refused)
        if "\n" in line or len(line) > LONGEST_LINE:
            raise AssertionError(f"a refusal that is no line: {line[:200]!r}") from refused
        return f"{type(refused).__name__}: {line}"
    return ""


def check_memory(read: Read, data: bytes, floor_mib: int) -> float:
    """How many times its size reading an input takes at a time, beyond the floor.

    Raises TooLargeError where that is too much. tracemalloc counts, which hears of numpy's too.
    """
    tracemalloc.start()
    try:
        refusal(read, data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    ratio = max(peak - floor_mib * MIB, 0) / max(len(data), 1)
    if ratio > MOST_RATIO:
        raise TooLargeError(f"{peak} bytes for an input of {len(data)}")
    return ratio


def dump_when_stuck() -> None:
    """Begin to count anew: ``faulthandler`` says where, and ends the process."""
    faulthandler.dump_traceback_later(STUCK_S, exit=True)


def never_mind() -> None:
    """Nothing is read any more."""
    faulthandler.cancel_dump_traceback_later()
