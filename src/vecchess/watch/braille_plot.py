"""Curves in braille: each cell of a terminal has two dots by four."""

from collections.abc import Sequence

from rich.text import Text

from vecchess.monitor.charts import Chart, Points

DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
BRAILLE = 0x2800
COLOURS = ("#6cb6ff", "#f0b35e", "#8ddb8c", "#dcbdfb", "#f69d9d", "#96d0ff")
AXIS = "#8b98a5"
AXIS_WIDTH = 6


def plot(chart: Chart, width: int, height: int) -> Text:
    """The curves of ``chart`` in so many cells, the bounds of the figures to their left."""
    columns = width - AXIS_WIDTH - 1
    if columns < 2 or height < 1:
        return Text()
    low, high = bounds(chart)
    cells = _cells([curve.points for curve in chart.curves], columns, height, low, high)
    text = Text(no_wrap=True)
    for row in range(height):
        label = figure(high, chart.unit) if row == 0 else ""
        if row == height - 1 and height > 1:
            label = figure(low, chart.unit)
        text.append(f"{label:>{AXIS_WIDTH}}▏", style=AXIS)
        for column in range(columns):
            dots, owner = cells.get((row, column), (0, 0))
            text.append(chr(BRAILLE + dots) if dots else " ", style=COLOURS[owner % len(COLOURS)])
        if row < height - 1:
            text.append("\n")
    return text


def bounds(chart: Chart) -> tuple[float, float]:
    """What the vertical axis shows: all figures, and 0 where that is not far."""
    values = [y for curve in chart.curves for _, y in curve.points]
    low, high = min(values), max(values)
    if 0 < low < high / 2 or (chart.unit == "share" and low >= 0 and chart.key != "score"):
        low = 0.0
    if low == high:
        low, high = low - (abs(low) / 2 or 1), high + (abs(high) / 2 or 1)
    return low, high


def figure(value: float, unit: str) -> str:
    """A figure in six characters: 97%, 9.42k, 0.081."""
    if unit == "share":
        return f"{value:.1%}" if 0 < abs(value) < 0.1 else f"{value:.0%}"
    if abs(value) >= 9999.5:
        return f"{value / 1e6:.2f}M" if abs(value) >= 999_500 else f"{value / 1e3:.1f}k"
    if value == int(value) or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.0e}"


def _cells(
    curves: Sequence[Points], columns: int, height: int, low: float, high: float
) -> dict[tuple[int, int], tuple[int, int]]:
    """(row, column) -> (dots, curve) of all cells that are not empty."""
    places = [x for points in curves for x, _ in points]
    first, span = min(places), (max(places) - min(places)) or 1.0
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for owner, points in enumerate(curves):
        scaled = [((x - first) / span, (y - low) / (high - low)) for x, y in points]
        before = None
        for x, y in enumerate(_levels(scaled, 2 * columns, 4 * height)):
            if y is None:
                continue
            run = range(y, y + 1) if before is None else range(min(before, y), max(before, y) + 1)
            for level in run:
                dot = 4 * height - 1 - level
                place = dot // 4, x // 2
                found[place] = found.get(place, (0, owner))[0] | DOTS[x % 2][dot % 4], owner
            before = y
    return found


def _levels(points: Points, width: int, height: int) -> list[int | None]:
    """The dot of each column of dots: the mean of the points there, a straight line between."""
    sums = [0.0] * width
    counts = [0] * width
    for x, y in points:
        column = min(int(x * width), width - 1)
        sums[column] += y
        counts[column] += 1
    known = [(c, sums[c] / counts[c]) for c in range(width) if counts[c]]
    levels: list[int | None] = [None] * width
    for index, (column, y) in enumerate(known):
        after, later = known[index + 1] if index + 1 < len(known) else (column + 1, y)
        for step in range(column, after):
            value = y + (later - y) * (step - column) / (after - column)
            levels[step] = min(max(round(value * (height - 1)), 0), height - 1)
    return levels
