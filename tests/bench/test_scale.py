"""The scale bench with few workers for a few seconds: the real parent, simulated workers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux only")


@pytest.mark.thorough
def test_one_parent_with_simulated_workers() -> None:
    """They are given games, their shards are recorded, and the dead are replaced."""
    rates = ["--games-per-s", "400", "--shard-games", "100", "--stats-s", "0.2", "--life-s", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "bench.scale.parent", "--workers", "4", "--seconds", "2", *rates],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["schema"] == 1
    (parent,) = report["parents"]
    assert parent["workers"] == 4
    assert parent["restarts"] > 0
    assert parent["shards"] > 4
    assert parent["games"] == parent["numbers"] > 400
    assert 0 < parent["core_share"] < 2
    assert parent["answer_ms"] > 0
    assert parent["restart_ms"] > 0


@pytest.mark.thorough
def test_the_store_with_thousands_of_workers() -> None:
    """Parts are measured, then put together: the busier the parent, the longer messages wait."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.scale.store", "--lines", "50", "400"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    limit = report["limit"]
    assert limit["bottleneck"] in limit["busy_with"]
    assert 0.9 < sum(limit["busy_with"].values()) <= 1.01
    waits = [run["wait_p99_ms"] for run in limit["waits"]]
    assert waits == sorted(waits)
    assert [run["workers"] for run in limit["waits"]][1] < limit["workers"]
    assert [run["lines"] for run in report["runs"]] == [50, 400]
