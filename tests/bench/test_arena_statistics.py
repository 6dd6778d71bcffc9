"""The simulations behind the arena's statistics, with fewer repetitions."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "bench" / "arena_statistics.py"


def test_intervals_cover_and_tests_err_as_promised() -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--repetitions", "20"],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout
    report = json.loads(done.stdout)
    assert report["failures"] == []
    for world in ("quiet", "sharp", "alike"):
        assert all(0.75 < share <= 1 for share in report[world]["ratings"]["differences"])
        assert all(0.83 < share <= 1 for share in report[world]["score"].values())
        ends = report[world]["sprt"]["0,30,0.05,0.05"]
        assert max(ends["alpha"], ends["beta"]) < 0.15
        assert min(ends["mean_pairs"]) > 100
