"""``vecchess eval``: how strong is a network, or all networks of a run?"""

from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecchess_cli.output import Json, people, print_json
from vecchess_cli.shared_options import (
    Backend,
    Chess960,
    Config,
    Gpus,
    Openings,
    Quiet,
    RandomPlies,
    Seed,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from vecchess.config import MatchConfig
    from vecchess.evaluate.checkpoint_ratings import RatingHistory
    from vecchess.evaluate.evaluation import EvaluationReport
    from vecchess.runtime.signals import StopSignals

    Query = tuple[str | None, int | None]
    """Search and simulations, as far as they are given."""
    Play = Callable[..., EvaluationReport | RatingHistory]
    """Takes a watcher, and what asks to stop."""

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

Ctrl-C rates what was played so far, exit code 130. Pairs that were played with the same settings
are not played again; --fresh plays them anew. Settings of a match have a variable
(VECCHESS_GAMES, ...) and a key in a --config file.
"""


def evaluate(
    net: Annotated[
        str | None,
        typer.Argument(
            metavar="NET",
            help='Network file, tiny, small, base, large, sizes (.toml), "material", or a whole '
            'player: "net:FILE?search=puct&sims=800".',
        ),
    ] = None,
    search: Annotated[
        str | None, typer.Option(help='"gumbel" or "puct"; without it the policy plays. [none]')
    ] = None,
    sims: Annotated[int | None, typer.Option(help="Simulations a move. [64]")] = None,
    with_policy: Annotated[
        bool, typer.Option("--with-policy", help="Beside the search, rate the policy alone.")
    ] = False,
    against: Annotated[
        list[str] | None,
        typer.Option(
            help='An opponent instead of the ladder; may be repeated, and "ladder" be one of them.'
        ),
    ] = None,
    games: Annotated[
        int | None, typer.Option(help="Games of each pair of players, an even number. [100]")
    ] = None,
    history: Annotated[
        Path | None, typer.Option(help="Rate the networks of this run; its folder.")
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, help="With --history: every N-th network.", metavar="N")
    ] = 1,
    seed: Seed = None,
    openings: Openings = None,
    random_plies: RandomPlies = None,
    chess960: Chess960 = None,
    gpus: Gpus = None,
    backend: Backend = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads of the CPU backend, each network's. [all cores]")
    ] = None,
    config: Config = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Play again what was played before.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the report, JSON. [RUN/eval/history.json]")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the history. [RUN/eval/history.png]")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """See EXAMPLES."""
    flags: dict[str, Any] = dict(locals())
    from vecchess.runtime.signals import OnSignal, StopSignals

    with StopSignals(interrupts=True, on_signal=OnSignal.EXIT) as stop:
        return _evaluate(flags, stop)


evaluate.__doc__ = EXAMPLES


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
    return _tell(found, settings, stop.reason, seconds, out, plot, flags["json"])


def _match_config(flags: dict[str, Any], file: Path | None) -> "MatchConfig":
    from vecchess.config import MatchConfig, load_config
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
    config: "MatchConfig",
    fresh: bool,
) -> "Play":
    """What rates one network, and its policy alone if that is wanted."""
    from vecchess.evaluate.ladder import opponents, whole_ladder
    from vecchess.evaluate.participant import spell
    from vecchess.evaluate.result_cache import ResultCache
    from vecchess.evaluate.run_eval import evaluate as library

    rated = [spell(net, *query), *([spell(net)] if with_policy else [])]
    rungs = opponents(against, lambda: whole_ladder(people().print))
    notebook = ResultCache.of_user(recall=not fresh)
    return partial(library, rated, rungs, config, notebook)


def _of_run(
    run: Path,
    every: int,
    query: "Query",
    against: list[str],
    config: "MatchConfig",
    fresh: bool,
) -> "Play":
    """What rates the networks of a run."""
    from vecchess.evaluate.checkpoint_ratings import rate_history
    from vecchess.evaluate.checkpoints import checkpoints
    from vecchess.evaluate.ladder import opponents, simple_ladder
    from vecchess.evaluate.result_cache import ResultCache

    found, rungs = checkpoints(run, every), opponents(against, simple_ladder)
    notebook = ResultCache.of_run(run / "eval" / "pairs", recall=not fresh)
    return partial(rate_history, run, found, query, rungs, config, notebook)


def _places(run: Path, out: Path | None, plot: Path | None) -> tuple[Path, Path | None]:
    """Where report and picture of a run go; there is no picture without matplotlib, which raises
    ConfigError where one is asked for."""
    from vecchess.evaluate.rating_plot import NO_MATPLOTLIB, can_plot, require_plots

    if plot is not None:
        require_plots()
    elif can_plot():
        plot = run / "eval" / "history.png"
    else:
        people().print(NO_MATPLOTLIB, markup=False)
    return out or run / "eval" / "history.json", plot


def _played(
    play: "Play", stop: "StopSignals", quiet: bool
) -> "tuple[EvaluationReport | RatingHistory, float]":
    """What was found, and seconds."""
    from vecchess.evaluate.eval_progress import progress_on
    from vecchess.runtime.signals import OnSignal

    start = monotonic()
    stop.set_action(OnSignal.RAISE)  # until a match goes on
    with progress_on(people(), quiet) as watcher:
        found = play(watcher, stop)
    return found, monotonic() - start


def _tell(
    found: "EvaluationReport | RatingHistory",
    config: "MatchConfig",
    stopped_by: str,
    seconds: float,
    out: Path | None,
    plot: Path | None,
    json: bool,
) -> int:
    """Show what was found, and write what is to be written; returns the exit code."""
    from vecchess.evaluate.checkpoint_ratings import RatingHistory
    from vecchess.evaluate.rating_plot import plot as draw
    from vecchess.evaluate.report_file import report, write_report
    from vecchess.runtime.signals import exit_code, stopped_text
    from vecchess_cli.tables.eval_tables import show

    console = people()
    code = exit_code(stopped_by)
    evaluation = found.evaluation if isinstance(found, RatingHistory) else found
    if not evaluation.encounters:
        console.print(f"{stopped_text(stopped_by)} before two games of an opening were over")
        return code
    values = report(found, config, stopped_by, seconds)
    show(console, found)
    if stopped_by:
        console.print(
            f"{stopped_text(stopped_by)}: rated by what was played; the same command goes on"
        )
    if out is not None:
        write_report(out, values)
        console.print(f"written to {out}", markup=False)
    if plot is not None and isinstance(found, RatingHistory) and found.curve:
        draw(found, plot)
        console.print(f"drawn in {plot}", markup=False)
    if json:
        print_json(values)
    return code
