"""A file that grows line by line, read once: what is new since the last look, in blocks."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from vecchess.monitor.small_file import Stamp, stamp
from vecchess.safe_parse import open_regular

BLOCK_BYTES = 1 << 22
LONGEST_LINE = 1 << 24
"""What has no end by then is no line of ours, and what follows it is not read."""
MARK_BYTES = 96
"""So much before the end of what was read has to be there still, or the file is another one."""


class LogTail:
    """Whole lines of a file. A last line without an end is left alone: it may be in the writing.

    The file is read, not mapped: reading a mapped file that somebody cuts kills the process.
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

    def is_new(self) -> bool:
        """Whether the file is another one than was read, cut or replaced: then its lines are to be
        forgotten, and ``blocks`` begins at the start."""
        found = stamp(self.path)
        if found == self._seen or (found is not None and self._goes_on(found)):
            return False
        had_lines, self._end, self._mark = self._end > 0, 0, b""
        return had_lines

    def blocks(self) -> Iterator[tuple[int, memoryview]]:
        """(place in the file, whole lines) of what was not read yet, some megabytes at a time."""
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

    def _goes_on(self, found: Stamp) -> bool:
        """Whether what was read is still where it was."""
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
