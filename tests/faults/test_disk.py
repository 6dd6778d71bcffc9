"""Disks that fail while games are recorded; ``python -m tests.faults.disk`` does it 200 times."""

import pytest

from tests.faults.disk import suffer


def test_disks_that_fail_at_some_points() -> None:
    assert suffer(times=3, seed=2, at_a_time=2)["wrong"] == []


@pytest.mark.slow
def test_disks_that_fail_at_many_points() -> None:
    assert suffer(times=200, seed=1, at_a_time=2)["wrong"] == []
