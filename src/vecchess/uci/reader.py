"""Lines from a file descriptor, each with the time it came, read by a thread of its own."""

import os
from queue import SimpleQueue
from threading import Thread
from time import monotonic

Lines = SimpleQueue[tuple[float, str] | None]
"""Lines with the time they came (``monotonic``, s); None where there will be no more."""
_CHUNK_BYTES = 1 << 16
_LONGEST_BYTES = 1 << 22
"""What comes without a line's end is cut there."""


def read_lines(descriptor: int, lines: Lines) -> Thread:
    """Put what comes into ``lines`` until it ends. Bytes that are not UTF-8 are replaced.

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
