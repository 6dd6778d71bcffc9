"""``vecchess eval``: ratings of a network, or of all networks of a run."""

from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecchess.config import MatchConfig
from vecchess.runtime.signals import stopped_text
from vecchess_cli.option_panels import command_app
from vecchess_cli.output import Json, notes, print_json, results
from vecchess_cli.settings_options import settings_options
from vecchess_cli.shared_options import Config, Quiet

if TYPE_CHECKING:
    from collections.abc import Callable

    from vecchess.evaluate.checkpoint_ratings import RatingHistory
    from vecchess.evaluate.evaluation import EvaluationReport
    from vecchess.runtime.signals import StopSignals

    Query = tuple[str | None, int | None]
    """Search and simulations, as far as they are given."""
    Play = Callable[..., EvaluationReport | RatingHistory]
    """Takes a progress observer and the stop signals."""

EXAMPLES = """Play the ladder and rate a network, or all networks of a run.

The ladder, from below: random, greedy, minimax:2, minimax:3, and Stockfish, where it is installed,
at limited Elo and at 1, 100 and 1000 nodes a move. All results together make ratings in Elo with
95 % intervals, random being 0.

Examples:

  vecchess eval my.safetensors --games 20    # quick; 400 is serious

  vecchess eval my.safetensors --search gumbel --sims 64 --out my.json

  vecchess eval "net:my.safetensors?search=puct&T=2" --against minimax:4

  vecchess eval --history runs/a --every 5   # a curve, in runs/a/eval/

  vecchess compare my.json other.json

Ctrl-C rates the games played so far, exit code 130. Pairs that were played with the same settings
are not played again; --fresh plays them again. Settings of a match have a variable
(VECCHESS_GAMES, ...) and a key in a --config file.
"""


PANELS = {
    "Used first": "search sims games against history every out fresh gpus config",
    "Games": "seed openings random_plies chess960",
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
            help='Network file, tiny, small, base, large, sizes (.toml), "material", or a whole '
            'player: "net:FILE?search=puct&sims=800".',
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
    config: Config = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Play pairs again that were played before.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the report, JSON.", show_default="RUN/eval/history.json"),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the history.", show_default="RUN/eval/history.png")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """See EXAMPLES."""
    flags = settings | dict(locals())
    from vecchess.runtime.signals import OnSignal, StopSignals

    with StopSignals(interrupts=True, on_signal=OnSignal.EXIT) as stop:
        return _evaluate(flags, stop)


evaluate.__doc__ = EXAMPLES
app = command_app(evaluate)


def _evaluate(flags: dict[str, Any], stop: "StopSignals") -> int:
    from vecchess.errors import ConfigError
    from vecchess.evaluate.report_file import check_output_file

    net, history, every, search, with_policy, out, plot = (
        flags[name] for name in ("net", "history", "every", "search", "with_policy", "out", "plot")
    )
    if (net is None) == (history is None):
        raise ConfigError("give a NET, or a run with --history RUN" + ", not both" * bool(net))
    if history is None and (plot is not None or every != 1):
        raise ConfigError("--plot and --every belong to --history RUN")
    if with_policy and (search is None or history is not None):
        raise ConfigError("--with-policy belongs to a NET with --search")
    for file in (out, plot):
        check_output_file(file)
    query, against, fresh = (search, flags["sims"]), flags["against"] or [], flags["fresh"]
    settings = _match_config(flags, flags["config"])
    if history is None:
        play = _of_network(str(net), query, with_policy, against, settings, fresh)
    else:
        play = _of_run(history, every, query, against, settings, fresh)
        out, plot = _places(history, out, plot)
    found, seconds = _played(play, stop, flags["quiet"])
    return _show(found, settings, stop.reason, seconds, out, plot, flags["json"])


def _match_config(flags: dict[str, Any], file: Path | None) -> MatchConfig:
    from vecchess.config import load_config
    from vecchess.errors import ConfigError

    config = load_config(MatchConfig, flags, file)
    if config.sprt is not None:
        raise ConfigError("sprt: every pair plays all its games here; drop it, or use match")
    return config


def _of_network(
    net: str,
    query: "Query",
    with_policy: bool,
    against: list[str],
    config: MatchConfig,
    fresh: bool,
) -> "Play":
    """A function that rates one network, and its policy alone if that is wanted."""
    from vecchess.evaluate.ladder import list_opponents, whole_ladder
    from vecchess.evaluate.participant import network_spelling
    from vecchess.evaluate.result_cache import ResultCache
    from vecchess.evaluate.run_eval import evaluate as library

    rated = [network_spelling(net, *query), *([network_spelling(net)] if with_policy else [])]
    rungs = list_opponents(against, lambda: whole_ladder(notes().print))
    cache = ResultCache.of_user(recall=not fresh)
    return partial(library, rated, rungs, config, cache)


def _of_run(
    run: Path,
    every: int,
    query: "Query",
    against: list[str],
    config: MatchConfig,
    fresh: bool,
) -> "Play":
    """A function that rates the networks of a run."""
    from vecchess.evaluate.checkpoint_ratings import rate_history
    from vecchess.evaluate.checkpoints import list_checkpoints
    from vecchess.evaluate.ladder import list_opponents, simple_ladder
    from vecchess.evaluate.result_cache import ResultCache

    found, rungs = list_checkpoints(run, every), list_opponents(against, simple_ladder)
    cache = ResultCache.of_run(run / "eval" / "pairs", recall=not fresh)
    return partial(rate_history, run, found, query, rungs, config, cache)


def _places(run: Path, out: Path | None, plot: Path | None) -> tuple[Path, Path | None]:
    """Files of a run's report and picture; None for the picture where matplotlib is missing, a
    ConfigError where --plot was given."""
    from vecchess.evaluate.rating_plot import NO_MATPLOTLIB, can_plot, require_plots

    if plot is not None:
        require_plots()
    elif can_plot():
        plot = run / "eval" / "history.png"
    else:
        notes().print(NO_MATPLOTLIB, markup=False)
    return out or run / "eval" / "history.json", plot


def _played(
    play: "Play", stop: "StopSignals", quiet: bool
) -> "tuple[EvaluationReport | RatingHistory, float]":
    """The ratings, and the seconds they took."""
    from vecchess.evaluate.eval_progress import EvalProgress
    from vecchess.runtime.signals import OnSignal

    start = monotonic()
    stop.set_action(OnSignal.RAISE)  # until a match begins
    with EvalProgress(notes(), quiet) as observer:
        found = play(observer, stop)
    return found, monotonic() - start


def _show(
    found: "EvaluationReport | RatingHistory",
    config: MatchConfig,
    stopped_by: str,
    seconds: float,
    out: Path | None,
    plot: Path | None,
    json: bool,
) -> int:
    """Print the ratings and write report and picture; returns the exit code."""
    from vecchess.evaluate.checkpoint_ratings import RatingHistory
    from vecchess.evaluate.rating_plot import plot as draw
    from vecchess.evaluate.report_file import report_facts, write_report
    from vecchess.runtime.signals import exit_code
    from vecchess_cli.tables.eval_tables import show_found

    console = results(json)
    code = exit_code(stopped_by)
    evaluation = found.evaluation if isinstance(found, RatingHistory) else found
    if not evaluation.results:
        notes().print(f"{stopped_text(stopped_by)} before a pair of games was finished")
        return code
    values = report_facts(found.to_dict(), config, stopped_by, seconds)
    show_found(console, found)
    if stopped_by:
        notes().print(
            f"{stopped_text(stopped_by)}: rated by the games so far; resume with the same command"
        )
    if out is not None:
        write_report(out, values)
        notes().print(f"written to {out}", markup=False)
    if plot is not None and isinstance(found, RatingHistory) and found.curve:
        draw(found, plot)
        notes().print(f"drawn in {plot}", markup=False)
    if json:
        print_json(values)
    return code
