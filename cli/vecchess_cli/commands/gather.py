"""``vecchess gather``: games of others, as shards to learn from."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecchess_cli.output import Json, ProgressLine, people, print_json

if TYPE_CHECKING:
    from vecchess.importers.engine_games import ImportProgress

app = typer.Typer(help="Collect games of others to learn from.", no_args_is_help=True)

Out = Annotated[Path, typer.Option(help="Folder for the shards.")]


@app.callback()
def root() -> None:
    """Collect games of others to learn from."""


@app.command()
def pgn(
    files: Annotated[list[Path], typer.Argument(help="PGN files.", metavar="FILE...")],
    out: Out,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out and count games that are not right.")
    ] = False,
    json: Json = False,
) -> None:
    """Write the finished games of PGN files as shards. Variations and comments are left out.

    Example:  vecchess gather pgn games.pgn --out data/games
    """
    from vecchess.importers.pgn_import import import_pgn

    counts = import_pgn(files, out, skip_bad)
    console = people()
    console.print(
        f"wrote {counts.games:,} games, {counts.plies:,} plies to {out}; left out: "
        f"{counts.unfinished:,} without a result, {counts.empty:,} without moves, "
        f"{counts.bad:,} that are not right"
    )
    if counts.first_bad:
        console.print(f"the first of those: {counts.first_bad}", markup=False)
    if json:
        print_json(counts.to_dict() | {"out": str(out)})


@app.command()
def engine(
    engine: Annotated[str, typer.Argument(help="Program that speaks UCI.")],
    out: Out,
    games: Annotated[int, typer.Option(help="Games the folder is to hold.")] = 1000,
    nodes: Annotated[int, typer.Option(help="Nodes a move.")] = 500,
    concurrency: Annotated[int, typer.Option(help="Engines at a time.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the random moves.")] = 0,
    random_plies: Annotated[int, typer.Option(help="Random plies at the start.")] = 8,
    random_move_share: Annotated[float, typer.Option(help="Share of random moves later on.")] = 0.0,
    max_plies: Annotated[int, typer.Option(help="Games are drawn after so many.")] = 512,
    json: Json = False,
) -> int:
    """Let a UCI engine play itself; the same command goes on where it was stopped.

    Example:  vecchess gather engine stockfish --games 1000 --nodes 500 --out data/stockfish
    """
    flags: dict[str, Any] = dict(locals())
    from vecchess.config import build
    from vecchess.importers.engine_games import gather_engine_games
    from vecchess.importers.engine_selfplay import EngineGamesConfig
    from vecchess.runtime.signals import Stopped, StopSignals, exit_code, stopped_text

    names = EngineGamesConfig.model_fields
    config = build(EngineGamesConfig, {key: flags[key] for key in flags if key in names})
    with StopSignals(interrupts=True) as stop:
        try:
            with ProgressLine() as line, stop.interrupting():
                facts = gather_engine_games(
                    config, out, lambda standing: line.show(lambda: _standing_line(standing))
                )
        except Stopped:
            people().print(f"{stopped_text(stop.reason)}: the same command goes on", markup=False)
            return exit_code(stop.reason)
    people().print(
        f"{facts['games']:,} games, {facts['plies']:,} plies in {out}: "
        f"+{facts['white_wins']} ={facts['draws']} -{facts['black_wins']}"
    )
    if json:
        print_json(facts | {"out": str(out)})
    return 0


def _standing_line(standing: "ImportProgress") -> str:
    return (
        f"{standing.seconds:6.0f} s  {standing.games:,}/{standing.target:,} games  "
        f"{standing.plies_per_s:,.0f} plies/s"
    )
