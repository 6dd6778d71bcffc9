"""Reads the status of one machine, ``status.json`` (decision 150)."""

import os
import socket
import time
from pathlib import Path
from typing import Any

from vecchess.monitor.small_file import SmallFile
from vecchess.safe_parse import parse_json_object, to_json_value
from vecchess.store.status_file import SCHEMA

FRESH_S = 10.0
"""A status that was written less than this long ago is of a run that goes on."""
STATES = ("starting", "playing", "learning", "evaluating", "done", "stopped", "failed")
MOST = 1e15
"""Larger values, and what is no number, count as 0."""
OVER = ("done", "stopped", "failed", "gone")
Values = dict[str, Any]


class StatusReader:
    """The status of one machine. Of its contents only the schema is relied on."""

    def __init__(self, path: Path) -> None:
        """Nothing is read before ``refresh``; the file need not exist."""
        self._file: SmallFile[Values] = SmallFile(path, _parse, {})
        self._changed_at = 0.0

    def refresh(self) -> bool:
        """Read the file if it was replaced; returns whether it was."""
        before = self.number("updated_unix")
        changed = self._file.refresh()
        if changed and before and self.number("updated_unix") != before:
            self._changed_at = time.monotonic()
        return changed

    @property
    def values(self) -> Values:
        """The fields; {} where the file is missing or cannot be read."""
        return self._file.value

    def number(self, key: str) -> float:
        """A number; 0 where there is none."""
        return number(self.values, key)

    def text(self, key: str) -> str:
        """A text; "" where there is none."""
        value = self.values.get(key)
        return value if isinstance(value, str) else ""

    def mapping(self, key: str) -> Values:
        """An object; {} where there is none."""
        value = self.values.get(key)
        return value if isinstance(value, dict) else {}

    def mappings(self, key: str) -> list[Values]:
        """The objects of a list."""
        value = self.values.get(key)
        return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []

    @property
    def age_s(self) -> float | None:
        """Seconds since it was written; None where it has no time. As long as the file is seen to
        change, another machine's wrong clock does not matter."""
        updated = self.number("updated_unix")
        if not updated:
            return None
        age = max(time.time() - updated, 0.0)
        return min(age, time.monotonic() - self._changed_at) if self._changed_at else age

    @property
    def state(self) -> str:
        """One of ``STATES``, "gone" of a run that ended without a last status, or "unknown"."""
        written = self.text("state")
        if written not in STATES:
            return "unknown"
        if written in OVER or self._is_active():
            return written
        return "gone"

    def _is_active(self) -> bool:
        age = self.age_s
        if age is not None and age <= FRESH_S:
            return True
        return self.text("host") == socket.gethostname() and is_alive(int(self.number("pid")))


def number(values: Values, key: str) -> float:
    """A number of ``values``; 0 where there is none."""
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if abs(value) <= MOST else 0.0


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
    if values.get("schema") != SCHEMA:
        raise ValueError("a status of another vecchess")
    return values
