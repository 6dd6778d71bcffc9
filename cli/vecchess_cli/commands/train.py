"""``vecchess train``: play, learn, publish, over and over; or learn from games of others."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecchess_cli.dash_beside import DASH_PORT, Dash, DashPort, dashboard_of
from vecchess_cli.output import Json, people, print_json
from vecchess_cli.shared_options import (
    Chess960,
    Config,
    Gpus,
    MetricsHost,
    MetricsPort,
    Openings,
    Quiet,
    RandomPlies,
    Resume,
    Seed,
    Temperature,
)

if TYPE_CHECKING:
    from vecchess.runtime.signals import StopSignals

EXAMPLES = """Train a network: by games against itself, or from recorded games.

Without options: a tiny network on this machine's GPUs, or else on its processor, by AlphaZero with
16 simulations a move; some ten minutes on a laptop, with its score against random play before and
after.

Examples:

  vecchess train --net small --gpus 0-7 --iterations 200 --games-per-iter 4096 --run-dir runs/a

  vecchess train --run-dir runs/a --resume

  vecchess train --objective ppo --net tiny --iterations 100

  vecchess train --objective supervised --data games.pgn --epochs 4

  vecchess train --config configs/one-gpu.toml --init-from runs/a/nets/a-s512000-d400000.safetensors

  torchrun --nnodes 4 --nproc-per-node 8 ... -m vecchess_cli.main train --gpus 0-7 --run-dir runs/b

Settings have a variable (VECCHESS_ITERATIONS, VECCHESS_LR, ...) and a key in a --config file; those
without a flag (the search's, the loss's, the optimiser's) are listed in the run's config.toml.
Ctrl-C, or a signal of a cluster, saves a checkpoint and ends; --resume goes on from there.
"""


def train(
    objective: Annotated[
        str | None,
        typer.Option(help='"alphazero", "ppo", "reinforce" or "supervised". [alphazero]'),
    ] = None,
    iterations: Annotated[int | None, typer.Option(help="Times round the loop. [6]")] = None,
    games_per_iter: Annotated[
        int | None, typer.Option(help="Games an iteration, on all machines together. [96]")
    ] = None,
    net: Annotated[
        str | None,
        typer.Option(help="tiny, small, base, large, sizes (.toml), or a network file. [tiny]"),
    ] = None,
    history: Annotated[
        int | None,
        typer.Option(help="Positions of the game that a new network sees, 1 to 8. [1]"),
    ] = None,
    init_from: Annotated[
        Path | None, typer.Option(help="Network file whose weights the run starts with.")
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Recorded games: a PGN file, a run, a folder of shards; repeatable."),
    ] = None,
    data_share: Annotated[
        float | None,
        typer.Option(help="AlphaZero with --data: share of recorded games in a batch. [0.25]"),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Supervised: times each position is learnt from. [1]")
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(help="Supervised: share of positions kept to test on. [0.02]"),
    ] = None,
    gpus: Gpus = None,
    run_dir: Annotated[
        Path | None, typer.Option(help="Folder of the run. [runs/train-DATE-TIME]")
    ] = None,
    resume: Resume = False,
    seed: Seed = None,
    config: Config = None,
    batch_size: Annotated[
        int | None, typer.Option(help="Samples of an update, on all ranks together. [256]")
    ] = None,
    micro_batch: Annotated[
        int | None, typer.Option(help="Samples at a time on one rank; 0 chooses. [0]")
    ] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate. [0.002]")] = None,
    value_lr: Annotated[
        float | None, typer.Option(help="Learning rate of the value head; 0: the same. [0]")
    ] = None,
    precision: Annotated[str | None, typer.Option(help='"fp32", "bf16" or "fp16". [fp32]')] = None,
    fold_at: Annotated[
        float | None, typer.Option(help="Share of the run after which weights are int8. [0.7]")
    ] = None,
    samples_per_position: Annotated[
        float | None,
        typer.Option(help="Samples learnt from for each new position. [1.5, ppo 3, reinforce 1]"),
    ] = None,
    window_positions: Annotated[
        int | None, typer.Option(help="AlphaZero: replay window at first, in positions. [100000]")
    ] = None,
    loaders: Annotated[
        int | None, typer.Option(help="Processes that make batches, per rank; 0: none. [1]")
    ] = None,
    search: Annotated[
        str | None, typer.Option(help='"gumbel", "puct", or "none". [gumbel for alphazero]')
    ] = None,
    sims: Annotated[
        int | None, typer.Option(help="Simulations of a search. [16 for alphazero]")
    ] = None,
    temperature: Temperature = None,
    openings: Openings = None,
    chess960: Chess960 = None,
    random_plies: RandomPlies = None,
    max_plies: Annotated[int | None, typer.Option(help="Draw a game at this length. [256]")] = None,
    eval_every: Annotated[
        int | None, typer.Option(help="Iterations between matches for progress; 0: none. [5]")
    ] = None,
    eval_games: Annotated[int | None, typer.Option(help="Games of such a match. [100]")] = None,
    gate: Annotated[
        str | None,
        typer.Option(help='Publish what a match accepts by this test: "0,30", or "" all. [""]'),
    ] = None,
    gate_games: Annotated[int | None, typer.Option(help="Games of it, at most. [400]")] = None,
    checkpoint_every: Annotated[
        int | None, typer.Option(help="Iterations between checkpoints. [1]")
    ] = None,
    nnodes: Annotated[int | None, typer.Option(help="Machines. [1]")] = None,
    node_rank: Annotated[int | None, typer.Option(help="Which of them this is. [0]")] = None,
    master_addr: Annotated[str | None, typer.Option(help="Address of machine 0.")] = None,
    master_port: Annotated[int | None, typer.Option(help="Port there.")] = None,
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

    with StopSignals(interrupts=True, on_signal=OnSignal.EXIT) as stop:
        summary = _train(flags, stop)
        _print_summary(summary)
        if json:
            print_json(summary)
    return int(summary["exit_code"])


train.__doc__ = EXAMPLES


def _train(flags: dict[str, Any], stop: "StopSignals") -> dict[str, Any]:
    from vecchess.config import TrainConfig, load_config
    from vecchess.store.run_folder import RunFolder
    from vecchess.train.distributed.shared_settings import settings_before_joining
    from vecchess.train.run_train import train_run

    run_dir, resume, config = flags["run_dir"], flags["resume"], flags["config"]
    stored = None
    if resume and run_dir is not None and config is None:
        stored = RunFolder(run_dir).config
    is_lost = resume and run_dir is None  # which is said below
    dash = flags["dash"] and not flags["node_rank"] and not is_lost
    run_dir, dashboard = dashboard_of(dash, flags["dash_port"], run_dir, "train")
    with dashboard:
        if stored is None or stored.is_file():
            settings = load_config(TrainConfig, flags, config or stored)
            return train_run(settings, run_dir, resume, flags["quiet"], stop=stop)
        # they are on rank 0's machine
        return train_run(
            settings_before_joining(flags), run_dir, resume, flags["quiet"], flags, stop
        )


def _print_summary(summary: dict[str, Any]) -> None:
    from rich.text import Text

    console = people()
    rows = _rows(summary)
    width = max(len(name) for name, _ in rows)
    console.print()
    for name, text in rows:  # no table: paths and commands are to be copied whole
        console.print(Text.assemble((name.ljust(width), "bold"), f"  {text}"))


def _score(match: dict[str, Any]) -> str:
    low, high = match["score_interval"]
    return f"{match['score']:.1%} [{low:.1%}, {high:.1%}]"


def _rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("iterations", f"{summary['iterations']} of {summary['target']}"),
        ("learnt", f"{summary['samples']:,} samples, {summary['steps']:,} updates"),
        ("network", summary["net"]),
    ]
    for key in dict.fromkeys((m["player"], m["opponent"]) for m in summary["matches"]):
        played = [m for m in summary["matches"] if (m["player"], m["opponent"]) == key]
        scores = f"{_score(played[0])} before, {_score(played[-1])} now"
        rows.append((f"{key[0]} against {key[1]}", scores))
    if summary["stopped_by"]:
        from vecchess.runtime.signals import stopped_text

        again = f"vecchess train --run-dir {summary['run_dir']} --resume"
        rows.append((stopped_text(summary["stopped_by"]), f"resume with: {again}"))
    else:
        rows.append(("look at it", f"vecchess analyse --net {summary['net']}"))
        rows.append(
            ("leave early", f"vecchess calibrate {summary['net']} --games {summary['run_dir']}")
        )
    rows.append(("written to", summary["run_dir"]))
    return rows
