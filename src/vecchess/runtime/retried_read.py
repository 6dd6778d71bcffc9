"""Reading files that may be out of reach for a moment: a failed read tells nothing of the content.

A network file system (EIO, ESTALE, ENOENT) or a process without free handles or memory (EMFILE,
ENOMEM) refuses a read that succeeds a second later. Such a read is tried again, and ends the
command with one line if it goes on failing; only bytes that were read can be damaged.

Decision 217.
"""

import os
from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import Any, ParamSpec, TypeVar

from vecchess.errors import DataError, FileMissing, FileUnreadable
from vecchess.safe_parse import (
    MOST_BYTES,
    NotRegular,
    clip_line,
    is_schema,
    open_regular,
    parse_json_object,
)

P = ParamSpec("P")
T = TypeVar("T")
PAUSES_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Pauses between the attempts."""


def retried(read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of ``read(...)``, which is called again while it raises FileUnreadable.

    Raises FileUnreadable where the last attempt fails too, after some 3 s.
    """
    for pause_s in PAUSES_S:
        try:
            return read(*args, **kwargs)
        except FileUnreadable:
            sleep(pause_s)
    try:
        return read(*args, **kwargs)
    except FileUnreadable as error:
        advice = "see to the disk and its rights, then start again: nothing is lost"
        raise type(error)(f"{error} (tried {len(PAUSES_S) + 1} times); {advice}") from None


def read_file(path: Path) -> bytes:
    """All bytes of a regular file, by one attempt. Raises what ``unreadable`` makes."""
    try:
        with open_regular(path) as file:
            return file.read()
    except OSError as error:
        raise unreadable(path, error) from None


def read_named(path: Path, missing: Callable[[], Exception]) -> bytes:
    """All bytes of a file that a user named, read as often as ``retried`` does; where it is missing
    its name may be wrong, and ``missing()`` is raised at once."""

    def attempt() -> bytes:
        try:
            return read_file(path)
        except FileMissing:
            raise missing() from None

    return retried(attempt)


def read_json(
    path: Path, schema: int | None = None, most_bytes: int = MOST_BYTES
) -> dict[str, Any]:
    """The object in a small JSON file, without its ``schema``, which has to be that one, if given.

    Raises DataError where it is damaged, FileMissing or FileUnreadable where it cannot be read.
    """
    data = retried(read_file, path)
    try:
        values = parse_json_object(data, most_bytes)
        if schema is not None and not is_schema(found := values.pop("schema", None), schema):
            raise ValueError(f"schema {found}; this vecchess reads {schema}")
        return values
    except ValueError as error:
        raise DataError(f"{path} is damaged: {clip_line(error)}") from None


def list_folder(path: Path) -> list[str]:
    """The names in a folder, ascending; none where it is missing. Raises FileUnreadable."""
    try:
        return sorted(os.listdir(path))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> DataError:
    """The error for a failed read of ``path``: FileUnreadable, unless it is no regular file."""
    kind: type[DataError] = FileMissing if isinstance(error, FileNotFoundError) else FileUnreadable
    if isinstance(error, NotRegular):
        kind = DataError
    return kind(f"cannot read {path}: {error.strerror or error}")
