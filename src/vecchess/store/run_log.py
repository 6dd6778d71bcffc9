"""The run log: ``log.jsonl``, what happened to a run, kept for as long as the run is.

    {"schema": 1, "time_unix": 1790000003.0, "event": "worker died", "worker": 0, "reason": "..."}

Only the run's parent process writes it. Logging never stops a run: what the disk refuses waits in
memory for the next attempt. Two files of ``MOST_BYTES`` bound it, ``log.jsonl`` and the older
``log.1.jsonl``.

Decision 220.
"""

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from vecchess.errors import DataError
from vecchess.runtime.atomic_write import append_line, truncate_partial_line, whole_lines
from vecchess.safe_parse import parse_json_object, to_json_value

SCHEMA = 1
LOG_FILE = "log.jsonl"
OLDER_LOG_FILE = "log.1.jsonl"
MOST_BYTES = 4 << 20
MOST_TEXT = 2000
"""Characters of one text; of a longer one the end is kept."""
MOST_WAITING = 200
"""Events that wait while the disk is full; of more, the newest are kept."""
END_OF_TIME = 253_402_300_800.0
"""The year 10000, which no calendar of Python has."""
LogEvent = Callable[..., object]
"""Takes the name of an event, and its facts as keywords."""


def no_event(event: str, **facts: Any) -> None:
    """Drop an event."""


class RunLog:
    """Appends events to the log of one run. Threads may share it."""

    def __init__(self, folder: Path) -> None:
        """The log in ``folder``, the run's; nothing is written yet."""
        self._path = folder / LOG_FILE
        self._waiting: deque[bytes] = deque(maxlen=MOST_WAITING)
        self._lock = Lock()
        self._is_whole = False
        """Whether the file is known to end with a whole line."""

    def write(self, event: str, **facts: Any) -> None:
        """Append an event, now or once the disk takes it. Raises nothing."""
        values = {"schema": SCHEMA, "time_unix": round(time.time(), 3), "event": event}
        kept = {name: _clipped(value) for name, value in facts.items()}
        self._waiting.append((json.dumps(values | to_json_value(kept)) + "\n").encode())
        self.flush()

    def write_changes(self, changes: dict[str, list[Any]]) -> None:
        """Append an event of the settings that ``RunFolder.write_config`` has changed, if any."""
        if changes:
            self.write("settings", changes=changes)

    def flush(self) -> None:
        """Append what waits, as far as the disk takes it. Raises nothing."""
        with self._lock, suppress(OSError, DataError):
            if not self._waiting:
                return
            if not self._is_whole:
                truncate_partial_line(self._path)
                self._is_whole = True
            while self._waiting:
                size = append_line(self._path, self._waiting[0], durably=False)
                self._waiting.popleft()
                if size > MOST_BYTES:
                    os.replace(self._path, self._path.with_name(OLDER_LOG_FILE))


def read_log(folder: Path) -> Iterator[dict[str, Any]]:
    """The events in the log of a run's ``folder``, oldest first; damaged lines are left out.

    Raises DataError where a file of it cannot be read.
    """
    for name in (OLDER_LOG_FILE, LOG_FILE):
        if not (folder / name).exists():
            continue
        for line in whole_lines(folder / name):
            with suppress(ValueError, KeyError, TypeError):
                values = parse_json_object(line)
                if isinstance(values["event"], str) and _is_time(values["time_unix"]):
                    yield values


def _is_time(value: Any) -> bool:
    """Whether a calendar has this time, in seconds since 1970; NaN is none."""
    return isinstance(value, float) and 0 <= value < END_OF_TIME


def _clipped(value: Any) -> Any:
    """A long text without its beginning, where tracebacks say least."""
    if isinstance(value, str) and len(value) > MOST_TEXT:
        return "..." + value[-MOST_TEXT:]
    return value
