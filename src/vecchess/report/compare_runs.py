"""Several runs side by side: facts in a table, curves in common charts."""

from collections.abc import Sequence
from dataclasses import replace

from vecchess.monitor.charts import Chart, Curve, charts
from vecchess.monitor.run_view import RunView
from vecchess.report.facts import differences, facts
from vecchess.report.svg import NUM_COLOURS

COMPARED = ("loss", "top1", "spikes", "score", "elo", "cost", "speed", "steps", "length", "results")
FIRST_CURVE = {"results": "draws"}
"""The curve to compare where it is not the first."""


class RunComparison:
    """The first part of a report on several runs: settings where any two differ, and charts."""

    def __init__(self, views: Sequence[RunView], names: Sequence[str]) -> None:
        """The runs ``views``, by their ``names``."""
        self.charts = common_charts(views, names)
        columns = [dict(facts(view)) for view in views]
        changed = [dict(differences(view.config)) for view in views]
        settings = dict.fromkeys(name for column in changed for name in column)
        self.rows = [
            (name, [column.get(name, "") for column in columns])
            for name in dict.fromkeys(name for column in columns for name in column)
        ]
        """(name, value of each run)."""
        for name in settings:
            values = [column.get(name, "default") for column in changed]
            if len(set(values)) > 1:
                self.rows.append((f"setting {name}", values))


def common_charts(views: Sequence[RunView], names: Sequence[str]) -> list[Chart]:
    """A chart for each figure that two runs or more have, a curve a run; of matches a chart for
    each pairing. More runs than there are colours are drawn in several charts."""
    wanted: dict[tuple[str, str, str], list[tuple[Chart, Curve]]] = {}
    for view, name in zip(views, names, strict=True):
        for chart in charts(view):
            for what, curve in _compared(chart):
                found = Curve(name, curve.points, curve.bands)
                wanted.setdefault((chart.key, what, chart.x), []).append((chart, found))
    return [
        replace(group[0][0], title=_title(group[0][0], what), curves=[curve for _, curve in part])
        for (key, what, _), group in sorted(
            wanted.items(), key=lambda one: COMPARED.index(one[0][0])
        )
        if len(group) > 1
        for part in _parts(group)
    ]


def _compared(chart: Chart) -> list[tuple[str, Curve]]:
    if chart.key not in COMPARED:
        return []
    if chart.key in ("score", "elo"):
        return [(curve.name, curve) for curve in chart.curves]
    name = FIRST_CURVE.get(chart.key, chart.curves[0].name)
    return [(name, curve) for curve in chart.curves if curve.name == name]


def _title(chart: Chart, what: str) -> str:
    return (
        f"{chart.title}: {what}"
        if chart.key in ("score", "elo", "results", "loss")
        else chart.title
    )


def _parts(group: list[tuple[Chart, Curve]]) -> list[list[tuple[Chart, Curve]]]:
    return [group[first : first + NUM_COLOURS] for first in range(0, len(group), NUM_COLOURS)]
