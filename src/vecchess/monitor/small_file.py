"""Reads a small file that is replaced now and then, again only when it changed."""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from vecchess.safe_parse import MOST_BYTES, read_bytes

T = TypeVar("T")
Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp | None:
    """Time, size and inode of a file, which change when it does; None where it is missing."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class SmallFile(Generic[T]):
    """The parsed value of a file."""

    def __init__(
        self,
        path: Path,
        parse: Callable[[bytes], T],
        nothing: T,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """``nothing``: the value of a file that is missing, longer than ``most_bytes``, or that
        ``parse`` raises ValueError, KeyError or TypeError for."""
        self.path, self.value = path, nothing
        self._parse, self._nothing, self._most_bytes = parse, nothing, most_bytes
        self._stamp: Stamp | None = None

    def refresh(self) -> bool:
        """Read the file if it is another one than before; returns whether it is."""
        found = stamp(self.path)
        if found == self._stamp:
            return False
        self._stamp = found
        try:
            self.value = self._parse(read_bytes(self.path, self._most_bytes))
        except (OSError, ValueError, KeyError, TypeError):
            self.value = self._nothing
        return True
