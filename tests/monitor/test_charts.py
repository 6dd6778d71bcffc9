"""Axes of charts."""

from vecchess.monitor.charts import MINUTES, Chart, Curve, Points


def chart(points: Points, key: str = "key", unit: str = "", x: str = "updates") -> Chart:
    return Chart(key, "title", x, unit, [Curve("curve", points)])


def test_rates_and_shares_begin_at_0_and_scores_go_to_1() -> None:
    ripple = [(0.0, 4457.0), (1.0, 5900.0)]
    assert chart(ripple, "speed").y_bounds() == (0.0, 6000.0)
    assert chart(ripple, "loss").y_bounds() == (4000.0, 6000.0)
    assert chart([(0.0, 0.4), (1.0, 0.5)], unit="share").y_bounds()[0] == 0.0
    assert chart([(0.0, 0.4), (1.0, 0.5)], "score", "share").y_bounds() == (0.0, 1.0)


def test_counts_have_whole_ticks_and_minutes_need_not() -> None:
    points = [(0.0, 1.0), (2.0, 2.0)]
    assert chart(points).x_ticks(4) == [0.0, 1.0, 2.0]
    assert chart(points, x=MINUTES).x_ticks(4) == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert chart([(3.0, 1.0)]).x_bounds() == (3.0, 4.0)
