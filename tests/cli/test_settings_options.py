"""Options made from settings: names, types, ranges, defaults, help and panels."""

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from pydantic import Field

from vecchess.config.settings import Settings
from vecchess_cli.options import command_app, settings_options
from vecchess_cli.root import load_command


class Inner(Settings):
    """Nested settings."""

    share: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Share of the games. A second sentence is for readers of the code."""


class Example(Settings):
    """Settings of an example."""

    games: Annotated[int, Field(ge=1)] = 64
    """Games to play."""
    kind: Literal["none", "puct"] = "none"
    """How ``moves`` are chosen."""
    exits: bool = True
    """Leave early."""
    flip: bool = False
    """Flip the board."""
    data: tuple[Path, ...] = ()
    """Files; repeatable."""
    history: Annotated[int, Field(ge=1, le=8)] | None = None
    """Positions."""
    unlisted: int = 3
    """Without an option."""
    inner: Inner = Field(default_factory=Inner)
    """Nested."""


PANELS = {"First": "games kind out config", "More": "share exits flip data history"}
given: dict[str, Any] = {}


@settings_options(Example, PANELS, aliases={"games": ("--number",)})
def example(
    flags: dict[str, Any],
    name: Annotated[str, typer.Argument(help="A name.")],
    out: Annotated[Path | None, typer.Option(help="A file.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet")] = False,
) -> None:
    """Try it."""
    given.update(flags)


def call(*arguments: str) -> dict[str, Any]:
    given.clear()
    typer.main.get_command(command_app(example))(arguments, standalone_mode=False)
    return dict(given)


def test_what_is_not_given_is_none() -> None:
    names = ("games", "kind", "share", "exits", "flip", "data", "history")
    others = {"name": "x", "out": None, "config": None, "quiet": False}
    assert call("x") == dict.fromkeys(names) | others


def test_values_go_to_the_model_as_they_were_typed() -> None:
    found = call("x", "--number", "many", "--no-exits", "--flip", "--data", "a", "--data", "b")
    assert (found["games"], found["exits"], found["flip"]) == ("many", False, True)
    assert found["data"] == ["a", "b"]


def test_the_help_has_panels_with_ranges_and_defaults_once() -> None:
    command: Any = typer.main.get_command(command_app(example))
    context = command.context_class(command, info_name="example", terminal_width=100)
    text = command.get_help(context)
    sections = [line for line in text.splitlines() if line.endswith(":")]
    assert sections == ["Arguments:", "First:", "More:", "Output and help:"]
    assert "--games, --number N  Games to play.  [default: 64; x>=1]" in text
    assert "--kind none|puct     How moves are chosen.  [default: none]" in text
    assert "Share of the games.  [default: 0.5; 0<x<=1]" in text
    assert "second sentence" not in text
    assert "[1<=x<=8]" in text
    assert "--exits / --no-exits" in text
    assert "unlisted" not in text


@pytest.mark.parametrize("name", ["selfplay", "train", "match", "eval", "analyse"])
def test_ten_options_come_first(name: str) -> None:
    command = load_command(name)
    first = [p for p in command.params if getattr(p, "rich_help_panel", "") == "Used first"]
    assert len(first) == 10


def test_no_default_stands_in_a_help_text() -> None:
    """They come from the settings alone."""
    for name in ("selfplay", "train", "match", "analyse", "uci"):
        for parameter in load_command(name).params:
            text = (getattr(parameter, "help", "") or "").partition("  [")[0]
            assert "[" not in text, (name, parameter.name)
