"""Reads files that change: small ones that are replaced, and logs that grow line by line.

A small file is read again only when it changed, of a log the lines that are new since the last read
(decision 152: how a log that was replaced is told). A read that fails tells nothing of the content:
what was read before stays (decision 217).
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

from vecchess.safe_parse import MOST_BYTES, NotRegular, open_regular, read_bytes

BLOCK_BYTES = 1 << 22
LONGEST_LINE = 1 << 24
"""A longer line is not one of ours; nothing after it is read."""
MARK_BYTES = 96
"""Bytes before the end of the part read that have to be unchanged, or the file is another one."""
T = TypeVar("T")
Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp | None:
    """Time, size and inode of a file, which change when it does; None where it is missing."""
    try:
        return _read_stamp(path)
    except OSError:
        return None


def _read_stamp(path: Path) -> Stamp:
    """As ``stamp``, but raises OSError where the file is missing or out of reach."""
    status = path.stat()
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
        """Read the file if it is another one than before; returns whether it is. Where reading
        fails, which tells nothing of the content, the value stays, and it is read the next time."""
        found = stamp(self.path)
        if found == self._stamp:
            return False
        try:
            self.value = self._parse(read_bytes(self.path, self._most_bytes))
        except (FileNotFoundError, NotRegular, ValueError, KeyError, TypeError):
            self.value = self._nothing
        except OSError:
            return False
        self._stamp = found
        return True


class LogTail:
    """Whole lines of a file. A last line without an end is not read: it may be incomplete.

    The file is read, not mapped: reading a mapped file that is truncated kills the process.
    """

    def __init__(self, path: Path) -> None:
        """The file is not read yet, and need not exist."""
        self.path = path
        self._found: Stamp | None = None
        self._seen: Stamp | None = None
        self._is_failed = False
        """Whether the last read failed: the rest is read though the file is the same."""
        self._end = 0
        self._mark = b""

    @property
    def end(self) -> int:
        """Bytes read so far: the end of a line."""
        return self._end

    def was_replaced(self) -> bool:
        """Whether the file was truncated, replaced or removed since the last read: then its earlier
        lines are void, and ``blocks`` begins at the start."""
        self._found = None
        try:
            self._found = _read_stamp(self.path)
            if self._found == self._seen or self._is_continued(self._found):
                return False
        except (FileNotFoundError, NotRegular):
            pass
        except OSError:
            self._found = None
            return False
        had_lines, self._end, self._mark, self._seen = self._end > 0, 0, b"", None
        return had_lines

    def blocks(self) -> Iterator[tuple[int, memoryview]]:
        """(offset in the file, whole lines) of the part not read yet, some megabytes at a time, of
        the file that ``was_replaced`` found."""
        if self._found is None or (self._found == self._seen and not self._is_failed):
            return
        self._seen, self._is_failed = self._found, False
        try:
            with open_regular(self.path) as file:
                file.seek(self._end)
                while block := _whole_lines(file):
                    first, self._end = self._end, self._end + len(block)
                    self._mark = bytes(block[-MARK_BYTES:])
                    yield first, block
                    file.seek(self._end)
        except OSError:
            self._is_failed = True

    def _is_continued(self, found: Stamp) -> bool:
        """Whether the part read is unchanged; raises OSError where it cannot be read."""
        if self._seen is None or found[2] != self._seen[2] or found[1] < self._end:
            return False
        with open_regular(self.path) as file:
            file.seek(self._end - len(self._mark))
            return file.read(len(self._mark)) == self._mark


def _whole_lines(file: BinaryIO) -> memoryview:
    """About a block from here on, up to the end of its last line; nothing where no line ends."""
    block = file.read(BLOCK_BYTES)
    while (end := block.rfind(b"\n") + 1) == 0:
        more = file.read(BLOCK_BYTES)
        if not more or len(block) > LONGEST_LINE:
            return memoryview(b"")
        block += more
    return memoryview(block)[:end]
