"""Writing that waits: what a full disk, or a file that another process has locked, refuses is
tried again until it works.

Decision 27.
"""

from collections.abc import Callable
from time import monotonic

from vecchess.errors import WriteLater
from vecchess.runtime.reporting import ReportLine

RETRY_S = 1.0


class WriteRetry:
    """Repeats one kind of write while it is refused, and reports the begin and end of that."""

    def __init__(self, report_line: ReportLine, waiting: Callable[[], str], again: str) -> None:
        """``waiting()`` and ``again``: what waits, and what goes on, as parts of the two lines."""
        self._report_line, self._waiting, self._again = report_line, waiting, again
        self._next_try = 0.0
        self.is_waiting = False
        """Whether the last attempt was refused."""

    def attempt(self, write: Callable[[], object]) -> bool:
        """Call ``write``; False if it is refused for now, or was less than a second ago.

        Raises what ``write`` raises, but for WriteLater.
        """
        if self.is_waiting and monotonic() < self._next_try:
            return False
        try:
            write()
        except WriteLater as error:
            if not self.is_waiting:
                self._report_line(f"{error}: {self._waiting()}")
            self.is_waiting, self._next_try = True, monotonic() + RETRY_S
            return False
        if self.is_waiting:
            self.is_waiting = False
            self._report_line(f"writing works again: {self._again}")
        return True
