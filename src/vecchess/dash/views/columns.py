"""Lines of a run's metrics as columns, which say each name once."""

from typing import Any

from vecchess.monitor.series import Series

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
