"""``vecchess analyse``: the best moves of a position, and how play would continue."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecchess.config import AnalyseConfig
from vecchess.runtime.signals import OnSignal, StopSignals, stopped_text
from vecchess_cli.options import command_app, settings_options
from vecchess_cli.output import notes, print_json, results, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from vecchess.analysis.run_analysis import Analysis
    from vecchess.search.principal_variations import Line

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


ENDINGS = {
    "proof": "the outcome is proven",
    "seconds": "the time limit was reached",
}


@settings_options(AnalyseConfig, PANELS, aliases={"lanes": ("--leaves",)})
def analyse(
    flags: dict[str, Any],
    fen: Annotated[
        list[str] | None, typer.Argument(help='A FEN, or "startpos".', show_default="startpos")
    ] = None,
    moves: Annotated[
        str, typer.Option(help='UCI moves from there, "e2e4 e7e5"; they count for repetitions.')
    ] = "",
) -> None:
    """Search and print; the help is EXAMPLES."""
    from vecchess.analysis.parse_position import STARTPOS
    from vecchess.analysis.run_analysis import analyse as library
    from vecchess.config import load_config
    from vecchess.runtime.progress import ProgressDisplay

    chosen = load_config(AnalyseConfig, flags, flags["config"])
    position, on_signal = " ".join(fen or [STARTPOS]), OnSignal.RAISE  # until the search begins
    with (
        StopSignals(interrupts=True, on_signal=on_signal) as stop,
        ProgressDisplay(notes()) as display,
    ):
        on_progress = (lambda now: display.draw(picture(now))) if display.is_live else None
        found, evaluator = library(
            chosen, position, moves.split(), display.print, on_progress, stop
        )
    results(flags["json"]).print(picture(found))
    if flags["json"]:
        print_json(found.to_dict() | evaluator)
    else:
        typer.echo(f"bestmove {found.best[0]}")


app = command_app(analyse, EXAMPLES)


def picture(found: "Analysis") -> "RenderableType":
    """The lines as a table between position and figures; one row each while the search runs."""
    from rich.console import Group
    from rich.text import Text

    mover = "White" if found.fen.split()[1] == "w" else "Black"
    rows = [
        {
            "": str(number),
            "score": score_words(variation.line),
            **{
                name: f"{getattr(variation.line.estimate, name):.0%}"
                for name in ("win", "draw", "loss")
            },
            "visits": variation.line.visits,
            "line": numbered(variation.san, found.fen),
        }
        for number, variation in enumerate(found.variations, 1)
    ]
    lines = table(rows)
    if rows and not found.stopped_by:
        lines.columns[-1].no_wrap, lines.columns[-1].overflow = True, "ellipsis"
    heading = Text(f"{found.fen}\n{mover} to move; scores are {mover}'s", no_wrap=False)
    return Group(heading, lines, Text(figures(found), style="dim", no_wrap=False))


def score_words(line: "Line") -> str:
    """A proven result in words, else the expected score."""
    if line.mate is not None:
        return f"mate in {line.mate}" if line.mate > 0 else f"mated in {-line.mate}"
    if line.outcome:
        return "won" if line.outcome > 0 else "lost"
    return f"{line.estimate.win + line.estimate.draw / 2:.1%}"


def numbered(san: tuple[str, ...], fen: str) -> str:
    """Moves with their numbers, "3. Nf3 Nc6 4. Bb5", from the position on."""
    black, number = int(fen.split()[1] == "b"), int(fen.split()[5])
    words = [f"{number}..."] if black else []
    for ply, move in enumerate(san, black):
        words += [move] if ply % 2 else [f"{number + ply // 2}.", move]
    return " ".join(words)


def figures(found: "Analysis") -> str:
    """Figures of the search, and why it ended early if it did."""
    words = [
        f"{found.simulations:,} simulation{'s' * (found.simulations != 1)} in "
        f"{found.seconds:.2f} s ({found.simulations_per_s:,.0f}/s)",
        f"{found.nodes:,} nodes",
        f"mean depth {found.mean_depth:.1f}",
        f"{found.cache_hit_rate:.0%} from the cache",
        f"{found.mean_time_steps:.2f} time steps a position",
    ]
    if found.unexpanded:
        words.append(f"no room in the tree for {found.unexpanded:,} more: raise --tree-mb")
    if found.stopped_by not in ("", "simulations"):
        words.append(ENDINGS.get(found.stopped_by) or stopped_text(found.stopped_by))
    return ", ".join(words)
