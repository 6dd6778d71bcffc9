"""Plain values for JSON: runs as rows and in full, metrics as columns."""

import shlex
from typing import Any

from vecchess.dash.views.run_reader import RunRegistry
from vecchess.monitor.run_status import RunStatus
from vecchess.monitor.run_view import RunView
from vecchess.monitor.series import Series
from vecchess.safe_parse import encodable

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
    "bottleneck",
    "load",
    "machines",
)
NUM_WORKERS = 256
"""Workers that are listed; more would be no table for people."""


def run_rows(registry: RunRegistry) -> list[dict[str, Any]]:
    """All runs, those that changed last first."""
    lines = [run_row(name, view) for name, view in registry.views().items()]
    return sorted(lines, key=lambda line: (line["is_over"], -line["updated_unix"]))


def run_row(name: str, view: RunView) -> dict[str, Any]:
    """One run in a line."""
    said = status_values(view.status)
    evaluations = view.series.last("eval")
    return {"id": name, "name": view.name, "recorded": view.stats.games} | {
        "eval": evaluations and {key: evaluations.get(key) for key in ("opponent", "score")},
        **{key: said[key] for key in LINE_KEYS},
    }


def run_details(name: str, view: RunView) -> dict[str, Any]:
    """One run with all that does not grow with it."""
    said = status_values(view.status)
    said["workers"] = said["workers"][:NUM_WORKERS]
    networks = view.networks()
    return {
        "id": name,
        "name": view.name,
        "status": said,
        "stats": view.stats.to_dict(),
        "networks": len(networks),
        "newest_network": networks[-1].name if networks else "",
        "rating_command": f"vecchess eval --history {shlex.quote(encodable(str(view.path)))}",
        "kinds": view.series.kinds,
    }


def status_values(status: RunStatus) -> dict[str, Any]:
    """Without what changes though nothing happens: the age of a run that goes on."""
    said = status.to_dict()
    if not status.is_over:
        del said["age_s"]
    return said


FEWEST, MOST = 2, 2000
"""Lines of a kind that may be asked for at a time."""
NOT_SHOWN = ("schema", "kind", "lengths", "loads")


def series_columns(series: Series, kind: str, most: int) -> dict[str, Any]:
    """Lines of ``kind`` at even distances, ``most`` at the most, by column.

    count: lines there are in all. columns: name to values, None where a line lacks it.
    """
    lines = series.lines(kind, min(max(most, FEWEST), MOST))
    names = dict.fromkeys(name for line in lines for name in line if name not in NOT_SHOWN)
    return {
        "kind": kind,
        "count": series.kinds.get(kind, 0),
        "columns": {name: [line.get(name) for line in lines] for name in names},
    }


def newest(series: Series) -> dict[str, Any]:
    """The last line of each kind, and how many there are: what a chart appends."""
    found = {}
    for kind in series.kinds:
        line = series.last(kind) or {}
        found[kind] = {name: value for name, value in line.items() if name not in NOT_SHOWN}
    return {"counts": series.kinds, "last": found}
