"""``vecchess analyse``: the best moves of a position, and how play would continue."""

from typing import Annotated, Any

import typer

from vecchess.config import AnalyseConfig
from vecchess_cli.option_panels import command_app
from vecchess_cli.output import Json, notes, print_json, results
from vecchess_cli.settings_options import settings_options
from vecchess_cli.shared_options import Config

EXAMPLES = """Search a position and print its best lines.

Scores are those of the side to move. Without options: the start position, 800 simulations,
evaluated by the trained network of vecchess.

Examples:

  vecchess analyse

  vecchess analyse "r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"

  vecchess analyse startpos --moves "e2e4 e7e5" --net my.safetensors --sims 10000 --multipv 5

  vecchess analyse --net small --sims 1000000 --seconds 10 --json

On a terminal the lines are shown while they are found. The last line of stdout is "bestmove e2e4",
with --json stdout has one JSON object. Ctrl-C ends the search early, as "stop" does in UCI: the
lines found so far are printed and the exit code is 0. Settings have a variable (VECCHESS_SIMS, ...)
and a key in a --config file.
"""
PANELS = {
    "Used first": "net sims seconds multipv moves search lanes gpus config json",
    "Search": "draw_score syzygy cache_mb tree_mb",
    "Network": "backend threads exits seed",
    "Output and help": "chess960",
}


@settings_options(AnalyseConfig, PANELS, aliases={"lanes": ("--leaves",)})
def analyse(
    settings: dict[str, Any],
    fen: Annotated[
        list[str] | None, typer.Argument(help='A FEN, or "startpos".', show_default="startpos")
    ] = None,
    moves: Annotated[
        str, typer.Option(help='UCI moves from there, "e2e4 e7e5"; they count for repetitions.')
    ] = "",
    config: Config = None,
    json: Json = False,
) -> None:
    """See EXAMPLES."""
    from vecchess.analysis.parse_position import STARTPOS
    from vecchess.analysis.run_analysis import analyse as library
    from vecchess.config import load_config
    from vecchess.runtime.progress import ProgressDisplay
    from vecchess.runtime.signals import OnSignal, StopSignals
    from vecchess_cli.tables.analysis_tables import picture

    chosen = load_config(AnalyseConfig, settings, config)
    position, on_signal = " ".join(fen or [STARTPOS]), OnSignal.RAISE  # until the search begins
    with (
        StopSignals(interrupts=True, on_signal=on_signal) as stop,
        ProgressDisplay(notes()) as display,
    ):
        on_progress = (lambda now: display.draw(picture(now))) if display.is_live else None
        found, evaluator = library(
            chosen, position, moves.split(), display.print, on_progress, stop
        )
    results(json).print(picture(found))
    if json:
        print_json(found.to_dict() | evaluator)
    else:
        typer.echo(f"bestmove {found.best[0]}")


app = command_app(analyse, EXAMPLES)
