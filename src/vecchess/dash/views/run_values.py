"""Plain values for JSON: runs as rows and in full, metrics as columns."""

import shlex
from pathlib import Path
from typing import Any

from vecchess.dash.views.run_reader import RunRegistry
from vecchess.inference.source import find
from vecchess.monitor.run_status import RunStatus
from vecchess.monitor.run_view import RunView
from vecchess.monitor.series import Series
from vecchess.safe_parse import encodable
from vecchess.store.remote.run_mirror import place_of

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
)
NUM_WORKERS = 256
"""Workers in the table at most."""


def run_rows(registry: RunRegistry) -> list[dict[str, Any]]:
    """All runs, those in progress first, then those that changed last."""
    lines = [run_row(name, view) for name, view in registry.views().items()]
    return sorted(lines, key=lambda line: (line["is_over"], -line["updated_unix"]))


def run_row(name: str, view: RunView) -> dict[str, Any]:
    """One run as a row of the table of runs."""
    values = status_values(view.status)
    evaluations = view.series.last("eval")
    return {"id": name, "name": view.name, "recorded": view.stats.games} | {
        "eval": evaluations and {key: evaluations.get(key) for key in ("opponent", "score")},
        **{key: values[key] for key in LINE_KEYS},
    }


def run_details(name: str, view: RunView) -> dict[str, Any]:
    """All facts about one run but for its series and games."""
    values = status_values(view.status)
    values["workers"] = values["workers"][:NUM_WORKERS]
    networks = view.networks()
    return {
        "id": name,
        "name": view.name,
        "status": values,
        "stats": view.stats.to_dict(),
        "networks": len(networks),
        "rated_unix": view.rated_unix,
        "newest_network": networks[-1].name if networks else "",
        "rating_command": _rating_command(view.path, playable_networks(view)),
        "kinds": view.series.kinds,
    }


def playable_networks(view: RunView) -> list[Path]:
    """The networks of a run, the newest last, that can be opened by their files alone: none where
    they are weights of a user's module, whose code would have to be run."""
    net = view.config.get("net")
    is_module = isinstance(net, str) and find(net).kind == "module"
    return [] if is_module else view.networks()


def _rating_command(run: Path, networks: list[Path]) -> str:
    """What rates the networks of a run: against each other, or the only one; "" without any."""
    if not networks:
        return ""
    history, place = ("", networks[0]) if len(networks) == 1 else ("--history ", place_of(run))
    return f"vecchess eval {history}{shlex.quote(encodable(str(place)))}"


def status_values(status: RunStatus) -> dict[str, Any]:
    """The status as plain values, without the age of a run in progress: it changes all the time."""
    values = status.to_dict()
    if not status.is_over:
        del values["age_s"]
    return values


FEWEST, MOST = 2, 2000
"""Bounds of the number of lines in one answer."""
NOT_SHOWN = ("schema", "kind", "lengths")


def series_columns(series: Series, kind: str, most: int) -> dict[str, Any]:
    """At most ``most`` lines of ``kind``, evenly spaced, by column.

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
    """The last line of each kind and the number of lines: what a chart appends."""
    found = {}
    for kind in series.kinds:
        line = series.last(kind) or {}
        found[kind] = {name: value for name, value in line.items() if name not in NOT_SHOWN}
    return {"counts": series.kinds, "last": found}
