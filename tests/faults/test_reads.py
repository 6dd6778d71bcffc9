"""The disk refuses reads: what is asked for comes whole or not at all, and no game is lost."""

import pytest

from tests.faults import reads
from tests.faults.injector import Fault
from vecchess.errors import ConfigError

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize(
    "points", [20, pytest.param(500, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
def test_reads_that_fail_lose_and_double_nothing(points: int) -> None:
    report = reads.suffer(points, seed=points)
    assert report["wrong"] == []
    counts = [report[name] for name in ("games_lost", "games_doubled", "wrongly_set_aside")]
    assert counts == [0, 0, 0]
    ended = report["ended"]
    assert sum(ended.values()) == points
    assert any("one line" in name for name in ended)
    assert any("as if nothing had been" in name for name in ended)


def test_faults_of_reads_have_points_of_their_own() -> None:
    for text in ("estale at read shard 3 for 0.5", "enoent at read any 7"):
        assert str(Fault.parse(text)) == text
    for text in ("estale at shard 3", "full at read shard 3"):
        with pytest.raises(ConfigError, match="is no fault"):
            Fault.parse(text)
