"""The display of long work: redrawn in place on a terminal, elsewhere a line every ten seconds.

rich is imported when a display begins: importing this module is cheap.
"""

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

PLAIN_INTERVAL_S = 10.0
LIVE_INTERVAL_S = 0.25
BAR_WIDTH = 28


class ProgressDisplay:
    """Shows where some work stands, for as long as the display is entered.

    On a terminal that can be redrawn (``NO_COLOR`` takes the colours away, ``TERM=dumb`` the
    redrawing) the last lines are replaced four times a second; elsewhere a line is printed every
    ten seconds. A quiet display shows no progress; ``print`` still prints.
    """

    def __init__(self, console: "Console", quiet: bool = False) -> None:
        """All lines go to ``console``; the first drawing comes with ``update``."""
        self.console, self.is_quiet = console, quiet
        self.is_live = not quiet and console.is_terminal and not console.is_dumb_terminal
        self._live: Live | None = None
        self._next = 0.0
        self.restart()

    def __enter__(self) -> Self:
        """Begin to redraw the terminal's last lines."""
        if self.is_live:
            from rich.live import Live

            self._live = Live(console=self.console, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what is drawn in place."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def update(
        self,
        line: Callable[[], str],
        picture: "Callable[[], RenderableType] | None" = None,
    ) -> None:
        """Show the state if it is time to: ``picture`` (or else ``line``) in place, ``line`` as a
        plain line. Only what is shown is computed."""
        if self.is_quiet or monotonic() < self._next:
            return
        if self._live is not None:
            self.draw(picture() if picture is not None else line())
        elif not self.is_live:
            self.print(line())
        self._next = monotonic() + (LIVE_INTERVAL_S if self.is_live else PLAIN_INTERVAL_S)

    def draw(self, picture: "RenderableType") -> None:
        """Replace what is drawn in place at once, by nothing for ""; without effect elsewhere."""
        if self._live is not None:
            from rich.text import Text

            text = Text(picture) if isinstance(picture, str) else picture
            self._live.update(text, refresh=True)

    def print(self, line: str) -> None:
        """Print a line that stays, above what is drawn; a terminal breaks it between words."""
        whole = not self.console.is_terminal
        self.console.print(line, highlight=False, markup=False, soft_wrap=whole)

    def restart(self) -> None:
        """Begin a new stretch: the next plain line comes in ten seconds, a drawing at once."""
        self._next = monotonic() + (0.0 if self.is_live else PLAIN_INTERVAL_S)


def bar_line(done: float, total: float | None, *texts: str, last: str = "") -> "RenderableType":
    """A bar filled by ``done / total`` with texts beside it in one row, the ``last`` one dim.

    ``total`` None: there is no end.
    """
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    row = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=total, completed=done, width=BAR_WIDTH)
    row.add_row(bar, *map(Text, texts), Text(last, style="dim"))
    return row
