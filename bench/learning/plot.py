"""Draw a training run: its losses and its scores against players that never change.

    python bench/learning/plot.py runs/tiny-gumbel bench/learning/tiny-gumbel.png

Needs matplotlib (extra ``plots``).
"""

import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from vecchess.learn.metrics import read_metrics

LOSSES = {"loss_policy": "policy loss", "loss_value": "value loss", "entropy": "entropy"}


def main(run: Path, out: Path) -> None:
    """Write the picture of ``run`` to ``out``."""
    lines = list(read_metrics(run))
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    draw_losses(left, [line for line in lines if line["kind"] == "learn"])
    draw_scores(right, [line for line in lines if line["kind"] == "eval"])
    figure.suptitle(run.name)
    figure.savefig(out, dpi=110)


def draw_losses(axes: Any, lines: list[dict[str, Any]]) -> None:
    """Losses by samples."""
    for key, label in LOSSES.items():
        told = [line for line in lines if key in line]
        if told:
            axes.plot([x["samples"] for x in told], [x[key] for x in told], label=label, lw=0.8)
    axes.set(xlabel="samples", ylabel="nats", ylim=(0, None))
    axes.legend()


def draw_scores(axes: Any, lines: list[dict[str, Any]]) -> None:
    """Scores with their 95 % intervals, by samples."""

    def who(line: dict[str, Any]) -> str:
        return f"{line['player']} against {line['opponent']}"

    for name, group in groupby(sorted(lines, key=who), who):
        told = list(group)
        samples = [line["samples"] for line in told]
        axes.plot(samples, [line["score"] for line in told], marker=".", label=name)
        bounds = [line["score_interval"] for line in told]
        axes.fill_between(samples, *zip(*bounds, strict=True), alpha=0.15)
    axes.axhline(0.5, color="grey", lw=0.5)
    axes.set(xlabel="samples", ylabel="score", ylim=(0, 1))
    axes.legend()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
