"""``vecchess export``: recorded games in formats that others read."""

from pathlib import Path
from typing import Annotated

import typer

from vecchess_cli.output import Json, people, print_json

app = typer.Typer(help="Write recorded games in other formats.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """Write recorded games in other formats."""


@app.command()
def pgn(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    out: Annotated[Path, typer.Option(help='File to write, or "-" for stdout.')],
    json: Json = False,
) -> None:
    """Write all recorded games of a run as PGN, in the order of their numbers.

    Example:  vecchess export pgn runs/first --out games.pgn
    """
    from vecchess.store.pgn import export_pgn

    console = people()
    num_games = export_pgn(run, out, lambda line: console.print(line, markup=False))
    if str(out) != "-":
        console.print(f"wrote {num_games:,} games to {out}", soft_wrap=True)
    if json:
        print_json({"schema": 1, "games": num_games, "out": str(out)})
