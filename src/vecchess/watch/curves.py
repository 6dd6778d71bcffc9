"""A chart in the terminal: curves of dots, eight in a character, between axes with round figures.

9.4k┤        ⣀⠤⠒⠉
    │  ⢀⡠⠔⠊⠁
   0┤⡠⠊
     0         12 minutes of play
"""

import math
from itertools import groupby, pairwise

from rich.console import Console, ConsoleOptions, RenderResult
from rich.panel import Panel
from rich.text import Text

from vecchess.monitor.charts import Chart, Curve
from vecchess.selfplay.supervisor.status_view import QUIET

NICE = (1, 2, 2.5, 5, 10)
LEAST = 1e-290
"""Values that differ by less count as equal: far below, floats have no powers of ten."""
COLOURS = ("cyan", "yellow", "green", "magenta", "red", "blue")
LEAST_SIZE = (12, 3)
"""Columns and rows below which nothing can be drawn."""
BRAILLE = 0x2800
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of a character of Braille: four rows of two dots."""


class ChartBox:
    """A chart in a frame as large as its place; names and newest figures of its curves stand in the
    frame, or above the curves where they are too long for it."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, height = options.max_width - 4, (options.height or 12) - 2
        names = legend(self.chart, "  ")
        if names.cell_len > width - 2:
            names = legend(self.chart, " ")
        above = list(names.wrap(console, max(width, 1)))
        if names.cell_len <= width - 2 or height - len(above) < LEAST_SIZE[1]:
            subtitle, above = names, []
        else:
            subtitle = Text()
        body = Text("\n").join([*above, *draw(self.chart, width, height - len(above))])
        title = Text(self.chart.title)
        yield Panel(body, title=title, subtitle=subtitle, border_style=QUIET, height=options.height)


def legend(chart: Chart, between: str) -> Text:
    """Name and newest figure of each curve, in its colour."""
    names = [
        Text(f"{curve.name} {format_figure(curve.points[-1][1], chart.share)}", f"not dim {colour}")
        for curve, colour in _coloured(chart)
    ]
    return Text(between).join(names)


def draw(chart: Chart, width: int, height: int) -> list[Text]:
    """The rows of ``chart`` in so many columns and rows; none where these are too few."""
    if width < LEAST_SIZE[0] or height < LEAST_SIZE[1]:
        return []
    low, high = y_bounds(chart)
    top, bottom = format_figure(high, chart.share), format_figure(low, chart.share)
    room = max(len(top), len(bottom))
    columns, rows = width - room - 1, height - 1
    cells = [[(BRAILLE, "")] * columns for _ in range(rows)]
    first, last = x_bounds(chart)
    for curve, colour in _coloured(chart):
        for x, y in _dots(curve, (first, last), (low, high), 2 * columns, 4 * rows):
            bits = cells[y // 4][x // 2][0] | DOTS[y % 4][x % 2]
            cells[y // 4][x // 2] = bits, colour
    names = [top, *[""] * (rows - 2), bottom] if rows > 1 else [top]
    drawn = [
        Text.assemble((f"{name:>{room}}{'┤' if name else '│'}", QUIET)).append_text(_row(row))
        for name, row in zip(names, cells, strict=True)
    ]
    return [*drawn, _x_axis(chart, room + 1, columns)]


def _row(cells: list[tuple[int, str]]) -> Text:
    """A row of characters; neighbours of one colour are written at once."""
    return Text.assemble(
        *(
            ("".join(chr(bits) if bits != BRAILLE else " " for bits, _ in part), style)
            for style, part in groupby(cells, key=lambda cell: cell[1])
        )
    )


def _x_axis(chart: Chart, indent: int, columns: int) -> Text:
    """The first and the last place, and what the axis counts if there is room."""
    left, right = (
        format_figure(10**place if chart.is_logarithmic else place) for place in x_bounds(chart)
    )
    named = f"{right} {chart.x}"
    right = named if len(left) + len(named) < columns else right
    gap = max(columns - len(left) - len(right), 1)
    return Text(f"{'':{indent}}{left}{'':{gap}}{right}"[: indent + columns], QUIET)


def _coloured(chart: Chart) -> list[tuple[Curve, str]]:
    return [(curve, COLOURS[at % len(COLOURS)]) for at, curve in enumerate(chart.curves)]


def _dots(
    curve: Curve, x: tuple[float, float], y: tuple[float, float], columns: int, rows: int
) -> set[tuple[int, int]]:
    """The dots (column, row from above) of a curve: its points with lines between."""

    def place(value: float, ends: tuple[float, float], count: int) -> int:
        return round((value - ends[0]) / (ends[1] - ends[0]) * (count - 1))

    ends = [(place(at, x, columns), rows - 1 - place(v, y, rows)) for at, v in curve.points]
    found = {ends[0]}
    for (x0, y0), (x1, y1) in pairwise(ends):
        steps = max(abs(x1 - x0), abs(y1 - y0), 1)
        found |= {
            (x0 + round(step * (x1 - x0) / steps), y0 + round(step * (y1 - y0) / steps))
            for step in range(steps + 1)
        }
    return found


def x_bounds(chart: Chart) -> tuple[float, float]:
    """First and last place on the horizontal axis; they differ."""
    places = [x for curve in chart.curves for x, _ in curve.points]
    first, last = min(places), max(places)
    return first, last if last > first else first + 1


def y_bounds(chart: Chart) -> tuple[float, float]:
    """Round bounds of the vertical axis. Rates begin at 0, or a ripple would look like a fall;
    scores go from 0 to 1."""
    values = [y for curve in chart.curves for _, y in curve.points]
    return bounds([*values, 0.0, 1.0] if chart.key == "score" else values, chart.from_zero)


def bounds(values: list[float], from_zero: bool) -> tuple[float, float]:
    """Round bounds that hold ``values``, with about four steps between; 0 is one of them where
    ``from_zero``, and where the smallest value is less than half the largest."""
    low, high = min(values), max(values)
    if low > 0 and (from_zero or low < high / 2):
        low = 0.0
    if high - low < LEAST:
        low, high = (0.0, 2 * high) if high > LEAST else (low - 1, high + 1)
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in NICE if nice * power >= rough * (1 - 1e-9))
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def format_figure(value: float, share: bool = False) -> str:
    """A figure for an axis or a legend: 97%, 9.4k, 0.081. ``share``: of 1."""
    if share:
        return f"{100 * value:.{0 if abs(value) >= 0.1 or value == 0 else 1}f}%"
    if value == 0:
        return "0"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * size or (abs(value) >= size and letter != "k"):
            return f"{value / size:.3g}{letter}"
    if abs(value) >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-4 else f"{value:.1e}"
