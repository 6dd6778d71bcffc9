"""The part of a report on one run."""

from typing import Any

from vecchess.monitor.charts import charts, is_number
from vecchess.monitor.run_view import RunView
from vecchess.report.examples import examples
from vecchess.report.facts import differences, facts
from vecchess.store.stats import LENGTH_BIN
from vecchess.watch.plain_lines import match_line

NUM_COLUMNS = 60
"""Columns of the map of spike rates at most."""
DECISIVE = ("checkmate", "resignation")


class RunSection:
    """What ``report.html`` shows of a run."""

    def __init__(self, view: RunView) -> None:
        """``view`` as it is now."""
        stats = view.stats
        self.view = view
        self.facts, self.differences = facts(view), differences(view.config)
        self.charts = {chart.key: chart for chart in charts(view)}
        self.layers = _spike_rates(view)
        """(layer, spike rate over time), where the run measured it."""
        matches = view.series.lines("eval")
        newest = {f"{one.get('player')} against {one.get('opponent')}": one for one in matches}
        self.matches = [match_line(one) for one in newest.values()]
        """The last match of each pairing."""
        self.endings = [
            (name, count, "decisive" if name in DECISIVE else "drawn")
            for name, count in sorted(
                stats.terminations.items(), key=lambda one: (one[0] in DECISIVE, -one[1])
            )
        ]
        """(reason, games, kind), those of draws first."""
        self.most_endings = max(stats.terminations.values(), default=0) or 1
        self.lengths = _bars(stats.lengths, 0, LENGTH_BIN)
        self.time_steps = _bars(stats.time_steps, 1, 1)
        self.examples = examples(view)


def _spike_rates(view: RunView) -> list[tuple[str, list[float | None]]]:
    rates = [line.get("spikes") for line in view.series.lines("learn", NUM_COLUMNS)]
    measured: list[dict[str, Any]] = [one for one in rates if isinstance(one, dict)]
    names = dict.fromkeys(name for one in measured for name in one)
    return [(name, [_rate(one.get(name)) for one in measured]) for name in names]


def _rate(value: Any) -> float | None:
    return float(value) if is_number(value) else None


def _bars(counts: dict[str, int], first: int, width: int) -> list[tuple[str, int]]:
    """(name, count) of each bin of a histogram; [] where nothing was counted."""
    if not counts:
        return []
    lows = range(first, max(map(int, counts)) + 1, width)
    return [(str(low), counts.get(str(low), 0)) for low in lows]
