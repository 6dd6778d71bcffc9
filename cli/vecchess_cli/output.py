"""Results on stdout, progress and notes on stderr."""

import json
import os
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

PIPE_WIDTH = 200
"""Columns where stdout is no terminal whose width counts."""
LONG_HEAD = 16
"""A longer heading of a table may be broken."""

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


def print_json(values: dict[str, Any]) -> None:
    """One object on one line of stdout: all that a command with --json prints there."""
    typer.echo(json.dumps(values))


def notes() -> "Console":
    """stderr, for progress and notes, with colour only on a terminal that wants it."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def note(line: str) -> None:
    """Print a line on stderr as it is."""
    notes().print(line, markup=False)


def results(json: bool = False) -> "Console":
    """stdout, for what a command found; with --json stderr, as stdout is for the object."""
    from rich.console import Console

    console = Console(stderr=json, highlight=False, soft_wrap=True)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_WIDTH
    return console


def print_rows(
    console: "Console",
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence["str | Text"]],
    words: Collection[str] = (),
) -> None:
    """A table with a heading for each column: texts to the left in the first column and in those of
    ``words``, figures to the right in the others."""
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=None, pad_edge=False, header_style="dim", title=title or None, title_justify="left"
    )
    for index, column in enumerate(columns):
        is_words = index == 0 or column in words
        table.add_column(
            Text(column),
            justify="left" if is_words else "right",
            no_wrap=not is_words and len(column) <= LONG_HEAD,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    console.print(table)


def print_lines(console: "Console", rows: list[tuple[str, str]], title: str = "") -> None:
    """Names and values in two columns that are never broken: to copy paths and commands whole."""
    from rich.text import Text

    if title:
        console.print(Text(title, "italic"))
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        console.print(Text.assemble((name.ljust(width), "bold"), f"  {text}"))
