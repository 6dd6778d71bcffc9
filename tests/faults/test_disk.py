"""Disks that fail while games are recorded; ``python -m tests.faults.disk`` does it 200 times."""

import pytest

from tests.faults.disk import Scale, random_faults, suffer

pytestmark = pytest.mark.thorough


def test_disks_that_fail_at_some_points() -> None:
    faults = [
        "full at shard 3 for 0.3",
        "broken at manifest 3 for 9",
        "crowded at manifest 3 for 0.5",
    ]
    report = suffer(faults, at_a_time=2, scale=Scale(games=400, workers=1))
    assert report["wrong"] == []
    assert report["ended"] == {
        "full: waited, code 0": 1, "broken: code 1": 1, "crowded: waited, code 0": 1,
    }  # fmt: skip


@pytest.mark.slow
def test_a_manifest_on_a_full_disk() -> None:
    report = suffer(["full at manifest 3 for 0.5"])
    assert report["wrong"] == []
    assert report["ended"] == {"full: waited, code 0": 1}


@pytest.mark.slow
@pytest.mark.parametrize("num_faults", [12, pytest.param(200, marks=pytest.mark.timeout(1800))])
def test_disks_that_fail_at_many_points(num_faults: int) -> None:
    assert suffer(random_faults(num_faults, seed=1), at_a_time=2)["wrong"] == []
