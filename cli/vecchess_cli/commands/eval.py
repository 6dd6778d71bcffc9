"""``vecchess eval``: ratings of a network, or of all networks of a run."""

from pathlib import Path
from typing import Annotated, Any

import typer

from vecchess.config import MatchConfig
from vecchess_cli.option_panels import command_app
from vecchess_cli.output import Json
from vecchess_cli.settings_options import settings_options
from vecchess_cli.shared_options import Config, Quiet

EXAMPLES = """Play the ladder and rate a network, or all networks of a run.

The ladder, from below: random, greedy, minimax:2, minimax:3, and Stockfish, where it is installed,
at limited Elo and at 1, 100 and 1000 nodes a move. All results together make ratings in Elo with
95 % intervals, random being 0.

Examples:

  vecchess eval --games 20                   # the network of vecchess; 400 games are serious

  vecchess eval my.safetensors --games 20

  vecchess eval my.safetensors --search gumbel --sims 64 --out my.json

  vecchess eval "net:my.safetensors?search=puct&T=2" --against minimax:4

  vecchess eval --history runs/a --every 5   # a curve, in runs/a/eval/

  vecchess eval --history runs/a --by-cost 5   # strength by core-hours or GPU-hours

  vecchess compare my.json other.json

Ctrl-C rates the games played so far, exit code 130. Pairs that were played with the same settings
are not played again; --fresh plays them again. Settings of a match have a variable
(VECCHESS_GAMES, ...) and a key in a --config file.
"""


PANELS = {
    "Used first": "search sims games against history every by_cost out gpus config",
    "Games": "seed openings random_plies chess960 fresh",
    "Networks": "with_policy backend threads",
    "Output and help": "plot quiet json",
}


@settings_options(MatchConfig, PANELS)
def evaluate(
    settings: dict[str, Any],
    net: Annotated[
        str | None,
        typer.Argument(
            metavar="NET",
            help='Network file, default, tiny, small, base, large, sizes (.toml), "material", or a '
            'whole player: "net:FILE?search=puct&sims=800".',
            show_default="default",
        ),
    ] = None,
    search: Annotated[
        str | None, typer.Option(help='"gumbel" or "puct"; without it the policy plays.')
    ] = None,
    sims: Annotated[int | None, typer.Option(help="Simulations a move.", show_default="64")] = None,
    with_policy: Annotated[
        bool, typer.Option("--with-policy", help="Beside the search, rate the policy alone.")
    ] = False,
    against: Annotated[
        list[str] | None,
        typer.Option(help="An opponent instead of the ladder; repeatable, also with ladder."),
    ] = None,
    history: Annotated[
        Path | None, typer.Option(help="Rate the networks of the run in this folder.")
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, help="With --history: every N-th network.", metavar="N")
    ] = 1,
    by_cost: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="With --history: N networks, evenly spaced in the logarithm of what they cost, "
            "against the ladder alone.",
            metavar="N",
        ),
    ] = None,
    config: Config = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Play pairs again that were played before.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the report, JSON.", show_default="RUN/eval/history.json, or cost.json"
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the history.", show_default="RUN/eval/history.png, or cost.png"),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """See EXAMPLES."""
    flags = settings | dict(locals())
    from vecchess.runtime.signals import OnSignal, StopSignals

    with StopSignals(interrupts=True, on_signal=OnSignal.EXIT) as stop:
        from vecchess_cli.rate_players import rate_players

        return rate_players(flags, stop)


app = command_app(evaluate, EXAMPLES)
