"""Data on stdout, people on stderr."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

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
