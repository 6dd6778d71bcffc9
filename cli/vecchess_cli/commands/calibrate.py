"""``vecchess calibrate``: the rule by which positions leave the network early."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecchess.config.analysis_settings import NetworkUse
from vecchess_cli.option_panels import command_app
from vecchess_cli.output import Json, notes, print_json, print_rows, results
from vecchess_cli.settings_options import settings_options

if TYPE_CHECKING:
    from rich.console import Console

OPTIONS = "games play positions max_cross_entropy max_value_error out gpus backend json"
COLUMNS = {
    "steps": "mean_time_steps",
    "nats": "cross_entropy",
    "more": "cross_entropy_cost",
    "value": "value_error",
    "more ": "value_error_cost",
    "agree": "agreement",
    "KL": "kl",
}
"""Heading -> figure: mean time steps; cross-entropy and value error, each with its excess over that
after all T steps; share of best moves equal to those at T; divergence from the policy at T."""


@settings_options(NetworkUse, {"Options": OPTIONS})
def calibrate(
    settings: dict[str, Any],
    net: Annotated[Path, typer.Argument(help="A network file (.safetensors), or default.")],
    games: Annotated[
        list[Path] | None,
        typer.Option(help="Recorded games: a run's folder or a shard; repeatable."),
    ] = None,
    play: Annotated[
        int, typer.Option(help="Games to play without --games.", min=2, max=1 << 20)
    ] = 128,
    positions: Annotated[int, typer.Option(help="Positions to evaluate.", min=2)] = 8192,
    max_cross_entropy: Annotated[
        float, typer.Option(help="Bound on the excess cross-entropy, in nats.", min=0)
    ] = 0.01,
    max_value_error: Annotated[
        float, typer.Option(help="Bound on the excess squared error of the value.", min=0)
    ] = 0.01,
    out: Annotated[
        Path | None, typer.Option(help="File to write.", show_default="the network's own")
    ] = None,
    json: Json = False,
) -> None:
    """Choose when a position may leave the network early, and store that with the network.

    On recorded positions, answers after every time step are compared with the last one and with
    the record: the move played and the game's result. The rule of the fewest steps within both
    bounds is stored, with the measurements. Half of the games choose it, the other half check it.

    Example:  vecchess calibrate small.safetensors --games runs/first
    """
    from vecchess.evaluate.calibrate_exits import CalibrationPlan
    from vecchess.evaluate.calibrate_exits import calibrate as library
    from vecchess.inference.tune.exit_calibration import CostBounds

    bounds = CostBounds(max_cross_entropy, max_value_error)
    plan = CalibrationPlan(tuple(games or ()), play, positions, bounds, out)
    facts = library(net, plan, notes(), settings)
    console = results(json)
    show_calibration(console, facts)
    console.print(rule_line(facts["rule"], facts["holdout"]["mean_time_steps"]))
    console.print(f"wrote {facts['out']}", soft_wrap=True)
    if json:
        print_json(facts)


app = command_app(calibrate)


def show_calibration(console: "Console", facts: dict[str, Any]) -> None:
    """Print the curve and the chosen rule's costs as a table."""
    rows = [(f"all at {row['time_steps']}", row) for row in facts["curve"]]
    if "before" in facts:
        rows.append(("before", facts["before"]))
    rows += [("fitted", facts["fit"]), ("hold-out", facts["holdout"])]
    table = [[name, *(f"{row[key]:z.4f}" for key in COLUMNS.values())] for name, row in rows]
    title = (
        f"{facts['positions']:,} positions of {facts['games']:,} games, at most "
        f"{facts['max_cross_entropy']:g} nats and {facts['max_value_error']:g} squared error more"
    )
    print_rows(console, title, ["", *COLUMNS], table)


def rule_line(rule: dict[str, Any], mean_time_steps: float) -> str:
    """An exit rule in words."""
    from vecchess.inference.exit_rule import NEVER

    if rule["min_steps"] == NEVER and mean_time_steps == 1:
        return "rule: none, the network takes one time step"
    if rule["min_steps"] == NEVER:
        return "rule: never before the last time step; no other rule is within the bounds"
    parts = [f"from step {rule['min_steps']} on"]
    if rule["policy_margin"]:
        parts.append(f"margin of the best move {rule['policy_margin']} a step or more")
    if rule["best_move_unchanged"]:
        parts.append("best move unchanged")
    if rule["value_drift"] is not None:
        parts.append(f"value moved by {rule['value_drift']} a step at most")
    return f"rule: {', '.join(parts)}; {mean_time_steps:.2f} time steps on average"
