"""``vecchess selfplay``: play games, many at a time, and write them down."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecchess_cli.dash_beside import DASH_PORT, Dash, DashPort, dashboard_of
from vecchess_cli.output import Json, people, print_json
from vecchess_cli.shared_options import (
    Backend,
    Chess960,
    Config,
    Exits,
    Gpus,
    MetricsHost,
    MetricsPort,
    Openings,
    Quiet,
    RandomPlies,
    Resume,
    Seed,
    Syzygy,
    Temperature,
)

if TYPE_CHECKING:
    from vecchess.runtime.signals import StopSignals

EXAMPLES = """Play games of a network against itself and record them.

Without options: 64 games with a fresh tiny network, on all GPUs or else on the processor.

Examples:

  vecchess selfplay --games 1000 --net small --run-dir runs/first

  vecchess selfplay --gpus 0-7 --games 100000 --net my.safetensors --seed 7

  vecchess selfplay --run-dir runs/first --resume --games 2000

  vecchess selfplay --net small --search gumbel --sims 32

  vecchess selfplay --gpus cpu:2 --openings book.epd --temperature 1.0,30:0.3

Settings have a variable (VECCHESS_GAMES, VECCHESS_SEED, ...) and a key in a --config file; those
without a flag, as the search's c_puct or noise_fraction, are listed in the run's config.toml.
Ctrl-C writes what is finished and ends; the run can be resumed. Ctrl-C twice ends at once.
"""


def selfplay(
    games: Annotated[int | None, typer.Option(help="Games to play in all. [64]")] = None,
    net: Annotated[
        str | None,
        typer.Option(
            help="Network file, tiny, small, base, large, sizes (.toml), material, constant. [tiny]"
        ),
    ] = None,
    gpus: Gpus = None,
    seed: Seed = None,
    run_dir: Annotated[
        Path | None, typer.Option(help="Folder of the run. [runs/selfplay-DATE-TIME]")
    ] = None,
    resume: Resume = False,
    config: Config = None,
    search: Annotated[
        str | None,
        typer.Option(help='How moves are chosen: "none" by policy, "gumbel" or "puct". [none]'),
    ] = None,
    sims: Annotated[int | None, typer.Option(help="Simulations of a search. [32]")] = None,
    fast_sims: Annotated[
        int | None, typer.Option(help="Simulations of fast searches, without a target. [0]")
    ] = None,
    full_share: Annotated[
        float | None, typer.Option(help="Share of the searches that are not fast. [1]")
    ] = None,
    cache_mb: Annotated[
        int | None, typer.Option(help="Cache of evaluations, per worker; 0: none. [64]")
    ] = None,
    tree_mb: Annotated[
        int | None, typer.Option(help="Memory of the trees, per worker; 0: as needed. [0]")
    ] = None,
    syzygy: Syzygy = None,
    temperature: Temperature = None,
    openings: Openings = None,
    chess960: Chess960 = None,
    random_plies: RandomPlies = None,
    max_plies: Annotated[int | None, typer.Option(help="Draw a game at this length. [512]")] = None,
    resign_below: Annotated[
        float | None, typer.Option(help="Resign below this expected score; 0 never. [0]")
    ] = None,
    resign_playthrough: Annotated[
        float | None, typer.Option(help="Fraction of games that may not resign. [0.1]")
    ] = None,
    adjudicate_draw_within: Annotated[
        float | None, typer.Option(help="Call a draw while |win - loss| is within; 0 never. [0]")
    ] = None,
    slots: Annotated[
        int | None, typer.Option(help="Positions in the network at a time; 0 chooses. [0]")
    ] = None,
    concurrent_games: Annotated[
        int | None, typer.Option(help="Games in progress per worker; 0: twice the slots. [0]")
    ] = None,
    movers: Annotated[
        int | None, typer.Option(help="Threads making moves, per worker; 0 chooses. [0]")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads of the CPU backend, per worker; 0 chooses. [0]")
    ] = None,
    backend: Backend = None,
    exits: Exits = None,
    shard_games: Annotated[
        int | None, typer.Option(help="Finished games that make a shard. [1024]")
    ] = None,
    shard_interval_s: Annotated[
        float | None, typer.Option(help="Seconds a finished game waits to be written. [30]")
    ] = None,
    inflight_interval_s: Annotated[
        float | None, typer.Option(help="Seconds between savings of games in progress. [30]")
    ] = None,
    stall_timeout_s: Annotated[
        float | None, typer.Option(help="Seconds of silence before a worker is replaced. [60]")
    ] = None,
    metrics_port: MetricsPort = None,
    metrics_host: MetricsHost = None,
    dash: Dash = False,
    dash_port: DashPort = DASH_PORT,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """See EXAMPLES."""
    flags = dict(locals())
    from vecchess.runtime.signals import OnSignal, StopSignals

    with StopSignals(on_signal=OnSignal.EXIT) as stops:
        summary = _play(flags, stops)
        _print_summary(summary)
        if json:
            print_json(summary)
    return int(summary["exit_code"])


selfplay.__doc__ = EXAMPLES


def _play(flags: dict[str, Any], stops: "StopSignals") -> dict[str, Any]:
    from vecchess.config import SelfplayConfig, load_config
    from vecchess.selfplay.run_selfplay import play_run
    from vecchess.store.run_folder import RunFolder

    run_dir, resume, config = flags["run_dir"], flags["resume"], flags["config"]
    if resume and run_dir is not None and config is None:
        config = RunFolder.existing(run_dir).config
    settings = load_config(SelfplayConfig, flags, config)
    is_lost = resume and run_dir is None  # which is said below
    dash = flags["dash"] and not is_lost
    run_dir, dashboard = dashboard_of(dash, flags["dash_port"], run_dir, "selfplay")
    with dashboard:
        return play_run(settings, run_dir, resume, people(), flags["quiet"], stops)


def _print_summary(summary: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    console = people()
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    for name, text in _summary_rows(summary):
        table.add_row(name, Text(text))
    console.print()
    console.print(table)


def _summary_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    games = max(summary["games"], 1)

    def share(count: int) -> str:
        return f"{count:,} ({count / games:.0%})"

    results = (
        f"White {share(summary['white_wins'])}   draws {share(summary['draws'])}   "
        f"Black {share(summary['black_wins'])}"
    )
    ends = ", ".join(
        f"{name.replace('_', ' ')} {count:,}"
        for name, count in sorted(summary["terminations"].items(), key=lambda item: -item[1])
    )
    speed = (
        f"{summary['games_per_s']:,.1f} games/s, {summary['plies_per_s']:,.0f} plies/s, "
        f"{summary['mean_time_steps']:.2f} time steps a move, {summary['verdict']}"
    )
    rows = [
        (
            "games",
            f"{summary['games']:,} of {summary['target']:,}, "
            f"mean {summary['mean_length']:.0f} plies",
        ),
        ("results", results),
        ("ended by", ends),
        ("lengths", _histogram(summary["lengths"])),
    ]
    if summary["evals_per_s"]:
        rows.append(("speed", speed))
    if summary["searched_plies"]:
        rows.append(("searches", _searches(summary)))
    if summary["resign_checks"]:
        wrong = f"{summary['resign_false_positives']} of {summary['resign_checks']} checked"
        rows.append(("wrong resignations", wrong))
    if summary["restarts"]:
        rows.append(("workers restarted", str(summary["restarts"])))
    if summary["stopped_by"]:
        from vecchess.runtime.signals import stopped_text

        again = f"vecchess selfplay --run-dir {summary['run_dir']} --resume"
        rows.append((stopped_text(summary["stopped_by"]), f"resume with: {again}"))
    rows.append(("written to", summary["run_dir"]))
    return rows


def _searches(summary: dict[str, Any]) -> str:
    return (
        f"{summary['mean_visits']:,.0f} simulations a move, {summary['sims_per_s']:,.0f} a second, "
        f"{summary['cache_hit_rate']:.0%} of the positions from the cache"
    )


def _histogram(lengths: dict[str, int]) -> str:
    """Games by length as bars of eight heights, one a bin of 32 plies."""
    if not lengths:
        return ""
    bins = {int(key) // 32: count for key, count in lengths.items()}
    top = max(bins.values())
    bars = " ▁▂▃▄▅▆▇█"
    text = "".join(bars[-(-8 * bins.get(i, 0) // top)] for i in range(max(bins) + 1))
    return f"|{text}| 0 to {32 * (max(bins) + 1)} plies"
