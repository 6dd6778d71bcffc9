"""Charts in the terminal."""

import asyncio
import time

import pytest
from textual.app import App, ComposeResult
from textual_plotext.plot import Plot

from vecchess.monitor.charts import Chart, Curve, Points
from vecchess.watch.chart_box import ChartBox, draw


def chart(*curves: Points, unit: str = "") -> Chart:
    named = [Curve(f"c{place}", points) for place, points in enumerate(curves)]
    return Chart("key", "title", "updates", unit, named)


def test_a_line_that_rises_goes_from_corner_to_corner_between_axes_with_figures() -> None:
    rows = draw(Plot(), chart([(x, float(x)) for x in range(9)]), 26, 5).plain.split("\n")
    assert rows[0].startswith("8\u2524"), rows
    assert rows[0].rstrip()[-1] > "\u2800", "the upper right corner"
    assert rows[3].startswith("0\u2524"), rows
    assert rows[3][2] > "\u2800", "the lower left corner"
    assert rows[4].split() == ["0", "5"]


@pytest.mark.parametrize(("width", "height"), [(0, 0), (8, 1), (20, 1), (12, 3), (200, 40)])
def test_any_place_is_filled_and_none_left(width: int, height: int) -> None:
    curves = [(float(x), x * x % 17 / 3) for x in range(300)], [(0.0, 3.0)]
    drawn = draw(Plot(), chart(*curves), width, height).plain
    rows = drawn.split("\n")
    assert drawn == "" or {len(row) for row in rows} == {width}
    assert len(rows) <= max(height, 1)


def test_a_screen_of_charts_is_drawn_within_its_second() -> None:
    curves = [[(float(x), x % 17 / (3 + k)) for x in range(400)] for k in range(3)]
    began = time.process_time()
    for _ in range(6):
        draw(Plot(), chart(*curves), 60, 16)
    assert time.process_time() - began < 1.0


def shown(given: Chart, columns: int = 60, rows: int = 20) -> tuple[str, str]:
    """What stands below the frame, and in it."""

    class Screen(App[None]):
        def compose(self) -> ComposeResult:
            yield ChartBox(classes="box")

    async def draw_it() -> tuple[str, str]:
        app = Screen()
        async with app.run_test(size=(columns, rows)):
            box = app.query_one(ChartBox)
            box.show(given)
            return str(box._border_subtitle), box.render().plain

    return asyncio.run(draw_it())


@pytest.mark.parametrize("name", ["[/a", "[link='", "[b]", "a\nb"])
def test_names_of_curves_are_no_markup(name: str) -> None:
    curves = [Curve(name, [(0.0, 1.0)]), Curve("b", [(0.0, 2.0)])]
    below, _ = shown(Chart("score", "score", "", "", curves))
    assert below == f"{name} 1  b 2".split("\n")[0]


def test_every_figure_has_a_name_also_where_the_frame_is_narrow() -> None:
    names = ["a name of some length", "another of these"]
    given = Chart("score", "score", "iterations", "share", [Curve(n, [(0.0, 0.5)]) for n in names])
    below, inside = shown(given, columns=30)
    assert below == ""
    assert inside.split("\n")[-2:] == [f"{name} 50%" for name in names]
