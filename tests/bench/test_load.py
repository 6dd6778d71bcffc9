"""65,536 games in one process: memory, the first figures, and an end within 25 s."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux only")
@pytest.mark.parametrize("slots", [128, 4096])
def test_65536_games_in_one_process(slots: int) -> None:
    """The bench itself judges how long stopping took."""
    flags = ["--seconds", "20", "--slots", str(slots)]
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench" / "load.py"), *flags],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    few, many = json.loads(done.stdout)["runs"]
    assert (few["games"], many["games"]) == (1024, 65536)
    assert min(few["plies_per_s"], many["plies_per_s"]) > 0
    assert many["peak_rss_mb"]["worker"] < 2000
