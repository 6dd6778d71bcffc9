"""Reads the status of a run, ``status.json`` (decisions 150, 154 and 219)."""

import os
import socket
import time
from pathlib import Path
from typing import get_args

from vecchess.monitor.changing_file import SmallFile
from vecchess.safe_parse import (
    Values,
    is_schema,
    number,
    parse_json_object,
    text_of,
    to_json_value,
)
from vecchess.store.status_file import SCHEMA, State

FRESH_S = 10.0
"""A status that changed less than this long ago is of a run that goes on."""
SKEW_S = 300.0
"""Clocks of two machines differ by so much at most. A status that another machine wrote counts as
new if its time is as near as that, until it has been watched for ``FRESH_S``."""
STEP_S = 1.0
"""The times of a status and of a process's start are as exact as that."""
STATES: tuple[str, ...] = get_args(State)
OVER = ("done", "stopped", "failed", "gone")


class StatusReader:
    """The status of a run. Of its contents only the schema is relied on."""

    def __init__(self, path: Path) -> None:
        """The file is first read by ``refresh``, and need not exist."""
        self._file: SmallFile[Values] = SmallFile(path, _parse, {})
        self._looked_at = self._changed_at = float("-inf")
        self._lag_s = 0.0

    def refresh(self) -> None:
        """Read the file if it was replaced."""
        now = time.monotonic()
        if self._file.refresh():
            is_observed = now - self._looked_at <= FRESH_S  # it was written since the last look
            self._lag_s = 0.0 if is_observed else time.time() - number(self.values, "updated_unix")
            self._changed_at = now
        self._looked_at = now

    @property
    def values(self) -> Values:
        """The fields; {} where the file is missing or cannot be read."""
        return self._file.value

    @property
    def age_s(self) -> float | None:
        """Seconds since it was written; None where it has no time. By the clock that wrote it at
        the first look, by this process's own clock from then on."""
        if not number(self.values, "updated_unix"):
            return None
        return max(self._lag_s, 0.0) + time.monotonic() - self._changed_at

    @property
    def state(self) -> str:
        """One of ``STATES``, "gone" of a run that ended without a last status, or "unknown"."""
        written = text_of(self.values, "state")
        if written not in STATES:
            return "unknown"
        if written in OVER or self._is_active():
            return written
        return "gone"

    def _is_active(self) -> bool:
        is_here, age = text_of(self.values, "host") == socket.gethostname(), self.age_s
        if is_here and was_alive(
            int(number(self.values, "pid")), number(self.values, "updated_unix")
        ):
            return True
        if is_here or age is None:
            return age is not None and age <= FRESH_S
        watched_s = time.monotonic() - self._changed_at
        return abs(self._lag_s) <= SKEW_S and watched_s <= FRESH_S


def was_alive(pid: int, unix: float) -> bool:
    """Whether a process of this number runs here, and did so at a time: later, it is another one
    that got the number of one that ended."""
    return is_alive(pid) and began_unix(pid) <= unix + STEP_S


def began_unix(pid: int) -> float:
    """When a process of this machine began, see proc_pid_stat(5); 0 where that is not known."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        since_boot_s = int(words[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0
    return time.time() - (time.clock_gettime(time.CLOCK_BOOTTIME) - since_boot_s)


def is_alive(pid: int) -> bool:
    """Whether a process of this number runs here."""
    if pid <= 0 or os.name == "nt":  # there, signal 0 would end it
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _parse(data: bytes) -> Values:
    """Raises ValueError for anything but a status of this schema."""
    values: Values = to_json_value(parse_json_object(data))
    if not is_schema(values.get("schema"), SCHEMA):
        raise ValueError("a status of another vecchess")
    return values
