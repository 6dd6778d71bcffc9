"""A chart in a frame, as large as its place on the screen."""

from rich.text import Text
from textual.widgets import Static

from vecchess.monitor.charts import Chart
from vecchess.watch.braille_plot import COLOURS, figure, plot

LEAST_HEIGHT = 6
"""Rows that a plot keeps; names go below it where there are more."""


class PlotBox(Static):
    """One chart: its title above, the newest figure of each curve below."""

    chart: Chart | None = None

    def show(self, chart: Chart | None) -> None:
        """Draw ``chart``; None for an empty place."""
        self.chart = chart
        self.visible = chart is not None
        if chart is not None:
            self.border_title = chart.title
            self.border_subtitle = legend(chart, self.size.width - 2)
        self.refresh()

    def render(self) -> Text:
        """The curves, and their names where the frame has no room for them."""
        if self.chart is None:
            return Text()
        width, height = self.size.width, self.size.height
        names = Text("\n").join(labels(self.chart))
        spare = height - len(self.chart.curves)
        if spare < LEAST_HEIGHT or _fits(self.chart, width - 2):
            return plot(self.chart, width, height)
        return plot(self.chart, width, spare).append("\n").append_text(names)


def legend(chart: Chart, width: int) -> Text:
    """The newest figures in the colours of their curves, with names where there is room."""
    return Text("  ").join(labels(chart, len(chart.curves) > 1 and _fits(chart, width)))


def labels(chart: Chart, with_names: bool = True) -> list[Text]:
    """The newest figure of each curve, in its colour."""
    return [
        Text(
            f"{curve.name} {figure(curve.points[-1][1], chart.unit)}"
            if with_names
            else figure(curve.points[-1][1], chart.unit),
            style=COLOURS[place % len(COLOURS)],
        )
        for place, curve in enumerate(chart.curves)
    ]


def _fits(chart: Chart, width: int) -> bool:
    return len(chart.curves) == 1 or len(Text("  ").join(labels(chart))) <= width
