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
    import sys

    from vecchess.errors import ConfigError, DataError
    from vecchess.store.pgn import write_pgn
    from vecchess.store.run_folder import RunFolder

    folder = RunFolder.existing(run)
    records = folder.records()
    if str(out) == "-":
        write_pgn(records, folder, sys.stdout)
        return
    if not out.parent.is_dir():
        raise ConfigError(f"there is no folder {out.parent} to write {out.name} to")
    partial = out.with_name(f".partial-{out.name}")
    try:
        with partial.open("w") as file:
            write_pgn(records, folder, file)
        partial.replace(out)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise DataError(f"cannot write {out}: {error.strerror}") from None
    people().print(f"wrote {records.num_games:,} games to {out}", soft_wrap=True)
    if json:
        print_json({"schema": 1, "games": records.num_games, "out": str(out)})
