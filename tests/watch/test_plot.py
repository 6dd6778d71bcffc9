"""Curves in braille."""

import asyncio

import pytest
from textual.app import App, ComposeResult

from vecchess.monitor.charts import Chart, Curve
from vecchess.watch.braille_plot import bounds, figure, plot
from vecchess.watch.plot_box import PlotBox


def chart(*curves: list[tuple[float, float]], unit: str = "") -> Chart:
    named = [Curve(f"c{place}", points) for place, points in enumerate(curves)]
    return Chart("key", "title", "updates", unit, named)


def test_a_line_that_rises_goes_from_corner_to_corner() -> None:
    text = plot(chart([(x, float(x)) for x in range(8)]), 11, 2).plain.split("\n")
    assert text == ["     7▏  ⣠⠞", "     0▏⣠⠞⠁ "]


def test_bounds_and_axis() -> None:
    assert bounds(chart([(0, 5.0), (1, 5.0)])) == (2.5, 7.5)
    assert bounds(chart([(0, 1.0), (1, 5.0)])) == (0.0, 5.0)
    assert bounds(chart([(0, 4.0), (1, 5.0)])) == (4.0, 5.0)
    assert bounds(chart([(0, -1.0), (1, 5.0)])) == (-1.0, 5.0)
    assert bounds(chart([(0, 0.4), (1, 0.5)], unit="share")) == (0.0, 0.5)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.97, "share", "97%"), (0.081, "share", "8.1%"), (0.0, "share", "0%"),
        (9418.3, "", "9418"), (12345.0, "", "12.3k"), (6.1e6, "", "6.10M"), (2.047, "", "2.05"),
        (-147.2, "", "-147"), (0.0021, "", "0.0021"), (2e-5, "", "2e-05"), (0.0, "", "0"),
    ],
)  # fmt: skip
def test_figures_are_short(value: float, unit: str, text: str) -> None:
    assert figure(value, unit) == text
    assert len(text) <= 6


@pytest.mark.parametrize(("width", "height"), [(0, 0), (8, 1), (20, 1), (9, 3), (200, 40)])
def test_any_place_is_filled_and_none_left(width: int, height: int) -> None:
    curves = [(float(x), x * x % 17 / 3) for x in range(300)], [(0.0, 3.0)]
    drawn = plot(chart(*curves), width, height).plain
    rows = drawn.split("\n")
    assert drawn == "" or {len(row) for row in rows} == {width}
    assert len(rows) <= max(height, 1)


@pytest.mark.parametrize("name", ["[/a", "[link='", "[b]", "a\nb"])
def test_names_of_curves_are_no_markup(name: str) -> None:
    drawn = Chart("score", "score", "", "", [Curve(name, [(0.0, 1.0)]), Curve("b", [(0.0, 2.0)])])

    class Screen(App[None]):
        def compose(self) -> ComposeResult:
            yield PlotBox()

    async def shown() -> str:
        app = Screen()
        async with app.run_test(size=(60, 20)):
            box = app.query_one(PlotBox)
            box.show(drawn)
            return str(box._border_subtitle)

    assert asyncio.run(shown()) == f"{name} 1  b 2".split("\n")[0]
