"""The stability bench in a few seconds: what it prints, and how it judges."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "bench" / "stability.py"

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux only")


@pytest.mark.slow
def test_a_few_seconds() -> None:
    sizes = ["--seconds", "3", "--settle-s", "1", "--interval-s", "0.5", "--bound", "9"]
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *sizes, "--shard-interval-s", "1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["schema"] == 1
    assert (report["restarts"], report["notes"]) == (0, [])
    names = list(report["rss_bytes"])
    assert names[0] == "parent"
    assert names[1].startswith("worker 0")
    for samples in report["rss_bytes"].values():
        assert len(samples) >= 5
        assert all(nbytes > 1 << 20 for _, nbytes in samples)
    assert 0 <= report["max_deviation"] < 9


def test_deviation_counts_from_the_first_settled_sample() -> None:
    spec = importlib.util.spec_from_file_location("stability", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    stability = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stability)
    samples = [(0.0, 10), (60.0, 100), (70.0, 97), (80.0, 101)]
    assert stability.deviation(samples, 60.0) == pytest.approx(0.03)
    assert stability.deviation(samples[:2], 60.0) is None
    assert stability.resident_bytes("no such process") == 0
