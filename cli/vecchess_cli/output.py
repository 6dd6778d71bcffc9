"""Results on stdout, progress and notes on stderr.

A command prints its facts, nested plain values, as lines and tables for people, and with --json the
same facts as one object: ``print_result``. Names are those of the JSON, numbers are told by name.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

PIPE_WIDTH = 200
"""Columns where stdout is no terminal whose width counts."""
LONG_HEAD = 12
"""A longer heading of a table is broken between its words."""
SHARES = {"score", "expected", "share", "los", "agreement", "best_move", "engine_overhead"}
"""Names of numbers, 0 to 1, that are told in percent; so are "white_score" and "draw_share"."""
HIDDEN = frozenset(("schema", "rounds_positions_per_s"))
"""Names that only programs read."""

MEGABYTE = 10**6

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


def require_one_output(out: "Path | None", json: bool) -> None:
    """Refuse --json together with --out -, before anything is read."""
    if json and str(out) == "-":
        from vecchess.errors import ConfigError

        raise ConfigError("--json and --out - both want stdout: drop one")


def print_json(values: Mapping[str, Any]) -> None:
    """One object on one line of stdout: all that a command with --json prints there. A number that
    is not finite, which a file of others may hold, is null."""
    from vecchess.safe_parse import to_json_value

    typer.echo(json.dumps(to_json_value(values), allow_nan=False))


def notes() -> "Console":
    """stderr, for progress and notes, with colour only on a terminal that wants it."""
    from vecchess.runtime.terminal import note_console

    return note_console()


def note(line: str) -> None:
    """Print a line on stderr as it is."""
    notes().print(line, markup=False)


def results(json: bool = False) -> "Console":
    """stdout, for what a command found; with --json stderr, as stdout is for the object."""
    from vecchess.runtime.terminal import CleanConsole, note_console

    console = note_console() if json else CleanConsole(highlight=False, soft_wrap=True)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_WIDTH
    return console


def print_result(
    facts: Mapping[str, Any],
    json: bool,
    shown: Mapping[str, Any] | None = None,
    title: str = "",
) -> None:
    """Print what a command found, for people as ``print_facts`` does, and with ``json`` the object
    too. shown: what people read instead of ``facts``."""
    print_facts(results(json), facts if shown is None else shown, title)
    if json:
        print_json(facts)


def print_facts(console: "Console", facts: Mapping[str, Any], title: str = "") -> None:
    """Print nested values: a line for each that fits on one, then a table for each list of rows,
    and inner values that hold such lists under their name."""
    parts = {name: value for name, value in facts.items() if _is_nested(value)}
    lines = _folded({name: value for name, value in facts.items() if name not in parts})
    if any(lines.values()) or title:
        print_lines(console, [(name, text) for name, text in lines.items() if text], title)
    for name, value in parts.items():
        console.print()
        if isinstance(value, Mapping):
            print_facts(console, value, words_of(name))
        else:
            console.print(table(value, words_of(name)))


def print_lines(console: "Console", rows: Sequence[tuple[str, str]], title: str = "") -> None:
    """Names and values in two columns that are never broken: to copy paths and commands whole."""
    from rich.text import Text

    if title:
        console.print(Text(title, "italic"))
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        lines = text.replace("\n", "\n" + " " * (width + 2))
        console.print(Text.assemble((name.ljust(width), "bold"), f"  {lines}"))


def table(rows: Iterable[Mapping[str, Any]], title: str = "") -> "Table":
    """Rows of one kind as a table: texts to the left, figures to the right, no empty columns. A
    mapping of rows within a row stands below it, each with its name first."""
    from rich.table import Table
    from rich.text import Text

    flat = [line for row in rows for line in _with_inner_rows(row)]
    cells = [_folded(row) for row in flat]
    made = Table(
        box=None, pad_edge=False, header_style="dim", title=title or None, title_justify="left"
    )
    columns = dict.fromkeys(name for row in cells for name, text in row.items() if text)
    texts = {words_of(key) for row in flat for key, value in row.items() if isinstance(value, str)}
    for column in columns:
        is_text = column in texts
        made.add_column(
            Text(fill(column, LONG_HEAD, break_long_words=False)),
            justify="left" if is_text else "right",
            no_wrap=not is_text,
            overflow="fold",
        )
    for row in cells:
        made.add_row(*(Text(row.get(column, "")) for column in columns))
    return made


def _with_inner_rows(row: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    inner = {key: value for key, value in row.items() if _is_nested(value)}
    yield {key: value for key, value in row.items() if key not in inner}
    first = next(iter(row))
    for parts in inner.values():
        for name, part in parts.items():
            yield {first: f"  {words_of(name)}", **part}


def _is_nested(value: Any) -> bool:
    """Whether a value holds mappings, which no line has room for."""
    if isinstance(value, Mapping):
        return any(isinstance(one, Mapping) or _is_nested(one) for one in value.values())
    return isinstance(value, (list, tuple)) and any(isinstance(one, Mapping) for one in value)


def _folded(facts: Mapping[str, Any]) -> dict[str, str]:
    """Names and texts of values. An interval stands in brackets behind the value before it, as
    "score_interval" behind "score", or "elo_low" and "elo_high" behind "elo"."""
    lines: dict[str, str] = {}
    last = ""
    for name, value in facts.items():
        if name.endswith("_low"):
            value = value, facts[name.removesuffix("_low") + "_high"]
        if not name.endswith(("_low", "_high", "interval")):
            last = name
            if name not in HIDDEN:
                lines[words_of(name)] = text_of(name, value)
        elif value and not name.endswith("_high"):
            ends = [text_of(last, end) or "endless" for end in value]
            lines[words_of(last)] = f"{lines[words_of(last)]} [{', '.join(ends)}]".lstrip()
    return lines


def words_of(name: str) -> str:
    """A name of the JSON as people read it: "plies/s" of "plies_per_s"."""
    return name.replace("_per_s", "/s").replace("_", " ")


def text_of(name: str, value: Any) -> str:
    """A value of this name in words; "" for None."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int() if name.endswith("bytes") and value >= MEGABYTE:
            return f"{value / MEGABYTE:,.1f} MB"
        case int():
            return f"{value:,}"
        case float() if name in SHARES or name.endswith(("_share", "_score")):
            return f"{value:.1%}"
        case float():
            return f"{value:,.4g}" if abs(value) < 100 else f"{value:,.0f}"
        case Mapping():
            texts = {words_of(key): text_of(key, one) or "none" for key, one in value.items()}
            return ", ".join(f"{words} {text}" for words, text in texts.items())
        case list() | tuple():
            joint = "\n" if any(isinstance(one, str) for one in value) else ", "
            return joint.join(text_of(name, one) for one in value)
    return str(value)
