"""Locks that processes hold on a file while they change what it stands for (flock)."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from vecchess.errors import FileBusy
from vecchess.runtime.atomic_write import open_own, path_refusals

_POLL_S = 0.01


@contextmanager
def file_lock(path: Path, timeout_s: float, holder: str) -> Iterator[None]:
    """Hold the lock of the file ``path``, which is made if it is missing.

    Raises FileBusy where another process holds it for longer than ``timeout_s``: ``holder`` names
    that process. DataError where the file cannot be made. A killed process holds no lock.
    """
    with path_refusals(path):
        handle = open_own(path, os.O_RDWR)
    try:
        deadline = monotonic() + timeout_s
        while not try_lock(handle):
            if monotonic() >= deadline:
                raise FileBusy(f"{path} is locked by {holder}")
            sleep(_POLL_S)
        yield
    finally:
        os.close(handle)


def try_lock(handle: int) -> bool:
    """Lock an open file for this process; True where the file system has no such locks."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True
