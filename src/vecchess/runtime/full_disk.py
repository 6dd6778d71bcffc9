"""Writing that waits for room: what a full disk refuses is tried again until it works.

Decision 27.
"""

from collections.abc import Callable
from time import monotonic

from vecchess.errors import DiskFull
from vecchess.runtime.reporting import ReportLine

RETRY_S = 1.0


class FullDiskRetry:
    """Repeats one kind of write while the disk is full, and reports the begin and end of that."""

    def __init__(self, report_line: ReportLine, waiting: Callable[[], str], again: str) -> None:
        """``waiting()`` and ``again``: what waits, and what goes on, as parts of the two lines."""
        self._report_line, self._waiting, self._again = report_line, waiting, again
        self._next_try = 0.0
        self.is_full = False
        """Whether the last attempt found no room."""

    def attempt(self, write: Callable[[], object]) -> bool:
        """Call ``write``; False if there is no room, or was none less than a second ago.

        Raises what ``write`` raises, but for DiskFull.
        """
        if self.is_full and monotonic() < self._next_try:
            return False
        try:
            write()
        except DiskFull as error:
            if not self.is_full:
                self._report_line(f"{error}: {self._waiting()}")
            self.is_full, self._next_try = True, monotonic() + RETRY_S
            return False
        if self.is_full:
            self.is_full = False
            self._report_line(f"there is room on the disk again: {self._again}")
        return True
