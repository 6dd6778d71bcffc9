"""Seeded rate coding: one pattern a position, the right rate, fresh at each step."""

import numpy as np
import pytest

from tests.snn.positions import random_positions
from vecchess.snn.modules.rate_coding import coded_steps, rate_coded


def _share(kept: np.ndarray, planes: np.ndarray) -> float:
    return np.bitwise_count(kept).sum() / np.bitwise_count(planes).sum()


@pytest.mark.parametrize("rate", [1, 8, 12, 15])
def test_rate_is_kept_and_nothing_is_added(rate: int) -> None:
    planes, _ = random_positions(200, 1)
    coded = coded_steps(planes, 4, rate)
    assert not (coded & ~planes).any()
    for step in coded:
        assert _share(step, planes) == pytest.approx(rate / 16, abs=0.01)
    both = coded[0] & coded[1]
    assert _share(both, planes) == pytest.approx((rate / 16) ** 2, abs=0.01)


def test_pattern_depends_on_position_and_step_alone() -> None:
    planes, _ = random_positions(20, 1)
    coded = coded_steps(planes, 3, 8)
    steps = np.array([2, 0, 1] * 6 + [1, 2])
    mixed = rate_coded(planes, steps, 8)
    assert (mixed == coded[steps, np.arange(20)]).all()
    assert (rate_coded(planes[::-1], steps[::-1], 8) == mixed[::-1]).all()
    other = planes.copy()
    other[:, 0] ^= np.uint64(1)  # one bit changes the whole pattern
    assert (rate_coded(other, steps, 8)[:, 1:] != mixed[:, 1:]).any(axis=1).all()
