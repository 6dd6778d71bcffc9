"""The terminal: what others wrote is shown there without changing it."""

from collections.abc import Iterable
from typing import Any

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


def note_console(**settings: Any) -> CleanConsole:
    """The console of notes and progress, stderr, which breaks no lines of its own accord."""
    return CleanConsole(stderr=True, highlight=False, soft_wrap=True, **settings)
