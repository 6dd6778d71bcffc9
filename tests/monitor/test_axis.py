"""Round figures on axes."""

import pytest

from vecchess.monitor.axis import bounds, format_figure, ticks


def test_axes_have_round_figures() -> None:
    assert bounds([0.3, 0.87], True) == (0.0, 1.0)
    assert bounds([2.36, 3.1], False) == pytest.approx((2.2, 3.2))
    assert bounds([5.0], False) == (0.0, 10.0)
    assert bounds([0.0, 5e-324], False) == (-1.0, 1.0)
    low, high = bounds([-147.0, 192.0], False)
    assert low <= -147
    assert high >= 192
    assert ticks(0.0, 1.0, 4) == [0, 0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.66, "share", "66\u202f%"), (0.078, "share", "7.8\u202f%"), (0, "share", "0\u202f%"),
        (408_112, "", "408k"), (6.1e6, "", "6.1M"), (3180.2, "", "3180"), (2.047, "", "2.05"),
        (5e-4, "", "0.0005"), (2e-5, "", "2.0e-05"), (-49.0, "", "-49"), (0.0, "", "0"),
    ],
)  # fmt: skip
def test_figures_are_short(value: float, unit: str, text: str) -> None:
    assert format_figure(value, unit) == text
