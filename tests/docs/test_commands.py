"""Every command has its help and an example on a page."""

from pathlib import Path
from typing import Any

import typer

from tests.docs.blocks import ROOT, blocks_of
from tests.docs.calls import calls
from vecchess_cli.root import COMMANDS, app, load_command

PAGES = sorted((ROOT / "docs" / "commands").glob("*.md"))


def leaves(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not hasattr(command, "list_commands"):
        return [path]
    names = command.list_commands(None)
    return [leaf for n in names for leaf in leaves(command.get_command(None, n), (*path, n))]


def test_the_root_help_begins_as_each_command_does() -> None:
    for lines in COMMANDS.values():
        for name, line in lines.items():
            assert " ".join(load_command(name).help.split()).startswith(line[:-1])


def test_every_command_has_its_help() -> None:
    helped = [name for page in PAGES for name in _helped(page)]
    assert sorted(helped) == sorted(leaves(typer.main.get_command(app)))


def test_every_command_has_an_example_with_what_it_prints() -> None:
    shown: set[tuple[str, ...]] = set()
    known = set(leaves(typer.main.get_command(app)))
    for page in PAGES:
        for block in blocks_of(page):
            printed = [line for line in block.text.splitlines() if not line.startswith("$ ")]
            if block.language == "console" and printed:
                for command in block.commands:
                    for arguments in calls(command):
                        shown |= {tuple(arguments[:1]), tuple(arguments[:2])} & known
    assert sorted(shown) == sorted(known)


def _helped(page: Path) -> list[tuple[str, ...]]:
    """What the directives of a page ask the help of."""
    lines = page.read_text().splitlines()
    fences = [lines[block.line - 1] for block in blocks_of(page)]
    return [tuple(fence.split()[1:]) for fence in fences if "{vecchess-help}" in fence]
