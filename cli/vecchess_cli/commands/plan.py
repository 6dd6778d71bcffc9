"""``vecchess plan``: what a training will cost on this machine, before it is started."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecchess.config import TrainConfig
from vecchess.runtime.torch_environment import prepare_environment
from vecchess_cli.commands.train import PANELS, defaults_by_objective
from vecchess_cli.options import command_app, settings_options
from vecchess_cli.output import note, print_json, print_lines, results

if TYPE_CHECKING:
    from vecchess.bench.training_plan import TrainingPlan

EXAMPLES = """Tell what a training will cost on this machine: time, core-hours or GPU-hours, disk.

It takes the settings of vecchess train, plays and learns for some seconds with the network that the
run starts with, in a temporary folder, and works out the whole run. Starting and compiling are not
in it, nor the matches of a gate.

Examples:

  vecchess plan

  vecchess plan --net small --iterations 100 --positions-per-iter 400000

  vecchess plan --config configs/one-gpu.toml --seconds 30 --json

  vecchess eval --history runs/a --by-cost 5   # afterwards: strength by what it cost

A training writes what it has cost into metrics.jsonl, with each network, and prints it at its end.
"""
LEFT_OUT = {"run_dir", "resume", "dash", "dash_port", "metrics_port", "metrics_host"}
MORE = {"Used first": " seconds"}
PLAN_PANELS = {
    panel: " ".join(name for name in names.split() if name not in LEFT_OUT) + MORE.get(panel, "")
    for panel, names in PANELS.items()
}
MB = 1e6


@settings_options(TrainConfig, PLAN_PANELS, defaults_by_objective())
def plan(
    settings: dict[str, Any],
    seconds: Annotated[
        float, typer.Option(min=0.1, max=3600, help="Time of each measurement, in seconds.")
    ] = 10.0,
) -> None:
    """See EXAMPLES."""
    from vecchess.runtime.signals import OnSignal, StopSignals

    with StopSignals(interrupts=True, on_signal=OnSignal.EXIT) as stop:
        prepare_environment()
        from vecchess.bench.training_plan import plan_training
        from vecchess.config import load_config

        stop.set_action(OnSignal.RAISE)
        wanted = load_config(TrainConfig, settings, settings["config"])
        found = plan_training(wanted, seconds, (lambda line: None) if settings["quiet"] else note)
        stop.set_action(OnSignal.EXIT)
        print_lines(results(settings["json"]), _rows(found))
        if settings["json"]:
            print_json(found.to_dict())


app = command_app(plan, EXAMPLES)


def _rows(found: "TrainingPlan") -> list[tuple[str, str]]:
    from vecchess.bench.training_speed import FOLDED
    from vecchess.runtime.reporting import as_clock

    facts, total = found.to_dict(), found.total
    devices = ", ".join(facts["devices"])
    if facts["machines"] > 1:
        devices += f" on each of {facts['machines']} machines"
    speeds = facts["samples_per_s"]
    learning = [
        f"{speed:,.0f} samples/s" + " once weights are int8" * (name == FOLDED and len(speeds) > 1)
        for name, speed in speeds.items()
    ]
    parts = ", ".join(
        f"{name} {as_clock(cost.wall_s)}" for name, cost in found.costs().items() if cost.wall_s
    )
    disk = facts["disk_bytes"]
    shares = ", ".join(f"{name} {size / MB:,.1f}" for name, size in disk.items() if size)
    speed, energy = facts["positions_per_s"], total.joules
    return [
        ("devices", f"{devices}; {facts['cores']} {'core' if facts['cores'] == 1 else 'cores'}"),
        *([("playing", f"{speed:,.0f} positions/s")] if speed else []),
        ("learning", ", ".join(learning)),
        (
            "run",
            f"{facts['iterations']:,} iterations"
            + f", {facts['positions']:,} positions" * bool(facts["positions"])
            + f", {facts['samples']:,} samples",
        ),
        ("time", f"{as_clock(total.wall_s)} ({parts})"),
        ("cost", str(total)),
        *([] if energy else [("energy", "not told by this machine")]),
        ("disk", f"{sum(disk.values()) / MB:,.1f} MB ({shares})"),
    ]
