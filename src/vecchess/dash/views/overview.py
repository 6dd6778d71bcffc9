"""Runs as plain values: in a line of the table of runs, and in full."""

from typing import Any

from vecchess.dash.views.run_registry import Watched
from vecchess.monitor.run_status import Standing
from vecchess.monitor.run_view import RunView

LINE_KEYS = (
    "kind",
    "state",
    "is_over",
    "why",
    "started_unix",
    "updated_unix",
    "seconds",
    "net",
    "iteration",
    "iterations",
    "games",
    "target",
    "eta_s",
    "progress",
    "verdict",
    "load",
    "machines",
)
NUM_WORKERS = 256
"""Workers that are listed; more would be no table for people."""


def run_lines(watched: Watched) -> list[dict[str, Any]]:
    """All runs, those that changed last first."""
    lines = [run_line(name, view) for name, view in watched.views().items()]
    return sorted(lines, key=lambda line: (line["is_over"], -line["updated_unix"]))


def run_line(name: str, view: RunView) -> dict[str, Any]:
    """One run in a line."""
    said = standing_values(view.standing)
    evaluations = view.series.last("eval")
    return {"id": name, "name": view.name, "recorded": view.stats.games} | {
        "eval": evaluations and {key: evaluations.get(key) for key in ("opponent", "score")},
        **{key: said[key] for key in LINE_KEYS},
    }


def run_in_full(name: str, view: RunView) -> dict[str, Any]:
    """One run with all that does not grow with it."""
    said = standing_values(view.standing)
    said["workers"] = said["workers"][:NUM_WORKERS]
    networks = view.networks()
    return {
        "id": name,
        "name": view.name,
        "standing": said,
        "stats": view.stats.to_dict(),
        "networks": len(networks),
        "newest_network": networks[-1].name if networks else "",
        "kinds": view.series.kinds,
    }


def standing_values(standing: Standing) -> dict[str, Any]:
    """Without what changes though nothing happens: the age of a run that goes on."""
    said = standing.to_dict()
    if not standing.is_over:
        del said["age_s"]
    return said
