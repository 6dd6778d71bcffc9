"""``vecchess selfplay``: play games and record them."""

import shlex
from typing import Annotated, Any

import typer

from vecchess.config import SelfplayConfig
from vecchess.runtime.signals import OnSignal, StopSignals, stopped_text
from vecchess_cli.dash_beside import DASH_PORT, Dash, DashPort, dashboard_of
from vecchess_cli.options import command_app, settings_options, writable_run
from vecchess_cli.output import notes, print_result

PUSH_INTERVAL_S = 30.0
"""Between uploads of a run at a URL."""
EXAMPLES = """Play games of a network against itself and record them.

Without options: 64 games of the trained network of vecchess, on all GPUs or else on the processor.

Examples:

  vecchess selfplay --games 1000 --net small --run-dir runs/first

  vecchess selfplay --gpus 0-7 --games 100000 --net my.safetensors --seed 7

  vecchess selfplay --run-dir runs/first --resume --games 2000

  vecchess selfplay --net small --search gumbel --sims 32

  vecchess selfplay --games forever --shard-games 4096

  vecchess selfplay --gpus cpu:2 --openings book.epd --temperature 1.0,30:0.3

Settings have a variable (VECCHESS_GAMES, VECCHESS_SEED, ...) and a key in a --config file; those
without an option, as the search's c_puct or noise_fraction, are listed in the run's config.toml.
Ctrl-C writes the finished games and ends; the run can be resumed. Ctrl-C twice ends at once.
"""
PANELS = {
    "Used first": "games net gpus search sims seed run_dir resume config dash",
    "Games": "temperature openings chess960 random_plies max_plies",
    "Search": "fast_sims full_share cache_mb tree_mb syzygy",
    "Resignation and draws": "resign_below resign_playthrough adjudicate_draw_within",
    "Resources": "slots concurrent_games movers threads backend exits stall_timeout_s",
    "Several machines": "executor ray_address verify_share block_seats resume_or_begin",
    "Files": "shard_games shard_interval_s inflight_interval_s keep_gb",
    "Output and help": "metrics_port metrics_host dash_port quiet json",
}


@settings_options(SelfplayConfig, PANELS)
def selfplay(
    flags: dict[str, Any],
    run_dir: Annotated[
        str | None,
        typer.Option(help="Folder or URL of the run.", show_default="runs/selfplay-DATE-TIME"),
    ] = None,
    dash: Dash = False,
    dash_port: DashPort = DASH_PORT,
) -> int:
    """Play and print a summary; the help is EXAMPLES."""
    with StopSignals(on_signal=OnSignal.EXIT) as stops:
        with writable_run(flags, stops, PUSH_INTERVAL_S):
            summary = _play(flags, stops) | ({"run_dir": run_dir} if run_dir else {})
        print_result(summary, flags["json"], _shown(summary))
    return int(summary["exit_code"])


app = command_app(selfplay, EXAMPLES)


def _play(flags: dict[str, Any], stops: StopSignals) -> dict[str, Any]:
    from vecchess.config import load_config
    from vecchess.fleet.fleet_run import play_with_executor
    from vecchess.store.run_folder import RunFolder

    run_dir, resume, before = flags["run_dir"], flags["resume"], None
    if resume and run_dir is not None:
        before = RunFolder.existing(run_dir).config
    settings = load_config(SelfplayConfig, flags, flags["config"], before=before)
    is_complete = not (resume and run_dir is None)  # play_with_executor raises an error otherwise
    dash = flags["dash"] and is_complete
    run_dir, dashboard = dashboard_of(dash, flags["dash_port"], run_dir, "selfplay")
    with dashboard:
        return play_with_executor(settings, run_dir, resume, notes(), flags["quiet"], stops)


def _shown(summary: dict[str, Any]) -> dict[str, Any]:
    """What people read of a run; what is 0 or empty is left out."""
    from vecchess.monitor.bottleneck import find_bottleneck

    games, target = summary["games"], summary["target"]
    results = {"White": "white_wins", "draws": "draws", "Black": "black_wins"}
    ends = sorted(summary["terminations"].items(), key=lambda item: -item[1])
    again = f"vecchess selfplay --run-dir {shlex.quote(summary['run_dir'])} --resume"
    shown = {
        "games": f"{games:,} of {target:,}" if target else games,
        "mean_length": f"{summary['mean_length']:.0f} plies",
        "results": ", ".join(
            f"{name} {summary[key]:,} ({summary[key] / max(games, 1):.0%})"
            for name, key in results.items()
        ),
        "ended_by": dict(ends),
        "lengths": _histogram(summary["lengths"], summary["max_plies"]),
    }
    speeds = ["games_per_s", "plies_per_s", "mean_time_steps", "mean_visits", "sims_per_s"]
    shown |= {name: summary[name] for name in speeds}
    if summary["searched_plies"]:
        shown["from_the_cache"] = f"{summary['cache_hit_rate']:.0%} of the positions"
    if summary["evals_per_s"] and summary["executor"] == "local":  # others tell no devices
        has_gpu = any(label != "cpu" for label in summary["devices"])
        shown["bottleneck"] = find_bottleneck(summary, has_gpu, left=None, seated=0).label
    if summary["resign_checks"]:
        wrong = f"{summary['resign_false_positives']} of {summary['resign_checks']} checked"
        shown["wrong_resignations"] = wrong
    shown["workers_restarted"] = summary["restarts"]
    if summary["stopped_by"]:
        shown[stopped_text(summary["stopped_by"])] = f"resume with: {again}"
    shown["written_to"] = summary["run_dir"]
    return {name: value for name, value in shown.items() if value}


def _histogram(lengths: dict[str, int], max_plies: int) -> str:
    """Games by length as bars of eight heights, one a bin."""
    if not lengths:
        return ""
    from vecchess.store.stats import LENGTH_BIN
    from vecchess.watch.screen import sparkline

    counts = {int(low): count for low, count in lengths.items()}
    end = min(max(counts) + LENGTH_BIN, max_plies)
    return f"|{sparkline(counts, LENGTH_BIN)}| 0 to {end} plies"
