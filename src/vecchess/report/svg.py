"""Charts as SVG, drawn with the page's colours: classes ``s0`` to ``s5`` are those of curves.

+--------------------------------+
| high |                         |   A picture is WIDTH x HEIGHT units and as wide as its place.
|      |      __/--              |   Text is HTML's size at a width of 440 pixels.
|  low |_____/_______            |
|       first     last    unit   |
+--------------------------------+
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from vecchess.monitor.axis import bounds, format_figure, ticks
from vecchess.monitor.charts import MINUTES, Chart, Curve

WIDTH, HEIGHT = 440, 220
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 34
NUM_COLOURS = 6


@dataclass(frozen=True)
class Scale:
    """Figures from ``low`` to ``high``, laid out from ``start`` to ``end`` in a picture's units."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """Where ``value`` is drawn."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def line_chart(chart: Chart) -> str:
    """The curves of a chart, with bands of intervals, axes and a legend."""
    x = Scale(*chart.x_bounds(), LEFT, WIDTH - RIGHT)
    y = Scale(*chart.y_bounds(), HEIGHT - BOTTOM, TOP)
    parts = [_axes(x, y, chart)]
    parts += [_band(curve, place, x, y) for place, curve in enumerate(chart.curves)]
    parts += [_line(curve, place, x, y) for place, curve in enumerate(chart.curves)]
    return _figure(chart.title, picture(parts, chart.title), _legend(chart))


def bar_chart(title: str, bars: Sequence[tuple[str, int]], x_name: str, tick_every: int = 1) -> str:
    """Counts side by side, each bar with its name below it, or every so-many-th."""
    total, most = sum(count for _, count in bars), max(count for _, count in bars)
    low, high = bounds([0.0, float(most)], True)
    y = Scale(low, high, HEIGHT - BOTTOM, TOP)
    pitch = (WIDTH - LEFT - RIGHT) / len(bars)
    parts = [_rules(y, "")]
    for place, (name, count) in enumerate(bars):
        left, top = LEFT + place * pitch, y.place(count)
        parts.append(
            f'<rect class="bar" x="{left + pitch * 0.1:.1f}" y="{top:.1f}" '
            f'width="{pitch * 0.8:.1f}" height="{max(HEIGHT - BOTTOM - top, 0):.1f}">'
            f"<title>{escape(name)}: {count:,} ({count / max(total, 1):.1%})</title></rect>"
        )
        if place % tick_every == 0:
            parts.append(_text(left + pitch / 2, HEIGHT - BOTTOM + 14, name, "middle"))
    parts.append(_text(WIDTH - RIGHT, HEIGHT - 4, x_name, "end"))
    return _figure(title, picture(parts, title), "")


def heat_map(title: str, rows: Sequence[tuple[str, list[float | None]]], x_name: str) -> str:
    """A row of cells for each layer, from left to right over time; darker is more."""
    values = [value for _, row in rows for value in row if value is not None]
    most = max(values, default=0.0) or 1.0
    left, pitch = 96, max(min(24.0, 170 / len(rows)), 9.0)
    height = TOP + pitch * len(rows) + BOTTOM
    width = (WIDTH - left - RIGHT) / max(len(rows[0][1]), 1)
    parts = []
    for place, (name, row) in enumerate(rows):
        top = TOP + place * pitch
        parts.append(_text(left - 6, top + pitch / 2 + 4, name, "end"))
        for column, value in enumerate(row):
            if value is not None:
                parts.append(
                    f'<rect class="heat" x="{left + column * width:.2f}" y="{top:.2f}" '
                    f'width="{width + 0.3:.2f}" height="{pitch - 1:.2f}" '
                    f'fill-opacity="{0.06 + 0.94 * value / most:.3f}"/>'
                )
    parts.append(_text(left, height - 18, "first", "start"))
    parts.append(_text(WIDTH - RIGHT, height - 18, f"last {x_name}", "end"))
    scale = '<span class="key"><i class="heat-low"></i>0</span><span class="key">'
    scale += f'<i class="heat-high"></i>{format_figure(most, "share")}</span>'
    return _figure(title, picture(parts, title, height), scale)


def shares_bar(parts: Sequence[tuple[str, int, str]]) -> str:
    """Counts as parts of one bar: (name, count, class)."""
    total = max(sum(count for _, count, _ in parts), 1)
    cells = "".join(
        f'<span class="{kind}" style="flex:{count}" title="{escape(name)}: {count:,}"></span>'
        for name, count, kind in parts
        if count
    )
    names = "".join(
        f'<span class="key"><i class="{kind}"></i>{escape(name)} {count:,} '
        f"({count / total:.0%})</span>"
        for name, count, kind in parts
    )
    return f'<div class="shares">{cells}</div><div class="legend">{names}</div>'


def picture(parts: Sequence[str], title: str, height: float = HEIGHT) -> str:
    """An SVG picture of ``parts``."""
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}">'
        + "".join(parts)
        + "</svg>"
    )


def _axes(x: Scale, y: Scale, chart: Chart) -> str:
    names = [
        _text(x.place(tick), HEIGHT - BOTTOM + 14, format_figure(tick), "middle")
        for tick in chart.x_ticks(5)
    ]
    return _rules(y, chart.unit) + "".join(names) + _text(WIDTH - RIGHT, HEIGHT - 4, chart.x, "end")


def _rules(y: Scale, unit: str) -> str:
    """Lines across the picture at round figures."""
    return "".join(
        f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y.place(tick):.1f}" '
        f'y2="{y.place(tick):.1f}"/>'
        + _text(LEFT - 6, y.place(tick) + 4, format_figure(tick, unit), "end")
        for tick in ticks(y.low, y.high, 4)
    )


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _band(curve: Curve, place: int, x: Scale, y: Scale) -> str:
    if curve.bands is None or len(curve.points) < 2:
        return ""
    both = list(zip(curve.points, curve.bands, strict=True))
    edge = [(at, low) for (at, _), (low, _) in both] + [(at, high) for (at, _), (_, high) in both][
        ::-1
    ]
    return f'<polygon class="band s{place % NUM_COLOURS}" points="{_points(edge, x, y)}"/>'


def _line(curve: Curve, place: int, x: Scale, y: Scale) -> str:
    kind = f"s{place % NUM_COLOURS}"
    if len(curve.points) > 1:
        return f'<polyline class="line {kind}" points="{_points(curve.points, x, y)}"/>'
    at, value = curve.points[0]
    dot = f'<circle class="dot {kind}" cx="{x.place(at):.1f}" cy="{y.place(value):.1f}" r="3.5"/>'
    if curve.bands is None:
        return dot
    (low, high), left = curve.bands[0], x.place(at)
    return dot + (
        f'<line class="line {kind}" x1="{left:.1f}" x2="{left:.1f}" y1="{y.place(low):.1f}" '
        f'y2="{y.place(high):.1f}"/>'
    )


def _points(points: Sequence[tuple[float, float]], x: Scale, y: Scale) -> str:
    return " ".join(f"{x.place(at):.1f},{y.place(value):.1f}" for at, value in points)


def _legend(chart: Chart) -> str:
    """Names and newest figures; where a curve ends early, since the rest is infinite, where."""
    last = max(curve.points[-1][0] for curve in chart.curves)
    keys = []
    for place, curve in enumerate(chart.curves):
        x, y = curve.points[-1]
        early = f" at {format_figure(x)}" if x < last and chart.x != MINUTES else ""
        keys.append(
            f'<span class="key"><i class="s{place % NUM_COLOURS}"></i>{escape(curve.name)} '
            f"<b>{format_figure(y, chart.unit)}</b>{early}</span>"
        )
    return "".join(keys)


def _figure(title: str, drawn: str, legend: str) -> str:
    keys = f'<div class="legend">{legend}</div>' if legend else ""
    return f"<figure><figcaption>{escape(title)}</figcaption>{drawn}{keys}</figure>"
