"""What one machine says of itself: its ``status.json``, whatever wrote it, in one shape."""

import os
import socket
import time
from pathlib import Path
from typing import Any

from vecchess.monitor.small_file import SmallFile
from vecchess.safe_parse import parse_json_object, to_json_value

SCHEMA = 1
FRESH_S = 10.0
"""A run that said something so lately goes on."""
STATES = ("starting", "playing", "learning", "evaluating", "done", "stopped", "failed")
MOST = 1e15
"""What is larger, or no number at all, counts as 0."""
OVER = ("done", "stopped", "failed", "gone")
Values = dict[str, Any]


class StatusReader:
    """The status of one machine. Nothing in it is taken for granted but that it is JSON."""

    def __init__(self, path: Path) -> None:
        """Nothing is read before ``refresh``; the file need not exist."""
        self._file: SmallFile[Values] = SmallFile(path, _parse, {})
        self._heard = 0.0

    def refresh(self) -> bool:
        """Read the file if it was replaced; returns whether it was."""
        before = self.number("updated_unix")
        changed = self._file.refresh()
        if changed and before and self.number("updated_unix") != before:
            self._heard = time.monotonic()
        return changed

    @property
    def values(self) -> Values:
        """As they were read; {} where there is nothing that can be read."""
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
        """Seconds since it was written; None where it does not say. A clock of another machine that
        goes wrong does not matter as long as we see the file change."""
        updated = self.number("updated_unix")
        if not updated:
            return None
        age = max(time.time() - updated, 0.0)
        return min(age, time.monotonic() - self._heard) if self._heard else age

    @property
    def state(self) -> str:
        """One of ``STATES``, "gone", or "unknown" where nothing can be known."""
        said = self.text("state")
        if said not in STATES:
            return "unknown"
        if said in OVER or self._goes_on():
            return said
        return "gone"

    def _goes_on(self) -> bool:
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
    """Raises ValueError for anything but a status that this vecchess knows."""
    values: Values = to_json_value(parse_json_object(data))
    if values.get("schema") != SCHEMA:
        raise ValueError("a status of another vecchess")
    return values
