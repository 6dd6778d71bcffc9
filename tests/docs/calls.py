"""Calls of vecchess in a shell command, and whether the program would understand them."""

import shlex
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import typer

from vecchess.config import load_config
from vecchess_cli.root import app

ENDS = {"|", "||", "&&", "&", ";", ">", ">>", "<", "(", ")", "2>&1", "2>"}
MODULE = "vecchess_cli.main"


def calls(command: str) -> Iterator[list[str]]:
    """The arguments of each ``vecchess`` in ``command``, however it is started."""
    lexer = shlex.shlex(command.replace("\\\n", " "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words = list(lexer)
    for place, word in enumerate(words):
        is_program = word.rpartition("/")[2] == "vecchess" and _is_started(words[:place])
        if is_program or word == MODULE:
            rest = words[place + 1 :]
            end = next((i for i, other in enumerate(rest) if other in ENDS), len(rest))
            yield rest[:end]


def _is_started(before: list[str]) -> bool:
    """Whether the next word is a program: first in its command, or after one that starts it."""
    starters = {"srun", "ssh", "apptainer", "podman", "docker", "exec", "run", "nohup", "timeout"}
    last = next((i for i in range(len(before) - 1, -1, -1) if before[i] in ENDS), -1)
    own = before[last + 1 :]
    if "build" in own:  # there it is the name of an image
        return False
    return all("=" in word for word in own) or bool(starters & set(own))


def check_call(arguments: list[str]) -> None:
    """Parse as the program does, without running it. Raises typer's exceptions and ConfigError for
    what it would refuse: unknown commands and options, missing arguments, wrong values."""
    with suppress(typer.Exit):  # of --help and --version
        _check(arguments)


def _check(arguments: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    words, path = list(arguments), ["vecchess"]
    while getattr(command, "commands", None) is not None and words:
        context = command.make_context(path[-1], words, resilient_parsing=False)
        words = [*context._protected_args, *context.args]
        if not words:
            return
        name, command, words = command.resolve_command(context, words)
        path.append(name)
    given = command.make_context(" ".join(path), words).params
    if (model := getattr(command.callback, "settings_model", None)) and not given.get("config"):
        required = {"engine": given["engine"] or ""} if "engine" in given else {}
        load_config(model, given | required, environ={})
