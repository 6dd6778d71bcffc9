"""The directive ``vecchess-help``: the ``--help`` text of a command, made when pages are built.

```{vecchess-help} gather engine
```
"""

from typing import Any

import typer
from docutils import nodes
from docutils.nodes import Node
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from vecchess_cli.root import app

WIDTH = 84


def help_of(names: list[str]) -> str:
    """The help of a command, by the words after ``vecchess``; LookupError where there is none."""
    command: Any = typer.main.get_command(app)
    context = command.context_class(command, info_name="vecchess", **settings())
    for name in names:
        found = command.get_command(context, name) if hasattr(command, "get_command") else None
        if found is None:
            raise LookupError(f"there is no command vecchess {' '.join(names)}")
        command = found
        context = command.context_class(command, parent=context, info_name=name, **settings())
    text: str = command.get_help(context)
    return text


def settings() -> dict[str, Any]:
    """Of every context: the same width whatever terminal the pages are built in."""
    return {
        "terminal_width": WIDTH,
        "max_content_width": WIDTH,
        "help_option_names": ["-h", "--help"],
    }


class VecchessHelp(SphinxDirective):
    """The help text of the command that the directive names, as it is printed."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[Node]:
        """A literal block; an error where there is no such command."""
        try:
            text = help_of(self.arguments[0].split())
        except LookupError as error:
            raise self.error(str(error)) from None
        block = nodes.literal_block(text, text, language="text")
        return [block]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("vecchess-help", VecchessHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
