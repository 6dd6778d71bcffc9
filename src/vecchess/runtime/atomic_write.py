"""Files written whole or not at all, and lines added whole or not at all."""

import errno
import os
from contextlib import suppress
from pathlib import Path

from vecchess.errors import VecchessError, write_error
from vecchess.runtime.retried_read import read_file, retried

PARTIAL_PREFIX = ".partial-"
"""Prefix of files that are being written; one that a lost writer left is never read."""
_BLOCK_BYTES = 1 << 12


def path_write_error(path: Path, error: OSError) -> VecchessError:
    """The error for a failed write to ``path``: DiskFull if retrying may help, else DataError."""
    return write_error(f"cannot write {path}", error)


def write_atomically(path: Path, data: bytes, durably: bool = True) -> None:
    """Replace ``path`` by a file with ``data``: partial name, fsync, rename, fsync.

    ``durably``: the file has to outlive a crash of the machine; without it there is no fsync.
    Raises DataError with one line where that fails; the old file stays.
    """
    partial = path.with_name(PARTIAL_PREFIX + path.name)
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            if durably:
                os.fsync(file.fileno())
        _rename(partial, path, data)
        if durably:
            sync_directory(path.parent)
    except OSError as error:
        _remove(partial)
        raise path_write_error(path, error) from None
    except BaseException:  # Ctrl-C
        _remove(partial)
        raise


def append_line(path: Path, line: bytes, durably: bool = True) -> int:
    """Append ``line`` to a file that ends with a whole line, or to a new file.

    Returns the new size. Raises DataError where the disk refuses; the file is then as it was,
    unless truncating it fails too. ``durably``: see ``write_atomically``.
    """
    try:
        is_new = not path.exists()
        size = 0 if is_new else path.stat().st_size
        try:
            with path.open("ab") as file:
                file.write(line)
                file.flush()
                if durably:
                    os.fsync(file.fileno())
        except OSError:
            _undo_append(path, size, is_new)
            raise
        if is_new and durably:
            sync_directory(path.parent)
        return size + len(line)
    except OSError as error:
        raise path_write_error(path, error) from None


def whole_lines(path: Path) -> list[bytes]:
    """The lines of an untrusted file with their ends; one that is being written is left out.

    Raises FileUnreadable.
    """
    data = retried(lambda: read_file(path))
    return data[: data.rfind(b"\n") + 1].splitlines(keepends=True)


def truncate_partial_line(path: Path) -> None:
    """Remove what a lost writer left after the last whole line. Raises OSError."""
    if path.exists():
        size = path.stat().st_size
        if (end := _end_of_lines(path, size)) < size:
            os.truncate(path, end)


def sync_directory(directory: Path) -> None:
    """Make renames in ``directory`` durable, where the system lets a directory be synced."""
    try:
        handle = os.open(directory, os.O_RDONLY)
    except OSError:  # Windows opens no directories; its renames need no sync
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems
            raise
    finally:
        os.close(handle)


def _rename(partial: Path, path: Path, data: bytes) -> None:
    """Rename; a network file system may do it, lose the answer, retry and report a missing file."""
    try:
        partial.replace(path)
    except FileNotFoundError:
        if not path.exists() or path.read_bytes() != data:
            raise


def _undo_append(path: Path, size: int, is_new: bool) -> None:
    """Undo a failed append to a file of ``size`` bytes."""
    with suppress(OSError):
        if is_new:
            path.unlink(missing_ok=True)
        else:
            os.truncate(path, size)


def _remove(partial: Path) -> None:
    with suppress(OSError):  # the disk has become read-only
        partial.unlink(missing_ok=True)


def _end_of_lines(path: Path, size: int) -> int:
    """Offset after the last whole line of a file of ``size`` bytes, which is read from its end."""
    with path.open("rb") as file:
        end = size
        while end:
            first = max(0, end - _BLOCK_BYTES)
            file.seek(first)
            place = file.read(end - first).rfind(b"\n")
            if place >= 0:
                return first + place + 1
            end = first
    return 0
