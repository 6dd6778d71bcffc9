"""``vecchess eval``: ratings of a network, of all networks of a run, of several reports at once."""

from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecchess.config import DEFAULT_NET, MatchConfig
from vecchess.config.settings import flag
from vecchess.errors import ConfigError
from vecchess.runtime.signals import OnSignal, StopSignals, exit_code, stopped_text
from vecchess_cli.options import command_app, run_here, settings_options
from vecchess_cli.output import note, notes, print_result

if TYPE_CHECKING:
    from vecchess.evaluate.checkpoints import Checkpoint

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

  vecchess eval --history runs/a --history runs/b --by-cost 8   # b went on where a had ended

  vecchess eval my.json other.json           # reports, rated together

Ctrl-C rates the games played so far, exit code 130. Pairs that were played with the same settings
are not played again; --fresh plays them again. Settings of a match have a variable
(VECCHESS_GAMES, ...) and a key in a --config file. Reports keep all results, so the joint rating is
that of one large evaluation; they need players in common, as the ladder.
"""
PANELS = {
    "Used first": "search sims games against history every by_cost out gpus config",
    "Games": "seed openings random_plies chess960 fresh",
    "Networks": "with_policy backend threads",
    "Output and help": "quiet json",
}
NET_HELP = """Network file, default, tiny, small, base, large, sizes (.toml), "material", or a whole
player: "net:FILE?search=puct&sims=800"; or reports of --out, FILE.json, to be rated together."""


@settings_options(MatchConfig, PANELS)
def evaluate(
    flags: dict[str, Any],
    nets: Annotated[
        list[str] | None,
        typer.Argument(metavar="NET|REPORT...", help=NET_HELP, show_default="default"),
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
        list[str] | None,
        typer.Option(
            help="Rate the networks of the run in this folder, or at this URL; repeatable, each "
            "going on where the one before ended, so that costs add up."
        ),
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
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Play pairs again that were played before.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the report, JSON.", show_default="RUN/eval/history.json, or cost.json"
        ),
    ] = None,
) -> int:
    """Play and rate, or rate reports; the help is EXAMPLES."""
    with StopSignals(interrupts=True, on_signal=OnSignal.EXIT) as stop:
        reports = [name for name in nets or () if name.endswith(".json")]
        if reports and len(reports) == len(nets or ()):
            return _compare([Path(name) for name in reports], flags)
        return _rate(flags, stop)


app = command_app(evaluate, EXAMPLES)


def _compare(files: list[Path], flags: dict[str, Any]) -> int:
    """Rate the players of several reports together."""
    kept = ("nets", "out", "json", "quiet")
    given = [name for name, value in flags.items() if name not in kept and value]
    if other := [name for name in given if name != "every" or flags["every"] != 1]:
        raise ConfigError(f"reports are rated by the games they hold: drop {flag(other[0])}")
    from vecchess.evaluate.compare_evaluations import compare
    from vecchess.evaluate.evaluation import read_evaluation
    from vecchess.evaluate.report_file import write_report

    _check_out(flags["out"])
    comparison = compare([str(file) for file in files], [read_evaluation(file) for file in files])
    facts, out = comparison.to_dict(), flags["out"]
    if out is not None:
        write_report(out, facts)
    print_result(facts, flags["json"], comparison.tables())
    if out is not None:
        note(f"written to {out}")
    return 0


def _rate(flags: dict[str, Any], stop: StopSignals) -> int:
    """Play, rate, print the ratings and write the report; returns the exit code."""
    _check(flags)
    from vecchess.config import load_config
    from vecchess.evaluate.checkpoint_ratings import rate_history
    from vecchess.evaluate.eval_progress import EvalProgress
    from vecchess.evaluate.ladder import list_opponents, simple_ladder, whole_ladder
    from vecchess.evaluate.participant import network_spelling
    from vecchess.evaluate.report_file import report_facts, write_report
    from vecchess.evaluate.result_cache import ResultCache
    from vecchess.evaluate.run_eval import evaluate as library
    from vecchess.store.remote.object_store import is_url

    config = load_config(MatchConfig, flags, flags["config"])
    if config.sprt is not None:
        raise ConfigError("sprt: every pair plays all its games here; drop it, or use match")
    places, against, recall = flags["history"] or [], flags["against"] or [], not flags["fresh"]
    runs = [run_here(place, with_shards=False) for place in places]
    (net,), query = flags["nets"] or [DEFAULT_NET], (flags["search"], flags["sims"])
    if not runs:
        rated = [network_spelling(net, *query)]
        rated += [network_spelling(net)] if flags["with_policy"] else []
        rungs = list_opponents(against, lambda: whole_ladder(note))
        play: Any = partial(library, rated, rungs, config, ResultCache.of_user(recall))
    else:
        found, rungs = _checkpoints(runs, flags), list_opponents(against, simple_ladder)
        cache = ResultCache.of_run(runs[-1] / "eval" / "pairs", recall)
        by_cost = flags["by_cost"] is not None
        play = partial(
            rate_history, runs[-1], found, query, rungs, config, cache, is_by_cost=by_cost
        )
    start = monotonic()
    stop.set_action(OnSignal.RAISE)  # until a match begins
    with EvalProgress(notes(), flags["quiet"]) as observer:
        report = play(observer, stop)
    reason, stopped = stop.reason, stop.reason and stopped_text(stop.reason)
    if not report.has_results:
        note(f"{stopped} before a pair of games was finished")
        return exit_code(reason)
    facts = report_facts(report.to_dict(), config, reason, monotonic() - start)
    out = flags["out"]
    if out is None and runs and facts["curve"]:  # an empty one would replace another
        name = "history.json" if flags["by_cost"] is None else "cost.json"
        out = Path(name) if is_url(places[-1]) else runs[-1] / "eval" / name
    if out is not None:
        write_report(out, facts)
    print_result(facts, flags["json"], report.tables())
    if stopped:
        note(f"{stopped}: rated by the games so far; resume with the same command")
    if out is not None:
        note(f"written to {out}")
    return exit_code(reason)


def _checkpoints(runs: list[Path], flags: dict[str, Any]) -> "list[Checkpoint]":
    """The networks of the runs that are rated, each with its cost as far as it is known."""
    from vecchess.evaluate.checkpoints import choose_by_cost, costs_of, list_history

    found, num = list_history(runs, flags["every"]), flags["by_cost"]
    if num is None:
        return found
    without = (run for run in runs if not costs_of(run))
    return choose_by_cost(next(without, runs[-1]), found, num)


def _check_out(out: Path | None) -> None:
    from vecchess.runtime.atomic_write import require_place

    if out is not None:
        require_place(out)


def _check(flags: dict[str, Any]) -> None:
    """Raise ConfigError for options that do not go together, or files that cannot be written."""
    nets, runs = flags["nets"] or [], flags["history"]
    if nets and runs:
        raise ConfigError("give a NET, or a run with --history RUN, not both")
    if len(nets) > 1:
        raise ConfigError("give one NET, or reports (.json) alone; --against names opponents")
    if not runs and (flags["by_cost"] or flags["every"] != 1):
        raise ConfigError("--every and --by-cost belong to --history RUN")
    if flags["by_cost"] and flags["every"] != 1:
        raise ConfigError("give --every or --by-cost, not both")
    if flags["with_policy"] and (flags["search"] is None or runs):
        raise ConfigError("--with-policy belongs to a NET with --search")
    _check_out(flags["out"])
