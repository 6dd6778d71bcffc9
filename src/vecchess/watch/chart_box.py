"""A chart in a frame, as large as its place on the screen."""

from rich.text import Text
from textual_plotext import PlotextPlot
from textual_plotext.plot import Plot

from vecchess.monitor.axis import format_figure, ticks
from vecchess.monitor.charts import Chart
from vecchess.watch.palette import AXIS, CURVES

LEAST_HEIGHT = 6
"""Rows that a plot keeps; the names of curves stand below it where there are more."""
LEAST_SIZE = (12, 3)
"""Columns and rows below which nothing can be drawn."""
TICK_COLUMNS, TICK_ROWS = 12, 5
"""Room that a figure on an axis takes."""


class ChartBox(PlotextPlot):
    """One chart: its title above, name and newest figure of each curve below."""

    def __init__(self, classes: str = "") -> None:
        """An empty place."""
        super().__init__(classes=classes)
        self.theme = "clear"
        self.chart: Chart | None = None

    def show(self, chart: Chart | None) -> None:
        """Draw ``chart``; None for an empty place."""
        self.chart = chart
        self.visible = chart is not None
        if chart is not None:
            self.border_title = Text(f"{chart.title} by {chart.x}")
            legend = one_line_legend(chart)
            if legend.cell_len > self.size.width:
                legend = Text(" ").join(labels(chart))
            self.border_subtitle = Text() if self._has_names_below else legend
        self.refresh()

    def render(self) -> Text:
        """The curves, and their names where the frame has no room for them."""
        if self.chart is None:
            return Text()
        width, height = self.size
        if not self._has_names_below:
            return draw(self.plt, self.chart, width, height)
        text = draw(self.plt, self.chart, width, height - len(self.chart.curves))
        for name in labels(self.chart):
            name.truncate(width, overflow="ellipsis")
            text.append("\n").append_text(name)
        return text

    @property
    def _has_names_below(self) -> bool:
        """Whether the names of curves are too long for the frame, and there is room below."""
        if self.chart is None or one_line_legend(self.chart).cell_len <= self.size.width:
            return False
        return self.size.height - len(self.chart.curves) >= LEAST_HEIGHT


def draw(plot: Plot, chart: Chart, width: int, height: int) -> Text:
    """The curves of ``chart`` in so many columns and rows, with both axes; empty where these are
    too few."""
    if width < LEAST_SIZE[0] or height < LEAST_SIZE[1]:
        return Text()
    low, high = chart.y_bounds()
    first, last = chart.x_bounds()
    plot.clear_figure()
    plot.theme("clear")
    plot.plotsize(width, height)
    plot._set_size(width, height)  # as PlotextPlot does: plotsize keeps to the terminal's size
    plot.xaxes(False, False)
    plot.yaxes(True, False)
    plot.ticks_color(AXIS)
    plot.xlim(first, last)
    plot.ylim(low, high)
    y_ticks = ticks(low, high, 4) if height >= TICK_ROWS * 2 else [low, high]
    x_ticks = chart.x_ticks(max(width // TICK_COLUMNS, 1))
    plot.yticks(y_ticks, [_figure(tick, chart.unit) for tick in y_ticks])
    plot.xticks(x_ticks, [chart.x_figure(tick) for tick in x_ticks])
    for curve, color in zip(chart.curves, _colors(chart), strict=True):
        x, y = zip(*curve.points, strict=True)
        plot.plot(x, y, marker="braille", color=color)
    drawn = Text.from_ansi(plot.build().rstrip("\n"))
    drawn.no_wrap = True
    return drawn


def one_line_legend(chart: Chart) -> Text:
    """Names and newest figures of all curves in a line."""
    return Text("  ").join(labels(chart))


def labels(chart: Chart) -> list[Text]:
    """Name and newest figure of each curve, in its colour."""
    return [
        Text(
            f"{curve.name} {_figure(curve.points[-1][1], chart.unit)}",
            style="rgb({},{},{})".format(*color),
        )
        for curve, color in zip(chart.curves, _colors(chart), strict=True)
    ]


def _colors(chart: Chart) -> list[tuple[int, int, int]]:
    return [CURVES[place % len(CURVES)] for place in range(len(chart.curves))]


def _figure(value: float, unit: str = "") -> str:
    return format_figure(value, unit).replace("\u202f", "")
