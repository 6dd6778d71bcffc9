"""``vecchess train``: play, learn and publish in turns, or learn from recorded games.

With ``--plan`` it tells what that will cost instead.
"""

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecchess.config import LossConfig, OptimiserConfig, TrainConfig, TreeConfig
from vecchess.config.train_settings import OBJECTIVE_DEFAULTS, TrainGameConfig
from vecchess.errors import ConfigError
from vecchess.runtime.cost_meter import Cost
from vecchess.runtime.reporting import as_clock
from vecchess.runtime.signals import OnSignal, StopSignals, stopped_text
from vecchess.runtime.torch_environment import prepare_environment
from vecchess_cli.dash_beside import DASH_PORT, Dash, DashPort, dashboard_of
from vecchess_cli.options import command_app, settings_options, writable_run
from vecchess_cli.output import note, print_result

if TYPE_CHECKING:
    from vecchess.bench.training_plan import TrainingPlan

EXAMPLES = """Train a network: by games against itself, or from recorded games.

Without options: a tiny network on this machine's GPUs, or else on its processor, by AlphaZero with
16 simulations a move; some three minutes on two cores, with its score against random play before
and after.

Examples:

  vecchess train --net small --gpus 0-7 --positions-per-iter 400000 --run-dir runs/a

  vecchess train --config configs/one-gpu.toml --plan    # what it will cost on this machine

  vecchess train --run-dir runs/a --resume

  vecchess train --objective ppo --net tiny --iterations 100

  vecchess train --objective supervised --data games.pgn --epochs 4

  vecchess train --config configs/one-gpu.toml --init-from runs/a/nets/a-s512000-d400000.safetensors

  torchrun --nnodes 4 --nproc-per-node 8 ... -m vecchess_cli.main train --gpus 0-7 --run-dir runs/b

Settings have a variable (VECCHESS_ITERATIONS, VECCHESS_LR, ...) and a key in a --config file; those
without an option (the search's, the loss's, the optimiser's) are listed in the run's config.toml.
Ctrl-C, or a signal of a cluster, saves a checkpoint and ends; --resume continues from there.
"""
PANELS = {
    "Used first": "objective net iterations positions_per_iter data gpus seed run_dir resume "
    "config",
    "Learning": "batch_size micro_batch lr value_lr precision fold_at samples_per_position "
    "window_positions loaders",
    "Networks": "history tactical move_inputs init_from checkpoint_every",
    "Recorded games": "data_share epochs holdout",
    "Games of self-play": "seats search sims temperature openings chess960 random_plies max_plies",
    "Matches": "eval_every eval_games gate gate_games",
    "Several machines": "resume_or_begin executor ray_address lag verify_share block_seats nnodes "
    "node_rank master_addr master_port",
    "Output and help": "plan dash dash_port metrics_port metrics_host quiet json",
}


def defaults_by_objective() -> dict[str, str]:
    """Setting -> its default in words, for those that depend on the objective."""
    words: dict[str, list[str]] = {}
    models = (TrainConfig, TreeConfig, TrainGameConfig, LossConfig, OptimiserConfig)
    fields = {name: field for model in models for name, field in model.model_fields.items()}
    for objective, defaults in OBJECTIVE_DEFAULTS.items():
        for part in (defaults, *(part for part in defaults.values() if isinstance(part, dict))):
            for name, value in part.items():
                if not isinstance(value, dict):
                    words.setdefault(name, []).append(f"{objective} {value}")
    return {
        name: ", ".join([*parts, f"else {fields[name].default}"]) for name, parts in words.items()
    }


@settings_options(TrainConfig, PANELS, defaults_by_objective())
def train(
    flags: dict[str, Any],
    run_dir: Annotated[
        str | None,
        typer.Option(help="Folder or URL of the run.", show_default="runs/train-DATE-TIME"),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Tell what this training will cost here, and end.")
    ] = False,
    dash: Dash = False,
    dash_port: DashPort = DASH_PORT,
) -> int:
    """Train and print a summary; the help is EXAMPLES."""
    with StopSignals(interrupts=True, on_signal=OnSignal.EXIT) as stop:
        if plan:
            _plan(flags, stop)
            return 0
        with writable_run(flags, stop):
            summary = _train(flags, stop) | ({"run_dir": run_dir} if run_dir else {})
        if "schema" in summary:  # one rank of each machine tells it
            print_result(summary, flags["json"], _shown(summary))
    return int(summary["exit_code"])


app = command_app(train, EXAMPLES)


def _train(flags: dict[str, Any], stop: StopSignals) -> dict[str, Any]:
    prepare_environment()
    from vecchess.config import load_config
    from vecchess.store.run_folder import RunFolder
    from vecchess.train.distributed.shared_settings import node_of, settings_before_joining
    from vecchess.train.run_train import train_run

    run_dir, resume, config = flags["run_dir"], flags["resume"], flags["config"]
    before = RunFolder(run_dir).config if resume and run_dir is not None else None
    is_here = before is None or before.is_file()
    is_complete = not (resume and run_dir is None)  # train_run raises an error otherwise
    dash = flags["dash"] and is_complete and node_of(flags) == 0
    run_dir, dashboard = dashboard_of(dash, flags["dash_port"], run_dir, "train")
    with dashboard:
        if is_here:
            settings = load_config(TrainConfig, flags, config, before=before)
            return train_run(settings, run_dir, resume, flags["quiet"], stop=stop)
        # they are on rank 0's machine
        return train_run(
            settings_before_joining(flags), run_dir, resume, flags["quiet"], flags, stop
        )


def _plan(flags: dict[str, Any], stop: StopSignals) -> None:
    """Measure and print; nothing is written."""
    if flags["resume"]:
        raise ConfigError(
            "--plan is for a new run: leave out --resume, and give --config RUN/config.toml "
            "for one like a run that is there"
        )
    prepare_environment()
    from vecchess.bench.training_plan import plan_training
    from vecchess.config import load_config

    stop.set_action(OnSignal.RAISE)
    wanted = load_config(TrainConfig, flags, flags["config"])
    found = plan_training(wanted, (lambda line: None) if flags["quiet"] else note)
    stop.set_action(OnSignal.EXIT)
    print_result(found.to_dict(), flags["json"], dict(_plan_rows(found)))


def _plan_rows(found: "TrainingPlan") -> list[tuple[str, str]]:
    facts, total = found.to_dict(), found.total
    devices = ", ".join(facts["devices"])
    if facts["machines"] > 1:
        devices += f" on each of {facts['machines']} machines"
    learning = [
        f"{speed:,.0f} samples/s" + " once weights are int8" * (number > 0)
        for number, speed in enumerate(facts["samples_per_s"].values())
    ]
    parts = ", ".join(
        f"{name} {as_clock(cost.wall_s)}" for name, cost in found.costs().items() if cost.wall_s
    )
    sizes = {name: size / 1e6 for name, size in facts["disk_bytes"].items() if size}
    shares = ", ".join(f"{name} {size:,.1f}" for name, size in sizes.items())
    work = [f"{facts['iterations']:,} iterations", f"{facts['samples']:,} samples"]
    rows = [
        ("devices", f"{devices}; {facts['cores']} {'core' if facts['cores'] == 1 else 'cores'}")
    ]
    if found.playing:
        work.insert(1, f"{facts['positions']:,} positions")
        rows.append(("playing", f"{facts['positions_per_s']:,.0f} positions/s"))
    rows += [
        ("learning", ", ".join(learning)),
        ("run", ", ".join(work)),
        ("time", f"{as_clock(total.wall_s)} ({parts})"),
        ("cost", str(total)),
    ]
    if not total.joules:
        rows.append(("energy", "not told by this machine"))
    return [*rows, ("disk", f"{sum(sizes.values()):,.1f} MB ({shares})")]


def _shown(summary: dict[str, Any]) -> dict[str, Any]:
    """What people read of a training, with what to do next."""
    run_dir, net, cost = summary["run_dir"], summary["net"], Cost.from_dict(summary["cost"])
    shown = {
        "iterations": f"{summary['iterations']} of {summary['target']}",
        "learnt_from": f"{summary['samples']:,} samples, {summary['steps']:,} updates",
        "network": net,
    }
    shown |= {"cost": str(cost)} if cost else {}
    firsts: dict[str, str] = {}
    for match in summary["matches"]:
        low, high = match["score_interval"]
        score = f"{match['score']:.1%} [{low:.1%}, {high:.1%}]"
        name = f"{match['player']} against {match['opponent']}"
        shown[name] = f"{firsts.setdefault(name, score)} before, {score} now"
    if summary["stopped_by"]:
        again = f"resume with: vecchess train --run-dir {shlex.quote(run_dir)} --resume"
        shown[stopped_text(summary["stopped_by"])] = again
    else:
        shown["try_it"] = f"vecchess analyse --net {shlex.quote(summary['spelling'])}"
    return shown | {"written_to": run_dir}
