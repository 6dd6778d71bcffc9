"""A file that is replaced by its newest value in a thread, so that a slow disk blocks no caller."""

from collections.abc import Callable
from pathlib import Path
from threading import Condition, Thread
from time import monotonic
from typing import Generic, TypeVar

from vecchess.errors import DataError
from vecchess.runtime.atomic_write import write_atomically
from vecchess.runtime.reporting import ReportLine, no_report

T = TypeVar("T")


class LatestFile(Generic[T]):
    """Holds the last value it was given. Values that come during a write replace what waits."""

    def __init__(
        self,
        path: Path,
        encode: Callable[[T], bytes],
        durably: bool,
        report_line: ReportLine = no_report,
    ) -> None:
        """The file's folder is made with the first value. ``durably``: see ``write_atomically``.

        ``report_line`` gets the reason why a value was not written; the next one is tried all the
        same. Unforeseen errors are raised by ``put`` and ``close``.
        """
        self.path = path
        self._encode, self._durably, self._report_line = encode, durably, report_line
        self.written_s = monotonic()
        """When the file last took its newest value; at first, when this began."""
        self._changed = Condition()
        self._next: T | None = None
        self._has_next = self._is_closed = False
        self._error: Exception | None = None
        self._thread = Thread(target=self._run, name=f"latest-{path.parent.name}", daemon=True)
        self._thread.start()

    def put(self, value: T | None) -> None:
        """Replace the file's content; None: remove the file. Returns at once."""
        self._raise_error()
        with self._changed:
            self._next, self._has_next = value, True
            self._changed.notify()

    def close(self, timeout_s: float | None = None) -> None:
        """Write what waits, and nothing from now on; wait for it no longer than ``timeout_s``."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(timeout_s)
        self._raise_error()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            while self._write_next():
                pass
        except Exception as error:
            self._error = error

    def _write_next(self) -> bool:
        """Wait for a value and write it; False once there will be no more."""
        with self._changed:
            self._changed.wait_for(lambda: self._has_next or self._is_closed)
            if not self._has_next:
                return False
            value, self._next, self._has_next = self._next, None, False
        try:
            self._write(value)
            self.written_s = monotonic()
        except DataError as error:
            self._report_line(str(error))
        except OSError as error:
            self._report_line(f"cannot write {self.path}: {error.strerror}")
        except MemoryError:
            self._report_line(f"cannot write {self.path}: there is too little memory")
        return True

    def _write(self, value: T | None) -> None:
        if value is None:
            self.path.unlink(missing_ok=True)
            return
        self.path.parent.mkdir(exist_ok=True)
        write_atomically(self.path, self._encode(value), self._durably)
