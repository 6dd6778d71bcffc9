"""``vecchess calibrate``: the rule by which positions leave the network early."""

from pathlib import Path
from typing import Annotated, Any

import typer

from vecchess.config.analysis_settings import NetworkUse
from vecchess_cli.options import command_app, run_here, settings_options
from vecchess_cli.output import notes, print_result

OPTIONS = "games play positions nats_per_doubling out gpus backend json"


@settings_options(NetworkUse, {"Options": OPTIONS})
def calibrate(
    flags: dict[str, Any],
    net: Annotated[Path, typer.Argument(help="A network file (.safetensors), or default.")],
    games: Annotated[
        list[str] | None,
        typer.Option(help="Recorded games: a run's folder or URL, or a shard; repeatable."),
    ] = None,
    play: Annotated[
        int, typer.Option(help="Games to play without --games.", min=2, max=1 << 20)
    ] = 128,
    positions: Annotated[int, typer.Option(help="Positions to evaluate.", min=2)] = 8192,
    nats_per_doubling: Annotated[
        float,
        typer.Option(help="What answers in half the time may cost, in nats.", min=0, max=1000),
    ] = 0.04,
    out: Annotated[
        Path | None, typer.Option(help="File to write.", show_default="the network's own")
    ] = None,
) -> None:
    """Choose when a position may leave the network early, and store that with the network.

    On recorded positions, answers after every time step are compared with the last one and with
    the record: the move played and the game's result. A rule costs its KL divergence from the last
    answers, what its values lose in squared error, and --nats-per-doubling for every doubling of
    its time steps. The cheapest is stored, with the measurements. Half of the games choose it, the
    other half tell its costs. Searches want fast answers; play without one wants almost 0.

    Example:  vecchess calibrate small.safetensors --games runs/first
    """
    from vecchess.evaluate.calibrate_exits import CalibrationPlan
    from vecchess.evaluate.calibrate_exits import calibrate as library

    places = tuple(map(run_here, games or ()))
    plan = CalibrationPlan(places, play, positions, nats_per_doubling, out)
    resources = {name: flags[name] for name in NetworkUse.model_fields if name in flags}
    facts = library(net, plan, notes(), resources)
    print_result(facts, flags["json"], calibration_tables(facts, facts["rule"]))


app = command_app(calibrate)


def calibration_tables(facts: dict[str, Any], rule: dict[str, Any] | None) -> dict[str, Any]:
    """What people read of a calibration: the costs of ending after each step, and of the rules."""
    steps = [{"rule": f"all at {row['time_steps']}", **row} for row in facts["curve"]]
    rules = [
        {"rule": name, **facts[key]}
        for name, key in (("before", "before"), ("fitted", "fit"), ("hold-out", "holdout"))
        if key in facts
    ]
    names = ("positions", "games", "nats_per_doubling", "out")
    shown = {name: facts[name] for name in names if name in facts}
    costs = [
        {key: value for key, value in row.items() if key != "time_steps" and key[-3:] != "_se"}
        for row in steps + rules
    ]
    mean_time_steps = facts["holdout"]["mean_time_steps"]
    return shown | {"rule": rule_text(rule or {}, mean_time_steps), "costs": costs}


def rule_text(rule: dict[str, Any], mean_time_steps: float) -> str:
    """An exit rule in words."""
    from vecchess.snn.integer.integer_net import NEVER

    if rule["min_steps"] == NEVER and mean_time_steps == 1:
        return "none, the network takes one time step"
    if rule["min_steps"] == NEVER:
        return "never before the last time step; no other rule is cheaper"
    parts = [f"from step {rule['min_steps']} on"]
    if rule["policy_margin"]:
        parts.append(f"margin of the best move {rule['policy_margin']} a step or more")
    if rule["best_move_unchanged"]:
        parts.append("best move unchanged")
    if rule["value_drift"] is not None:
        parts.append(f"value moved by {rule['value_drift']} a step at most")
    return f"{', '.join(parts)}; {mean_time_steps:.2f} time steps on average"
