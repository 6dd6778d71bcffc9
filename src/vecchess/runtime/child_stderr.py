"""The stderr of a child process: forwarded to the parent's own, its last lines kept.

A process that dies in a driver or an allocator leaves its reason there and nowhere else.
"""

import os
from collections import deque
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from threading import Thread

NUM_LINES = 40
MOST_TEXT = 400
"""Characters kept of a line."""
_STDERR = 2
_CLOSE_WAIT_S = 1.0


class ChildStderr:
    """The parent's end, read in a thread until the child and its children have closed theirs."""

    def __init__(self, context: SpawnContext) -> None:
        """``child_end`` is for the child, which calls ``redirect_stderr`` with it; None on systems
        without POSIX file descriptors, where the child keeps the stderr it inherits."""
        self._lines: deque[str] = deque(maxlen=NUM_LINES)
        self._rest = b""
        self.child_end: Connection | None = None
        self._thread: Thread | None = None
        if os.name == "posix":
            self._own_end, self.child_end = context.Pipe(duplex=False)
            self._thread = Thread(target=self._run, name="child-stderr", daemon=True)

    def start(self) -> None:
        """Read from now on; the child has been started."""
        if self.child_end is not None and self._thread is not None:
            self.child_end.close()
            self._thread.start()

    def last_lines(self) -> list[str]:
        """The last lines of a child that has ended."""
        if self._thread is not None:
            self._thread.join(_CLOSE_WAIT_S)
        rest = [_text(self._rest)] if self._rest else []
        return [*self._lines, *rest][-NUM_LINES:]

    def _run(self) -> None:
        with self._own_end, suppress(OSError):
            while data := os.read(self._own_end.fileno(), 1 << 16):
                with suppress(OSError):  # our own stderr is closed
                    os.write(_STDERR, data)
                *lines, self._rest = (self._rest + data).split(b"\n")
                self._lines.extend(map(_text, lines))
                self._rest = self._rest[-MOST_TEXT:]


def redirect_stderr(child_end: Connection | None) -> None:
    """In the child: write stderr to the parent from now on; None: leave it as it is."""
    if child_end is not None:
        os.dup2(child_end.fileno(), _STDERR)
        child_end.close()


def _text(line: bytes) -> str:
    return line[-MOST_TEXT:].decode(errors="replace").rstrip()
