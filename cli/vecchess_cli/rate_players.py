"""What ``vecchess eval`` does; apart from its options, for it imports much."""

from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from vecchess.config import DEFAULT_NET, MatchConfig, load_config
from vecchess.errors import ConfigError
from vecchess.evaluate import rating_plot
from vecchess.evaluate.checkpoint_ratings import RatingHistory, rate_history
from vecchess.evaluate.checkpoints import Checkpoint, list_checkpoints
from vecchess.evaluate.cost_curve import choose_by_cost, costs_of, with_costs
from vecchess.evaluate.eval_progress import EvalProgress
from vecchess.evaluate.evaluation import EvaluationReport
from vecchess.evaluate.ladder import list_opponents, simple_ladder, whole_ladder
from vecchess.evaluate.participant import network_spelling
from vecchess.evaluate.report_file import check_output_file, report_facts, write_report
from vecchess.evaluate.result_cache import ResultCache
from vecchess.evaluate.run_eval import evaluate
from vecchess.runtime.signals import OnSignal, StopSignals, exit_code, stopped_text
from vecchess_cli.output import note, notes, print_json, results
from vecchess_cli.tables.eval_tables import show_evaluation, show_history


def rate_players(flags: dict[str, Any], stop: StopSignals) -> int:
    """Play, rate, print the ratings and write the report; returns the exit code.

    ``flags``: options of ``vecchess eval`` by name.
    """
    _check(flags)
    config = load_config(MatchConfig, flags, flags["config"])
    if config.sprt is not None:
        raise ConfigError("sprt: every pair plays all its games here; drop it, or use match")
    run, against, recall = flags["history"], flags["against"] or [], not flags["fresh"]
    net, query = flags["net"] or DEFAULT_NET, (flags["search"], flags["sims"])
    if run is None:
        rated = [network_spelling(net, *query)]
        rated += [network_spelling(net)] if flags["with_policy"] else []
        rungs = list_opponents(against, lambda: whole_ladder(note))
        play: Any = partial(evaluate, rated, rungs, config, ResultCache.of_user(recall))
    else:
        found, rungs = _checkpoints(run, flags), list_opponents(against, simple_ladder)
        cache = ResultCache.of_run(run / "eval" / "pairs", recall)
        is_by_cost = flags["by_cost"] is not None
        play = partial(rate_history, run, found, query, rungs, config, cache, is_by_cost=is_by_cost)
        _name_files(flags)
    start = monotonic()
    stop.set_action(OnSignal.RAISE)  # until a match begins
    with EvalProgress(notes(), flags["quiet"]) as observer:
        report = play(observer, stop)
    return _show(report, flags, config, stop.reason, monotonic() - start)


def _checkpoints(run: Path, flags: dict[str, Any]) -> list[Checkpoint]:
    """The networks of the run that are rated, each with its cost as far as it is known."""
    found = with_costs(list_checkpoints(run, flags["every"]), costs_of(run))
    num = flags["by_cost"]
    return found if num is None else choose_by_cost(run, found, num)


def _check(flags: dict[str, Any]) -> None:
    """Raise ConfigError for options that do not go together, or files that cannot be written."""
    net, run = flags["net"], flags["history"]
    if net is not None and run is not None:
        raise ConfigError("give a NET, or a run with --history RUN, not both")
    if run is None and (flags["plot"] or flags["by_cost"] or flags["every"] != 1):
        raise ConfigError("--plot, --every and --by-cost belong to --history RUN")
    if flags["by_cost"] and flags["every"] != 1:
        raise ConfigError("give --every or --by-cost, not both")
    if flags["with_policy"] and (flags["search"] is None or run is not None):
        raise ConfigError("--with-policy belongs to a NET with --search")
    for file in (flags["out"], flags["plot"]):
        check_output_file(file)


def _name_files(flags: dict[str, Any]) -> None:
    """Set the files of a run's report and picture where none are given; no picture where matplotlib
    is missing, a ConfigError where --plot was given."""
    folder: Path = flags["history"] / "eval"
    name = "history" if flags["by_cost"] is None else "cost"
    flags["out"] = flags["out"] or folder / f"{name}.json"
    if flags["plot"] is not None:
        rating_plot.require_plots()
    elif rating_plot.can_plot():
        flags["plot"] = folder / f"{name}.png"
    else:
        note(rating_plot.NO_MATPLOTLIB)


def _show(
    report: EvaluationReport | RatingHistory,
    flags: dict[str, Any],
    config: MatchConfig,
    stopped_by: str,
    seconds: float,
) -> int:
    console, out, plot = results(flags["json"]), flags["out"], flags["plot"]
    history = report if isinstance(report, RatingHistory) else None
    evaluation = report.evaluation if isinstance(report, RatingHistory) else report
    if not evaluation.results:
        note(f"{stopped_text(stopped_by)} before a pair of games was finished")
        return exit_code(stopped_by)
    values = report_facts(report.to_dict(), config, stopped_by, seconds)
    if history is None:
        show_evaluation(console, evaluation)
    else:
        show_history(console, history)
    if stopped_by:
        note(f"{stopped_text(stopped_by)}: rated by the games so far; resume with the same command")
    if out is not None:
        write_report(out, values)
        note(f"written to {out}")
    if plot is not None and history is not None and history.curve:
        rating_plot.plot(history, plot)
        note(f"drawn in {plot}")
    if flags["json"]:
        print_json(values)
    return exit_code(stopped_by)
