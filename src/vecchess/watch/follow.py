"""The run to watch: one that was named, or the newest."""

from contextlib import suppress
from pathlib import Path

from vecchess.errors import ConfigError
from vecchess.monitor.run_view import RunView
from vecchess.store.run_folder import RunFolder

RUNS = Path("runs")
"""Folder of runs by default."""


def newest_run(runs: Path = RUNS) -> Path | None:
    """The run in ``runs`` whose settings were written last; None where there is none."""
    found: list[tuple[float, Path]] = []
    with suppress(OSError):
        for folder in runs.iterdir():
            with suppress(OSError):  # others' folders may be closed to us
                config = RunFolder(folder).config
                if config.is_file():
                    found.append((config.stat().st_mtime, folder))
    return max(found, default=(0.0, None))[1]


class RunFollower:
    """Holds the view of the watched run. Without a name it waits for a run to begin, and switches
    to a newer one once the watched run is over."""

    def __init__(self, named: Path | None, runs: Path = RUNS) -> None:
        """Raises ConfigError where ``named`` is no run."""
        self._named, self.runs = named, runs
        self.view = RunView(named) if named is not None else None
        self._look_for_newer()

    def refresh(self) -> None:
        """Read what is new, of a newer run where the watched one is over."""
        if self.view is not None:
            self.view.refresh()
        self._look_for_newer()

    def _look_for_newer(self) -> None:
        if self._named is not None or not (self.view is None or self.view.status.is_over):
            return
        newest = newest_run(self.runs)
        if newest is not None and (self.view is None or newest != self.view.path):
            with suppress(ConfigError):  # deleted meanwhile
                self.view = RunView(newest)
