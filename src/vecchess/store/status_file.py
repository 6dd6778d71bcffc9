"""The state of a run, for programs that watch its folder: ``status.json``, replaced every second.

    {"schema": 1, "kind": "selfplay", "state": "playing", "why": "", "pid": 4711, "host": "name",
     "started_unix": 1790000000.0, "updated_unix": 1790000012.3, "games": 120, "target": 4096, ...,
     "notes": [{"time_unix": 1790000003.0, "line": "..."}]}

docs/formats.md names every key. A killed run leaves the state "playing": it goes on only
while ``updated_unix`` is fresh, or its process exists.
"""

import json
import os
import shutil
import socket
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Any, Literal, Self

from vecchess import __version__
from vecchess.errors import ConfigError, DataError, VecchessError
from vecchess.runtime.atomic_write import write_atomically
from vecchess.runtime.cost_meter import resident_bytes
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_log import RunLog

SCHEMA = 1
STATUS_FILE = "status.json"
INTERVAL_S = 1.0
NUM_NOTES = 20
ReadCost = Callable[[], dict[str, Any] | None]
"""Returns what the run has cost so far, plain values for JSON; None where that is not known."""
ReadMemory = Callable[[], int | None]
"""Returns the resident memory of the run's processes on this machine, in bytes; None where not
known."""
State = Literal["starting", "playing", "learning", "evaluating", "done", "stopped", "failed"]


class StatusWriter:
    """The status of one machine's part of a run, from the ``with`` on until ``finish``.

    A thread writes it, so that a slow disk delays nothing; only the last write has to succeed. An
    exception that leaves the ``with`` is written as the reason of the failure. Where settings are
    refused with which a run was to go on, the status becomes what it was before.
    """

    def __init__(
        self,
        run: RunFolder,
        kind: Literal["selfplay", "train"],
        read_cost: ReadCost = lambda: None,
        read_memory: ReadMemory = lambda: resident_bytes([os.getpid()]),
        on_status: Callable[[dict[str, Any]], object] = lambda status: None,
    ) -> None:
        """Write nothing yet. ``read_cost``, ``read_memory``: called by another thread;
        ``on_status``: about once a second by those that update the status, and at the end."""
        self._run, self._on_status = run, on_status
        self._read_cost, self._read_memory = read_cost, read_memory
        self._next_call = 0.0
        self.log = RunLog(run.path)
        """Gets the beginning and the end of the run, and every note."""
        self._lock = Lock()
        self._notes: deque[dict[str, Any]] = deque(maxlen=NUM_NOTES)
        self._facts: dict[str, Any] = {
            "schema": SCHEMA,
            "kind": kind,
            "state": "starting",
            "why": "",
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "started_unix": round(time.time(), 3),
            "net": "",
            "iteration": 0,
            "iterations": 0,
            "games": 0,
            "target": 0,
            "positions": 0,
            "positions_target": 0,
            "eta_s": None,
            "load": {},
            "workers": [],
            "learning": {},
            "stats": {},
            "restarts": 0,
            "blocks_checked": 0,
            "unwritten_games": 0,
            "cost": None,
            "memory_bytes": None,
            "disk_free_bytes": None,
        }
        self._before = b""
        """The status of the process before."""
        self._ended = Event()
        self._thread = Thread(target=self._run_thread, name="status", daemon=True)

    def __enter__(self) -> Self:
        """Write from now on; remove the games in progress that a killed run left."""
        names = ("kind", "pid", "host")
        facts = {name: self._facts[name] for name in names} | {"version": __version__}
        self.log.write("resume" if self._run.has_begun else "start", **facts)
        self._run.clear_live()
        with suppress(OSError):
            self._before = (self._run.path / STATUS_FILE).read_bytes()
        self._thread.start()
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Write why the run failed, unless it was finished."""
        if not self._ended.is_set() and error is not None:
            state: State = "failed" if isinstance(error, Exception) else "stopped"
            is_refused = isinstance(error, ConfigError) and self._facts["state"] == "starting"
            with suppress(DataError):
                self._end(state, _reason(error))
                if is_refused and self._before:
                    write_atomically(self._run.path / STATUS_FILE, self._before)
        self._ended.set()

    @property
    def facts(self) -> dict[str, Any]:
        """The present content."""
        with self._lock:
            notes = list(self._notes)
            return self._facts | {"updated_unix": round(time.time(), 3), "notes": notes}

    def update(self, **facts: Any) -> None:
        """Replace ``facts``, plain values, by name; they are written within a second."""
        self._replace(facts)
        if time.monotonic() >= self._next_call:
            self._next_call = time.monotonic() + INTERVAL_S
            self._on_status(self.facts)

    def _replace(self, facts: dict[str, Any]) -> None:
        with self._lock:
            unknown = facts.keys() - self._facts.keys()
            assert not unknown, unknown
            self._facts = self._facts | facts

    def add_note(self, line: str) -> None:
        """Add a line for people; the last 20 are kept, and all of them in the run log."""
        self.log.write("note", line=line)
        with self._lock:
            self._notes.append({"time_unix": round(time.time(), 3), "line": line})

    def finish(self, summary: dict[str, Any]) -> None:
        """Write the end of a run that finished, or was stopped by a signal.

        ``summary`` is what ``--json`` prints. Raises DataError where writing fails.
        """
        self.update(load={}, learning={}, eta_s=None)
        with self._lock:
            self._facts = self._facts | {"summary": summary}
        stopped_by = str(summary["stopped_by"])
        self._end("stopped" if stopped_by else "done", stopped_by)

    def _end(self, state: State, why: str) -> None:
        self._ended.set()
        self._thread.join()
        self.log.write("end", state=state, why=why)
        self._replace({"state": state, "why": why, "workers": [], "unwritten_games": 0})
        self._write(durably=True)
        self._on_status(self.facts)

    def _run_thread(self) -> None:
        while True:
            self.log.flush()
            with suppress(OSError):
                self._replace({"disk_free_bytes": shutil.disk_usage(self._run.path).free})
            with suppress(DataError):
                self._write(durably=False)
            if self._ended.wait(INTERVAL_S):
                return

    def _write(self, durably: bool) -> None:
        self._replace({"cost": self._read_cost(), "memory_bytes": self._read_memory()})
        data = (json.dumps(self.facts) + "\n").encode()
        write_atomically(self._run.path / STATUS_FILE, data, durably)


def _reason(error: BaseException) -> str:
    """One line for people."""
    text = str(error) if isinstance(error, VecchessError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())
