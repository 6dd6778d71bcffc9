"""Files written whole or not at all, and lines added whole or not at all.

A folder may be somebody else's: neither links nor pipes that lie there are followed or opened.
"""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from vecchess.errors import ConfigError, DataError, VecchessError, write_error
from vecchess.runtime.retried_read import read_file, retried

PARTIAL_PREFIX = ".partial-"
"""Prefix of files that are being written; one that a lost writer left is never read."""
TOKEN_BYTES = 8
"""Random bytes in the name of a partial file of which there may be several."""
_BLOCK_BYTES = 1 << 12


@contextmanager
def path_refusals(path: Path, mistake: type[VecchessError] = DataError) -> Iterator[None]:
    """Turn errors of the system about ``path``, which is written or removed within the block:
    into DiskFull if retrying may help, ``mistake`` for a bad place, else DataError."""
    try:
        yield
    except OSError as error:
        raise write_error(f"cannot write {path}", error, mistake) from None


def require_place(file: Path, is_new: bool = False) -> None:
    """Raise ConfigError where ``file`` could not be written, before hours are spent on it; with
    ``is_new`` also where something has that name."""
    if is_new and file.exists():
        raise ConfigError(f"{file} is there already: choose another name")
    if file.is_dir():
        raise ConfigError(f"{file} is a folder: name a file in it")
    require_parent(file)


def require_parent(path: Path) -> None:
    """Raise ConfigError where the folder that ``path`` would be in is missing."""
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"there is no folder {path.parent} to write {path.name} to")


def remove_file(path: Path) -> None:
    """Remove a file, if it is there. Raises DataError where the system refuses."""
    with path_refusals(path):
        path.unlink(missing_ok=True)


def open_new(path: Path) -> BinaryIO:
    """A new file to write, in place of whatever has that name; raises OSError."""
    with suppress(FileNotFoundError):
        os.remove(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, 0o666), "wb")


def open_own(path: Path, flags: int) -> int:
    """A descriptor of the file at ``path``, with ``flags`` of ``os.open``; it is made if it is
    missing. Raises OSError for a link, a pipe and whatever else is no regular file."""
    flags |= os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise OSError(errno.EINVAL, "it is no regular file")


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that is in it, or what else has its name: ``rmtree`` would open a
    pipe, and wait. What cannot be removed stays."""
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder, ignore_errors=True)
        return
    with suppress(OSError):
        folder.unlink(missing_ok=True)


def write_atomically(
    path: Path, data: bytes, durably: bool = True, mistake: type[VecchessError] = DataError
) -> None:
    """Replace ``path`` by a file with ``data``: partial name, fsync, rename, fsync.

    ``durably``: the file has to outlive a crash of the machine; without it there is no fsync.
    Raises DataError with one line where that fails, ``mistake`` for a bad place; the old file
    stays.
    """
    partial = path.with_name(PARTIAL_PREFIX + path.name)
    with path_refusals(path, mistake):
        try:
            _write_new(partial, data, durably)
            _rename(partial, path, data)
            if durably:
                sync_directory(path.parent)
        except BaseException:  # of the system, or Ctrl-C
            _remove(partial)
            raise


def write_shared(path: Path, data: bytes, replaces: bool) -> bool:
    """Write a file that several processes and machines may write at once, whole and durably.

    Makes the folder if it is missing. Unless ``replaces``, a file that is there stays, and the
    result is whether this call has made it. Raises OSError.
    """
    _make_folder(path.parent)
    partial = own_partial(path)
    try:
        _write_new(partial, data, durably=True)
        if replaces:
            _rename(partial, path, data)
        else:
            os.link(partial, path)
        sync_directory(path.parent)
        return True
    except FileExistsError:  # of a network file system it can be the second answer to one link
        return partial.stat().st_nlink > 1
    finally:
        _remove(partial)


def own_partial(path: Path) -> Path:
    """A partial name for what several writers may make at once: no other one has it."""
    return path.with_name(f"{PARTIAL_PREFIX}{token_hex(TOKEN_BYTES)}-{path.name}")


def append_line(path: Path, line: bytes, durably: bool = True) -> int:
    """Append ``line`` to a file that ends with a whole line, or to a new file.

    Returns the new size. Raises DataError where the disk refuses; the file is then as it was,
    unless truncating it fails too. ``durably``: see ``write_atomically``.
    """
    with path_refusals(path):
        is_new = not os.path.lexists(path)
        size = 0 if is_new else path.lstat().st_size
        try:
            with os.fdopen(open_own(path, os.O_WRONLY | os.O_APPEND), "ab") as file:
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


def whole_lines(path: Path) -> list[bytes]:
    """The lines of an untrusted file with their ends; one that is being written is left out.

    Raises FileUnreadable.
    """
    data = retried(read_file, path)
    return data[: data.rfind(b"\n") + 1].splitlines(keepends=True)


def truncate_partial_line(path: Path) -> None:
    """Remove what a lost writer left after the last whole line. Raises OSError."""
    if os.path.lexists(path):
        with os.fdopen(open_own(path, os.O_RDWR), "rb+") as file:
            size = file.seek(0, os.SEEK_END)
            if (end := _end_of_lines(file, size)) < size:
                file.truncate(end)


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


def _write_new(path: Path, data: bytes, durably: bool) -> None:
    with open_new(path) as file:
        file.write(data)
        file.flush()
        if durably:
            os.fsync(file.fileno())


def _make_folder(folder: Path) -> None:
    """Make ``folder`` durably."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_directory(folder.parent)


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
            with os.fdopen(open_own(path, os.O_WRONLY), "wb") as file:
                file.truncate(size)


def _remove(partial: Path) -> None:
    with suppress(OSError):  # the disk has become read-only
        partial.unlink(missing_ok=True)


def _end_of_lines(file: BinaryIO, size: int) -> int:
    """Offset after the last whole line of a file of ``size`` bytes, which is read from its end."""
    end = size
    while end:
        first = max(0, end - _BLOCK_BYTES)
        file.seek(first)
        place = file.read(end - first).rfind(b"\n")
        if place >= 0:
            return first + place + 1
        end = first
    return 0
