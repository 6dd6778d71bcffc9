"""Faults at named points of a process: where it is about to touch the files of a run.

Python reports what it is about to do to audit hooks (PEP 578), so no other module of vecchess takes
part. A fault is one line in an environment variable; ``python -m tests.faults.tortured`` and its
workers install it:

    TORTURE_FAULT="kill at shard 3"     at the third shard that a process is about to write
    "kill at any 57"                     at its 57th access to a file of the run
    "full at any 57 for 0.5"             from that access on the disk is full for 0.5 s
    "crowded at any 57 for 0.5"          from that access on too many files are open for 0.5 s
    "estale at read shard 3 for 0.5"     from the third read on shards cannot be read for 0.5 s
"""

import errno
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vecchess.errors import ConfigError
from vecchess.runtime.atomic_write import PARTIAL_PREFIX

VARIABLE = "TORTURE_FAULT"
POINTS = {
    "shard": ("open", re.compile(rf"/games/{re.escape(PARTIAL_PREFIX)}[^/]*\.npz$")),
    "shard named": ("os.rename", re.compile(r"/games/[^/]*\.npz$")),
    "manifest": ("open", re.compile(r"/games/manifest\.jsonl$")),
    "inflight": ("open", re.compile(rf"/inflight/{re.escape(PARTIAL_PREFIX)}[^/]*\.npz$")),
    "inflight named": ("os.rename", re.compile(r"/inflight/[^/]*\.npz$")),
    "status": ("os.rename", re.compile(r"/status\.json$")),
    "metrics": ("open", re.compile(r"/metrics\.jsonl$")),
    "network": ("os.rename", re.compile(r"/nets/[^/]*$")),
    "any": ("", re.compile(r"/(games|inflight|live|nets)/|/[^/]*\.(jsonl?|toml)$|/\.lock$")),
}
"""Point of a write -> audit event ("": each of them) and file."""
READ_POINTS = {
    "read shard": ("open", re.compile(r"/games/[^./][^/]*\.npz$")),
    "read manifest": ("open", re.compile(r"/games/manifest\.jsonl$")),
    "read inflight": ("open", re.compile(r"/inflight/[^./][^/]*\.npz$")),
    "read folder": ("os.listdir", re.compile(r"/(games|inflight)$")),
    "read any": ("", re.compile(r"/(games|inflight)(/|$)|/run_id$")),
}
"""Point of a read -> the same."""
_WRITE_ERRORS = {
    "full": errno.ENOSPC, "crowded": errno.EMFILE, "broken": errno.EIO, "readonly": errno.EROFS,
}  # fmt: skip
_READ_ERRORS = {
    name.lower(): getattr(errno, name) for name in ("EIO", "ESTALE", "EMFILE", "ENOENT", "EACCES")
}
READ_ACTIONS = frozenset(_READ_ERRORS)
_ERRORS = _WRITE_ERRORS | _READ_ERRORS
ACTIONS = {"kill", *_ERRORS}
_EVENTS = {"open", "os.rename", "os.remove", "os.truncate", "os.mkdir"}
_READ_EVENTS = {"open", "os.listdir", "os.scandir"}
_FAULT = re.compile(r"(\w+) at ([\w ]+?) (\d+)(?: for ([\d.]+))?")


@dataclass(frozen=True)
class Fault:
    """What happens, at which point, and for how long."""

    action: str
    point: str
    number: int
    seconds: float = 0.0

    @classmethod
    def parse(cls, text: str) -> "Fault":
        """Read a fault's line; raises ConfigError for another text."""
        match = _FAULT.fullmatch(text)
        points = READ_POINTS if match and match[1] in _READ_ERRORS else POINTS
        if match is None or match[1] not in ACTIONS or match[2] not in points:
            raise ConfigError(f'{VARIABLE}="{text}" is no fault, like "kill at shard 3"')
        return cls(match[1], match[2], int(match[3]), float(match[4] or 0.0))

    def __str__(self) -> str:
        lasting = f" for {self.seconds:g}" if self.seconds else ""
        return f"{self.action} at {self.point} {self.number}{lasting}"


class Injector:
    """Waits for the point of one fault, within one run's folder."""

    def __init__(
        self, fault: Fault, folder: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``folder``: only files below it count."""
        self._fault, self._folder, self._clock = fault, folder, clock
        self._is_read = fault.action in _READ_ERRORS
        self._events = _READ_EVENTS if self._is_read else _EVENTS
        if fault.action == "crowded":
            self._events = {"open"}
        self._event, self._file = (POINTS | READ_POINTS)[fault.point]
        self.num_seen = 0
        """Accesses of the point's kind so far."""
        self._until = 0.0

    def install(self) -> None:
        """Install the hook for the rest of the process's life."""
        sys.addaudithook(self.on_audit_event)

    def on_audit_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Handle an audit event. Raises OSError where the disk is to fail."""
        if event not in self._events or (path := _path_of(event, arguments)) is None:
            return
        if not path.startswith(self._folder) or _writes(event, arguments) == self._is_read:
            return
        is_here = (not self._event or event == self._event) and self._file.search(path) is not None
        if is_here:
            self.num_seen += 1
            if self.num_seen == self._fault.number:
                self._trigger()
        if (is_here or not self._is_read) and self._clock() < self._until:
            number = _ERRORS[self._fault.action]
            raise OSError(number, os.strerror(number), path)

    def _trigger(self) -> None:
        if self._fault.action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        self._until = self._clock() + self._fault.seconds


def install_from_environment() -> None:
    """Install the fault of the environment variable, "fault;folder", if there is one."""
    text, _, folder = os.environ.get(VARIABLE, "").rpartition(";")
    if text:
        Injector(Fault.parse(text), folder).install()


def _path_of(event: str, arguments: tuple[Any, ...]) -> str | None:
    """The file that is written or renamed to."""
    path = arguments[1 if event == "os.rename" else 0]
    return os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else None


def _writes(event: str, arguments: tuple[Any, ...]) -> bool:
    if event != "open":
        return event not in _READ_EVENTS
    mode, flags = arguments[1], arguments[2]
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
