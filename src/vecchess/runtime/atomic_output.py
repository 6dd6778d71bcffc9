"""Output of a command: a file or a folder that is there whole or not at all, or stdout.

Of several exports to one place each writes under a name of its own: the last file stays, and the
first folder. Decision 101.
"""

import glob
import io
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

from vecchess.errors import ConfigError, DataError
from vecchess.runtime.atomic_write import (
    PARTIAL_PREFIX,
    TOKEN_BYTES,
    open_new,
    own_partial,
    remove_folder,
    require_parent,
    sync_directory,
)

STDOUT = "-"
LEFT_S = 86400.0
"""A partial file that nobody wrote to for so long is one that a killed export has left."""


@contextmanager
def binary_file(out: Path) -> Iterator[BinaryIO]:
    """Write to ``out``, which is replaced when all is written; "-" is stdout.

    A pipe or a device is written to, not replaced. Raises ConfigError where its folder is
    missing, DataError where writing fails; a failed attempt leaves nothing behind.
    """
    if str(out) == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    require_parent(out)
    try:
        if out.exists() and not out.is_file():
            with out.open("wb") as file:
                yield file
        else:
            with _replacing(out.resolve()) as file:
                yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DataError(f"cannot write {out}: {error.strerror}") from None


@contextmanager
def text_file(out: Path) -> Iterator[TextIO]:
    """Write text in UTF-8, as ``binary_file``, with lines that end in a newline; characters that it
    does not have, as odd names of files, become question marks."""
    with binary_file(out) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="\n")
        try:
            yield text
            text.flush()
        finally:
            text.detach()


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """A folder to fill, which becomes ``out`` at the end; if that fails nothing is left.

    Raises ConfigError where ``out`` is not empty or cannot be made, DataError where writing fails.
    """
    require_parent(out)
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ConfigError(f"{out} is there already: choose another --out, or take it away")
    partial = _new_partial(out.absolute())
    try:
        partial.mkdir()
        yield partial
        _sync_files(partial)
        if out.exists():
            out.rmdir()
        partial.replace(out)
        sync_directory(partial.parent)
    except OSError as error:
        raise DataError(f"cannot write {out}: {error.strerror}") from None
    finally:
        remove_folder(partial)


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    partial = _new_partial(path)
    try:
        with open_new(partial) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        sync_directory(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def _new_partial(path: Path) -> Path:
    """A partial name of ``path`` for this export; what killed ones have left is removed."""
    any_token = "?" * (2 * TOKEN_BYTES)
    for left in path.parent.glob(f"{PARTIAL_PREFIX}{any_token}-{glob.escape(path.name)}"):
        with suppress(OSError):  # another export has just ended
            if time.time() - left.lstat().st_mtime > LEFT_S:
                remove_folder(left)
    return own_partial(path)


def in_run_folder(path: Path) -> Path:
    """``path``, where an export goes unless the user names another place.

    Raises ConfigError for a link, a pipe or a device that lies there: the folder may be somebody
    else's.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise ConfigError(f"{path} is no file of its own: take it away, or give another --out")
    return path


def _sync_files(folder: Path) -> None:
    """Make all files of ``folder`` durable."""
    for path in folder.iterdir():
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    sync_directory(folder)
