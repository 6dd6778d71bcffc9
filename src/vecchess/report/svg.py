"""Figures of the charts in ``charts.html``: scales, bounds, colours (decision 158)."""

from collections.abc import Sequence
from typing import Any

from vecchess.monitor.axis import bounds, format_figure, ticks
from vecchess.monitor.charts import MINUTES, Chart, Curve, Points

NUM_COLOURS = 6


class Scale:
    """Figures from ``low`` to ``high``, laid out from ``start`` to ``end`` in a picture's units."""

    def __init__(self, low_high: tuple[float, float], start: float, end: float) -> None:
        self.low, self.high = low_high
        self._start, self._end = start, end

    def place(self, value: float) -> float:
        """Where ``value`` is drawn."""
        share = (value - self.low) / (self.high - self.low)
        return round(self._start + share * (self._end - self._start), 1)


def places(points: Points, x: Scale, y: Scale) -> str:
    """The points of a line in a picture's units."""
    return " ".join(f"{x.place(at)},{y.place(value)}" for at, value in points)


def edge(curve: Curve) -> Points:
    """The points around a curve's band: the lower ones, and the upper ones back."""
    both = list(zip(curve.points, curve.bands or [], strict=True))
    upper = [(at, high) for (at, _), (_, high) in reversed(both)]
    return [(at, low) for (at, _), (low, _) in both] + upper


def colour(chart: Chart, curve: Curve) -> str:
    """The class of a curve."""
    place = next(place for place, one in enumerate(chart.curves) if one is curve)
    return f"s{place % NUM_COLOURS}"


def largest(rows: Sequence[tuple[str, list[float | None]]]) -> float:
    """The largest value of a heat map, above 0."""
    return max((value for _, row in rows for value in row if value), default=1.0)


def amount(count: int, total: int, digits: int) -> str:
    """A count and its share: 1,024 (25 %)."""
    return f"{count:,} ({count / max(total, 1):.{digits}%})"


def count_bounds(bars: Sequence[tuple[str, int]]) -> tuple[float, float]:
    """Bounds of the axis of counts."""
    return bounds([0.0, float(max(count for _, count in bars))], True)


DRAWING: dict[str, Any] = {
    "WIDTH": 440, "HEIGHT": 220, "LEFT": 46, "RIGHT": 430, "TOP": 10, "BOTTOM": 186,
    "MINUTES": MINUTES, "Scale": Scale, "amount": amount, "colour": colour,
    "count_bounds": count_bounds, "edge": edge, "format_figure": format_figure,
    "largest": largest, "places": places, "ticks": ticks,
}  # fmt: skip
"""What ``charts.html`` uses; places in units of a picture."""
