"""Plots a training run: its losses, and its scores against players that never change.

    python bench/learning/plot.py runs/tiny-gumbel bench/learning/tiny-gumbel.png

For supervised runs, one or several to compare, it plots the share of held-out moves predicted:

    python bench/learning/plot.py runs/tiny runs/twin bench/learning/tiny-stockfish.png

Of reports by ``vecchess eval --history RUN --by-cost N`` it plots what strength cost:

    python bench/learning/plot.py tiny-gumbel-cost.json tiny-moves-cost.json cost.png

Needs matplotlib (extra ``plots``).
"""

import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.ticker import EngFormatter

from vecchess.store.metrics import read_metrics

LOSSES = {"loss_policy": "policy loss", "loss_value": "value loss", "entropy": "entropy"}


def main(runs: list[Path], out: Path) -> None:
    """Write the plot of ``runs`` to ``out``; the losses are the first run's."""
    metrics = {run.name: list(read_metrics(run)) for run in runs}
    first = metrics[runs[0].name]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    draw_losses(left, of_kind(first, "learn"))
    if of_kind(first, "examine"):
        for name, lines in metrics.items():
            draw_top1(right, name, of_kind(lines, "examine"))
    else:
        draw_scores(right, of_kind(first, "eval"))
    for axes in (left, right):
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    figure.suptitle(", ".join(metrics))
    figure.savefig(out, dpi=110)


def plot_costs(reports: list[Path], out: Path) -> None:
    """Write the plot of ratings and their 95 % intervals by core-hours."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for report in reports:
        curve = json.loads(report.read_text())["curve"]
        hours = [point["cost"]["core-hours"] for point in curve]
        axes.plot(hours, [point["elo"] for point in curve], marker=".", label=report.stem)
        bounds = [[point[end] for point in curve] for end in ("elo_low", "elo_high")]
        axes.fill_between(hours, *bounds, alpha=0.15)
    axes.set(xlabel="core-hours", ylabel="Elo, random is 0", xscale="log")
    axes.legend()
    figure.savefig(out, dpi=110)


def of_kind(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The lines of one kind."""
    return [line for line in lines if line["kind"] == kind]


def draw_losses(axes: Any, lines: list[dict[str, Any]]) -> None:
    """Losses by samples."""
    for key, label in LOSSES.items():
        points = [(line["samples"], line[key]) for line in lines if key in line]
        if points:
            axes.plot(*zip(*points, strict=True), label=label, lw=0.8)
    axes.axhline(0, color="grey", lw=0.5)
    axes.set(xlabel="samples", ylabel="nats")
    axes.legend()


def draw_top1(axes: Any, name: str, lines: list[dict[str, Any]]) -> None:
    """Share of held-out moves that the network ranks first, by samples."""
    axes.plot(
        [line["samples"] for line in lines],
        [line["top1"][-1] for line in lines],
        marker=".",
        label=name,
    )
    axes.set(xlabel="samples", ylabel="top-1 on held-out positions")
    axes.legend()


def draw_scores(axes: Any, lines: list[dict[str, Any]]) -> None:
    """Scores with their 95 % intervals, by samples."""

    def pairing(line: dict[str, Any]) -> str:
        return f"{line['player']} against {line['opponent']}"

    for name, group in groupby(sorted(lines, key=pairing), pairing):
        matches = list(group)
        samples = [line["samples"] for line in matches]
        axes.plot(samples, [line["score"] for line in matches], marker=".", label=name)
        bounds = [line["score_interval"] for line in matches]
        axes.fill_between(samples, *zip(*bounds, strict=True), alpha=0.15)
    axes.axhline(0.5, color="grey", lw=0.5)
    axes.set(xlabel="samples", ylabel="score", ylim=(0, 1))
    axes.legend()


if __name__ == "__main__":
    *given, target = map(Path, sys.argv[1:])
    (plot_costs if given[0].suffix == ".json" else main)(given, target)
