"""Reads a file that grows line by line: the lines that are new since the last read.

Decision 152.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from vecchess.monitor.small_file import Stamp, stamp
from vecchess.safe_parse import open_regular

BLOCK_BYTES = 1 << 22
LONGEST_LINE = 1 << 24
"""A longer line is not one of ours; nothing after it is read."""
MARK_BYTES = 96
"""Bytes before the end of the part read that have to be unchanged, or the file is another one."""


class LogTail:
    """Whole lines of a file. A last line without an end is not read: it may be incomplete.

    The file is read, not mapped: reading a mapped file that is truncated kills the process.
    """

    def __init__(self, path: Path) -> None:
        """Nothing is read yet; the file need not exist."""
        self.path = path
        self._seen: Stamp | None = None
        self._end = 0
        self._mark = b""

    @property
    def end(self) -> int:
        """Bytes read so far: the end of a line."""
        return self._end

    def was_replaced(self) -> bool:
        """Whether the file was truncated or replaced since the last read: then its earlier lines
        are void, and ``blocks`` begins at the start."""
        found = stamp(self.path)
        if found == self._seen or (found is not None and self._is_continued(found)):
            return False
        had_lines, self._end, self._mark = self._end > 0, 0, b""
        return had_lines

    def blocks(self) -> Iterator[tuple[int, memoryview]]:
        """(offset in the file, whole lines) of the part not read yet, some megabytes at a time."""
        found = stamp(self.path)
        if found in (None, self._seen):
            return
        self._seen = found
        try:
            with open_regular(self.path) as file:
                file.seek(self._end)
                while block := _whole_lines(file):
                    first, self._end = self._end, self._end + len(block)
                    self._mark = bytes(block[-MARK_BYTES:])
                    yield first, block
                    file.seek(self._end)
        except OSError:
            return

    def _is_continued(self, found: Stamp) -> bool:
        """Whether the part read is unchanged."""
        if self._seen is None or found[2] != self._seen[2] or found[1] < self._end:
            return False
        return self._is_marked()

    def _is_marked(self) -> bool:
        try:
            with open_regular(self.path) as file:
                file.seek(self._end - len(self._mark))
                return file.read(len(self._mark)) == self._mark
        except OSError:
            return False


def _whole_lines(file: BinaryIO) -> memoryview:
    """About a block from here on, up to the end of its last line; nothing where no line ends."""
    block = file.read(BLOCK_BYTES)
    while (end := block.rfind(b"\n") + 1) == 0:
        more = file.read(BLOCK_BYTES)
        if not more or len(block) > LONGEST_LINE:
            return memoryview(b"")
        block += more
    return memoryview(block)[:end]
