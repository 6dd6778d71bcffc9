"""The terminal: what others wrote is shown there without changing it."""

import errno
from collections.abc import Iterable
from typing import IO, Any, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from vecchess.safe_parse import printable


class CleanConsole(Console):
    """rich's console; texts reach it from runs, files and networks of others, and a title, a
    cleared screen or turned letters are not theirs to make."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments of ``renderable``, whose texts are printable."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else printable(segment.text)
            yield segment if text == segment.text else Segment(text, segment.style)


class _LossyFile:
    """A file that drops what its device does not take: no run ends because a log's disk is full.
    A reader that has gone is told of as ever."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, text: str) -> int:
        """Write ``text``, or not."""
        try:
            self._file.write(text)
        except OSError as error:
            _raise_lost_reader(error)
        return len(text)

    def flush(self) -> None:
        """Flush, or not."""
        try:
            self._file.flush()
        except OSError as error:
            _raise_lost_reader(error)


def _raise_lost_reader(error: OSError) -> None:
    if error.errno == errno.EPIPE:
        raise error


class _NoteConsole(CleanConsole):
    @property  # type: ignore[misc]
    def file(self) -> IO[str]:
        """stderr as it is now; it loses what it cannot take."""
        return cast(IO[str], _LossyFile(super().file))


def note_console(**settings: Any) -> CleanConsole:
    """The console of notes and progress, stderr, which breaks no lines of its own accord. What the
    system does not take, as on a full disk, is dropped."""
    return _NoteConsole(stderr=True, highlight=False, soft_wrap=True, **settings)
