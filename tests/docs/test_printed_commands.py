"""What the program, its pages and its templates tell people to type is understood by it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from tests.docs.blocks import ROOT
from tests.docs.calls import calls, check_call
from tests.docs.test_commands import leaves
from vecchess_cli.root import app

SOURCES = sorted(p for folder in ("src", "cli") for p in (ROOT / folder).rglob("*.py"))
TEMPLATES = sorted(
    p for kind in ("toml", "sbatch", "yml") for p in (ROOT / "configs").rglob(f"*.{kind}")
)
PAGES = sorted((ROOT / "web" / "src").rglob("*.ts*"))
VALUE = "1"
"""What a value is that only a run knows: read as a number, a name, or a file."""
COMMANDS = {" ".join(leaf) for leaf in leaves(typer.main.get_command(app))}
"""All of them, "net info"."""
FIRST_WORDS = {name.split()[0] for name in COMMANDS}
FLAG = re.compile(r"(?<![\w\-/`.])--[a-z][a-z0-9-]+")


def strings(file: Path) -> Iterator[tuple[str, str]]:
    """Where each string of a source begins, and its text with ``VALUE`` for what is filled in."""
    tree = ast.parse(file.read_text())
    parts = {id(v) for j in ast.walk(tree) if isinstance(j, ast.JoinedStr) for v in j.values}
    for node in ast.walk(tree):
        where = f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.JoinedStr):
            yield (
                where,
                "".join(v.value if isinstance(v, ast.Constant) else VALUE for v in node.values),
            )
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts
        ):
            yield where, node.value


def commands_in(text: str) -> Iterator[str]:
    """Commands that stand by themselves: a line of an example, a whole string, or in backticks."""
    for line in text.splitlines():
        shown = re.match(r"\s*(?:# *|Examples?: +|\$ )?(vecchess [a-z].*[^.:,])$", line)
        if shown and (line.strip() == text or not line.startswith("vecchess")):
            yield re.split(r"\s{2,}#", shown[1])[0]
    yield from re.findall(r"`(vecchess [a-z][^`]+)`", text)


def is_named_only(command: str) -> bool:
    """Whether it is a command by name, or one of its options, without what it needs to be run."""
    name = re.sub(r" --(engine|net|history|by-cost)$", "", command)
    return name.removeprefix("vecchess ") in COMMANDS | FIRST_WORDS


def all_commands() -> Iterator[tuple[str, str]]:
    for file in SOURCES:
        for where, text in strings(file):
            for command in commands_in(text):
                if command != text or any(command.startswith(f"vecchess {c}") for c in COMMANDS):
                    yield where, command
    for file in TEMPLATES + PAGES:
        text = file.read_text()
        found = [*commands_in(text), *re.findall(r'command="(vecchess [^"]+)"', text)]
        for command in found:
            yield str(file.relative_to(ROOT)), command


@pytest.mark.thorough
def test_every_printed_command_is_understood() -> None:
    seen, faults = 0, []
    for where, command in all_commands():
        if is_named_only(command):
            continue
        for arguments in calls(command):
            seen += 1
            try:
                check_call(arguments)
            except Exception as error:
                faults.append(f"{where}: {command}: {error}")
    assert not faults, "\n".join(faults)
    assert seen > 80


@pytest.mark.thorough
def test_every_flag_that_a_message_names_is_one_of_a_command() -> None:
    known = {"--help", "--version", "--nproc-per-node", "--ntasks-per-node", "--flag"}
    for name in COMMANDS:
        command = typer.main.get_command(app)
        for word in name.split():
            command = command.get_command(None, word)
        known |= {
            flag for option in command.params for flag in (*option.opts, *option.secondary_opts)
        }
    unknown = [
        f"{where}: {flag}"
        for file in SOURCES
        for where, text in strings(file)
        for flag in FLAG.findall(text)
        if flag not in known
    ]
    assert not unknown, "\n".join(unknown)


def test_a_command_that_is_wrong_is_found() -> None:
    with pytest.raises(Exception, match="No such option"):
        check_call(next(calls(next(commands_in("    vecchess train --nonsense 3")))))
    assert [*commands_in("see `vecchess net info FILE` first")] == ["vecchess net info FILE"]
