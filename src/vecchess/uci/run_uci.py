"""A conversation with a GUI over two file descriptors, from settings to its end (decision 190)."""

import os
import signal
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread, current_thread, main_thread
from time import monotonic

from vecchess.config import UciConfig
from vecchess.runtime.plugin import results_descriptor
from vecchess.runtime.signals import EXIT_INTERRUPTED
from vecchess.uci.session import Session

STDIN = 0
CLOSING_S, INTERRUPTED_S = 60.0, 10.0
"""Longest wait at the end for a task that compiles: usually, and after Ctrl-C."""
POLL_S = 0.25
"""Signals and a closed stdout are noticed at this interval; lines and answers at once."""
Lines = SimpleQueue[tuple[float, str] | None]
"""Lines with the time of their arrival (``monotonic``, s); None after the last."""
_CHUNK_BYTES = 1 << 16
_LONGEST_BYTES = 1 << 22
"""A longer line is cut there."""


def run(config: UciConfig, command: Sequence[str] = (), stdin: int = STDIN) -> None:
    """Answer commands until ``quit`` or the end of ``stdin``; with a ``command``, only that one.

    Raises NetworkError where the network of ``config`` cannot exist.
    """
    from vecchess.inference.source import find

    find(config.net).check_name()
    lines: Lines = SimpleQueue()
    if current_thread() is main_thread():  # also where the parent process ignores it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    writer = _LineWriter(lines)
    session = Session(config, writer.write)
    try:
        if command:
            session.execute(" ".join(command))
            while not session.wait(POLL_S) and not writer.is_closed.is_set():
                pass
        else:
            read_lines(stdin, lines)
            _converse(session, lines)
    except KeyboardInterrupt:
        _close(session, INTERRUPTED_S, EXIT_INTERRUPTED)
        raise
    except BaseException:
        _close(session, CLOSING_S, 1)
        raise
    _close(session, CLOSING_S, 1)


def _close(session: Session, timeout_s: float, code: int) -> None:
    """Answer open commands and end. Where a task still compiles after ``timeout_s``, or a device
    hangs, the process ends at once with exit code ``code``."""
    if not session.close(timeout_s):
        os._exit(code)


def _converse(session: Session, lines: Lines) -> None:
    while True:
        try:  # a wait without timeout would not end at a signal that came just before
            item = lines.get(timeout=POLL_S)
        except Empty:
            continue
        if item is None or not session.execute(item[1], item[0]):
            return


def read_lines(descriptor: int, lines: Lines) -> Thread:
    """Start a thread that puts all lines into ``lines``. Bytes that are not UTF-8 are replaced.

    The descriptor is read without Python's buffer, which a thread must not hold at exit.
    """
    thread = Thread(target=_read, args=(descriptor, lines), name="reader", daemon=True)
    thread.start()
    return thread


def _read(descriptor: int, lines: Lines) -> None:
    rest = b""
    while True:
        try:
            chunk = os.read(descriptor, _CHUNK_BYTES)
        except OSError:
            chunk = b""
        now = monotonic()
        *whole, rest = (rest + chunk).split(b"\n")
        if rest and (not chunk or len(rest) > _LONGEST_BYTES):
            whole, rest = [*whole, rest], b""
        for line in whole:
            lines.put((now, line.decode("utf-8", "replace").rstrip("\r")))
        if not chunk:
            lines.put(None)
            return


class _LineWriter:
    """Writes whole lines at once, from any thread; ends the conversation when stdout is closed."""

    def __init__(self, lines: Lines) -> None:
        self._lines, self._lock = lines, Lock()
        self.is_closed = Event()
        """Set once the reader of stdout has gone."""

    def write(self, line: str) -> None:
        data = line.encode("utf-8", "replace") + b"\n"
        with self._lock:
            try:
                while data:
                    data = data[os.write(results_descriptor(), data) :]
            except OSError:
                self.is_closed.set()
                self._lines.put(None)
