"""Charts in the terminal: axes with round figures, curves in dots, names."""

import io
import time

import pytest
from rich.console import Console

from vecchess.monitor.charts import Chart, Curve, Points
from vecchess.watch.curves import ChartBox, bounds, draw, format_figure, x_bounds, y_bounds


def chart(*curves: Points, key: str = "key", **how: bool) -> Chart:
    named = [Curve(f"c{place}", points) for place, points in enumerate(curves)]
    return Chart(key, "title", "updates", named, **how)


def test_a_line_that_rises_goes_from_corner_to_corner_between_axes_with_figures() -> None:
    rows = [row.plain for row in draw(chart([(x, float(x)) for x in range(9)]), 26, 5)]
    assert rows[0].startswith("8┤"), rows
    assert rows[0][-1] > "⠀", "the upper right corner"
    assert rows[3].startswith("0┤"), rows
    assert rows[3][2] > "⠀", "the lower left corner"
    assert rows[4].split() == ["0", "8", "updates"]


@pytest.mark.parametrize(("width", "height"), [(0, 0), (8, 1), (20, 1), (12, 3), (200, 40)])
def test_any_place_is_filled_and_none_left(width: int, height: int) -> None:
    curves = [(float(x), x * x % 17 / 3) for x in range(300)], [(0.0, 3.0)]
    rows = draw(chart(*curves), width, height)
    assert {row.cell_len for row in rows} <= {width}
    assert len(rows) in (0, height)


def test_a_screen_of_charts_is_drawn_within_its_second() -> None:
    curves = [[(float(x), x % 17 / (3 + k)) for x in range(400)] for k in range(3)]
    began = time.process_time()
    for _ in range(6):
        draw(chart(*curves), 60, 16)
    assert time.process_time() - began < 1.0


def shown(given: Chart, columns: int = 60, rows: int = 20) -> list[str]:
    """The rows of a frame."""
    console = Console(file=io.StringIO(), width=columns, force_terminal=True, color_system=None)
    options = console.options.update(width=columns, height=rows)
    lines = console.render_lines(ChartBox(given), options)
    return ["".join(segment.text for segment in line) for line in lines]


@pytest.mark.parametrize("name", ["[/a", "[link='", "[b]", "a\nb"])
def test_names_of_curves_are_no_markup(name: str) -> None:
    curves = [Curve(name, [(0.0, 1.0)]), Curve("b", [(0.0, 2.0)])]
    text = "\n".join(shown(Chart("score", "score", "", curves)))
    assert all(part in text for part in name.split("\n"))
    assert "b 2" in text


def test_every_figure_has_a_name_also_where_the_frame_is_narrow() -> None:
    names = ["a name of some length", "another of these"]
    given = Chart("score", "score", "iterations", [Curve(n, [(0.0, 0.5)]) for n in names], True)
    rows = shown(given, columns=30)
    assert len(rows) == 20
    assert all(any(f"{name} 50%" in row for row in rows[1:-1]) for name in names)


def test_rates_and_shares_begin_at_0_and_scores_go_to_1() -> None:
    ripple = [(0.0, 4457.0), (1.0, 5900.0)]
    assert y_bounds(chart(ripple, from_zero=True)) == (0.0, 6000.0)
    assert y_bounds(chart(ripple)) == (4000.0, 6000.0)
    assert y_bounds(chart([(0.0, 0.4), (1.0, 0.5)], key="score")) == (0.0, 1.0)
    assert x_bounds(chart([(3.0, 1.0)])) == (3.0, 4.0)


def test_costs_are_drawn_by_their_logarithm() -> None:
    rows = draw(Chart("cost", "Elo", "GPU-hours", [Curve("rated", [(-1.0, 5.0), (2.0, 9.0)])],
                      is_logarithmic=True), 40, 6)  # fmt: skip
    assert rows[-1].plain.split() == ["0.1", "100", "GPU-hours"]


def test_axes_have_round_figures() -> None:
    assert bounds([0.3, 0.87], True) == (0.0, 1.0)
    assert bounds([2.36, 3.1], False) == pytest.approx((2.2, 3.2))
    assert bounds([5.0], False) == (0.0, 10.0)
    assert bounds([0.0, 5e-324], False) == (-1.0, 1.0)
    low, high = bounds([-147.0, 192.0], False)
    assert low <= -147
    assert high >= 192


@pytest.mark.parametrize(
    ("value", "share", "text"),
    [
        (0.66, True, "66%"), (0.078, True, "7.8%"), (0, True, "0%"),
        (408_112, False, "408k"), (6.1e6, False, "6.1M"), (3180.2, False, "3180"),
        (2.047, False, "2.05"), (5e-4, False, "0.0005"), (2e-5, False, "2.0e-05"),
        (-49.0, False, "-49"), (0.0, False, "0"),
    ],
)  # fmt: skip
def test_figures_are_short(value: float, share: bool, text: str) -> None:
    assert format_figure(value, share) == text
