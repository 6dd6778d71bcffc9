"""Commands whose help shows their options in panels by theme."""

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

LAST_PANEL = "Output and help"
"""Panel of ``--help`` and of options that no panel names, where a command has panels."""


class PanelCommand(TyperCommand):
    """A command whose help shows its options in panels."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments first, then a section for each panel, in the order of the options."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        last: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            panel = getattr(parameter, "rich_help_panel", None)
            if parameter.param_type_name == "argument":
                panels["Arguments"].append(record)
            elif panel is None or panel == LAST_PANEL:
                last.append(record)
            else:
                panels.setdefault(panel, []).append(record)
        is_plain = set(panels) <= {"Arguments", "Options"}
        panels.setdefault("Options" if is_plain else LAST_PANEL, []).extend(last)
        for title, records in panels.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class FullGroup(TyperGroup):
    """A group whose list shows the whole first paragraph of each command's help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """One row for each command."""
        helps = ((name, self.commands[name].help or "") for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(n, " ".join(h.split("\n\n")[0].split())) for n, h in helps])


def command_app(command: Callable[..., Any], about: str | None = None) -> typer.Typer:
    """A program of one command, for ``root.load_command``; its help is ``about``, or its
    docstring."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command(cls=PanelCommand, help=about)(command)
    return app


def command_group(about: str) -> typer.Typer:
    """A program of several commands, to be filled, for ``root.load_command``."""
    app = typer.Typer(help=about, no_args_is_help=True, rich_markup_mode=None, add_completion=False)
    app.callback(cls=FullGroup)(lambda: None)  # stays a group with one command too
    return app
