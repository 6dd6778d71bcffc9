"""The runs that are shown, by names that are safe in addresses, and the thread that reads them.

Decision 161.
"""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from vecchess.dash.views.board_grid import BoardGrid
from vecchess.errors import ConfigError, DataError
from vecchess.monitor.run_view import RunView
from vecchess.store.run_folder import RunFolder

FRESH_S = 0.8
"""Seconds for which files that were read are not read again."""


class RunRegistry:
    """Finds runs in folders and names them. Not thread-safe."""

    def __init__(self, places: Sequence[Path]) -> None:
        """``places``: run folders, or folders of runs; they need not exist yet."""
        self._places = list(places)
        self._views: dict[str, RunView] = {}
        self._names: dict[Path, str] = {}
        self._read_at: dict[str, float] = {}
        self._looked_at = float("-inf")

    def views(self) -> dict[str, RunView]:
        """All runs by name, refreshed."""
        self._look()
        return {name: self._fresh(name) for name in list(self._views)}

    def view(self, name: str) -> RunView:
        """The run ``name``, refreshed. Raises DataError where there is none."""
        if name not in self._views:
            self._look()
        if name not in self._views:
            raise DataError(f"there is no run {name!r} here")
        return self._fresh(name)

    def _fresh(self, name: str) -> RunView:
        view = self._views[name]
        if time.monotonic() - self._read_at[name] >= FRESH_S:
            view.refresh()
            self._read_at[name] = time.monotonic()
        return view

    def _look(self) -> None:
        """Open new runs, and drop those whose folder is gone."""
        if time.monotonic() - self._looked_at < FRESH_S:
            return
        self._looked_at = time.monotonic()
        there = list(self._run_folders())
        for folder in there:
            if folder not in self._names:
                self._open(folder)
        for folder in self._names.keys() - set(there):
            name = self._names.pop(folder)
            del self._views[name], self._read_at[name]

    def _open(self, folder: Path) -> None:
        try:
            view = RunView(folder)
        except ConfigError:  # deleted meanwhile
            return
        name = _unused(safe_name(view.name), self._views)
        if view.name in {other.name for other in self._views.values()}:
            view.name = name  # pages show it: a/run and b/run are two runs
        self._views[name], self._names[folder] = view, name
        self._read_at[name] = time.monotonic()

    def _run_folders(self) -> Iterator[Path]:
        seen = set()
        for place in self._places:
            for folder in [place] if _is_run(place) else _subfolders(place):
                if (real := folder.resolve()) not in seen and _is_run(folder):
                    seen.add(real)
                    yield folder


def safe_name(name: str) -> str:
    """``name`` with all but letters, digits, dots, dashes and underscores replaced."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".") or "run"


def _unused(name: str, taken: dict[str, RunView]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    return found


def _is_run(folder: Path) -> bool:
    try:
        return RunFolder(folder).has_begun
    except ConfigError:
        return False


def _subfolders(folder: Path) -> list[Path]:
    try:
        return sorted(child for child in folder.iterdir() if child.is_dir())
    except OSError:
        return []


Value = TypeVar("Value")


class RunReader:
    """Reads runs in a thread of its own, one request at a time."""

    def __init__(self, registry: RunRegistry) -> None:
        """Only the reader's thread uses ``registry`` from now on."""
        self.registry = registry
        self.grids = defaultdict[str, BoardGrid](BoardGrid)
        """The boards of the runs whose boards are shown, by name."""
        self._thread = ThreadPoolExecutor(1, "reader")

    async def read(self, request: Callable[["RunReader"], Value]) -> Value:
        """The value of ``request``, called in the reader's thread; raises what it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, request, self)

    def close(self) -> None:
        """Refuse further requests, without waiting for the one at work."""
        self._thread.shutdown(wait=False, cancel_futures=True)
