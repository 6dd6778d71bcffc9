"""Data on stdout, people on stderr."""

import json
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_INTERVAL_S = 10.0
LIVE_INTERVAL_S = 0.5

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


def print_json(values: dict[str, Any]) -> None:
    """One object on one line of stdout, the last line a command prints there."""
    typer.echo(json.dumps(values))


def people() -> "Console":
    """Where people read: stderr, with colour only on a terminal that wants it."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def print_table(title: str, rows: list[tuple[str, str]]) -> None:
    """Names and values in two columns, for people."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False, title=title, title_justify="left")
    for row in rows:
        table.add_row(*row)
    people().print(table)


def print_rows(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A table with a heading for each column, figures to the right, for people."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left")
    for row in rows:
        table.add_row(*row)
    people().print(table)


class ProgressLine:
    """One line that is redrawn on a terminal, and printed every ten seconds elsewhere."""

    def __init__(self) -> None:
        """On a terminal the line stands from the start, elsewhere it waits for the first ten."""
        self._console = people()
        self._status = self._console.status("starting") if self._console.is_terminal else None
        self._next = monotonic() + (0.0 if self._status else PLAIN_INTERVAL_S)

    def __enter__(self) -> "ProgressLine":
        """Take the terminal's last line."""
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        if self._status:
            self._status.stop()

    def show(self, text: Callable[[], str]) -> None:
        """Where things stand, if it is time to say it."""
        if monotonic() < self._next:
            return
        if self._status:
            self._next = monotonic() + LIVE_INTERVAL_S
            self._status.update(text())
        else:
            self._next = monotonic() + PLAIN_INTERVAL_S
            self._console.print(text())

    def say(self, line: str) -> None:
        """Print ``line``, which stays."""
        self._console.print(line, markup=False)
