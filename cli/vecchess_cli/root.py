"""``vecchess``: the root command, and the table of all others, which are loaded when asked for."""

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

HELP = """Self-play server, trainer and engine for chess with spiking neural networks.

Start with `vecchess selfplay`: the network that comes along plays 64 games on this machine.
"""
RUNS = "Follow and look"
"""Panel of the commands about runs, whose modules are in ``commands/runs``."""
COMMANDS = {
    "Play and train": {
        "selfplay": "Play games of a network against itself and record them.",
        "train": "Train a network: by games against itself, or from recorded games.",
        "contribute": "Play games for a run of another machine.",
        "gather": "Collect games of others to learn from.",
    },
    RUNS: {
        "watch": "Watch a run in the terminal.",
        "dash": "Show runs in the browser.",
        "report": "Write a report on runs: one HTML file.",
        "replay": "Play a recorded game again and compare it with the record.",
        "export": "Write games, networks and measurements in other formats.",
        "games": "Verify, compact, prune and describe the recorded games of runs.",
    },
    "Strength and analysis": {
        "match": "Play two players against each other.",
        "eval": "Play the ladder and rate a network, or all networks of a run.",
        "suite": "Examine players: best moves, puzzles and won endings.",
        "analyse": "Search a position and print its best lines.",
        "uci": "Be a UCI engine: play and analyse in any chess program.",
    },
    "Networks and this machine": {
        "net": "Make, describe, check and measure network files.",
        "calibrate": "Choose when a position may leave the network early.",
        "tune": "Measure the speed of a network by its number of slots.",
        "bench": "Measure speed on this machine.",
        "doctor": "Print what is installed, and play a few games as a test.",
    },
}
"""Panel -> command -> its line in the help. Each command has the module of its name."""
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class LazyGroup(TyperGroup):
    """A group that imports the module of a command when the command is first asked for."""

    def __init__(self, **settings: Any) -> None:
        """Begins with a placeholder for each command, which carries its line in the help."""
        super().__init__(**settings)
        for panel, lines in COMMANDS.items():
            for name, line in lines.items():
                self.commands[name] = TyperCommand(name, help=line, rich_help_panel=panel)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, loaded; None where there is none of the name."""
        command = super().get_command(ctx, cmd_name)
        if command is not None and command.callback is None and not hasattr(command, "commands"):
            command = self.commands[cmd_name] = load_command(cmd_name)
        return command

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the order of the panels."""
        return [name for lines in COMMANDS.values() for name in lines]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A section for each panel; nothing is loaded."""
        for panel, lines in COMMANDS.items():
            with formatter.section(panel):
                formatter.write_dl(list(lines.items()))


def load_command(name: str) -> Any:
    """The command of a module in ``vecchess_cli.commands``: its ``app``."""
    folder = "commands.runs" if name in COMMANDS[RUNS] else "commands"
    module = import_module(f"vecchess_cli.{folder}.{name}")
    return typer.main.get_command(module.app)


def _print_version(wanted: bool) -> None:
    if wanted:
        from vecchess import __version__

        typer.echo(f"vecchess {__version__}")
        raise typer.Exit


app = typer.Typer(
    help=HELP,
    cls=LazyGroup,
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings=CONTEXT,
)


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
