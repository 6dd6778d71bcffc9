"""Many games in one process: memory, speed, the first figures, and how long stopping takes.

    python bench/load.py                                  1,024 and 65,536 games, network "constant"
    python bench/load.py --net tiny --seconds 120

Runs ``vecchess selfplay --gpus cpu`` once for each number of games in progress, one run after the
other, and lets it play until it has figures for ``--seconds``. Then it gets SIGTERM. All games end
at ``--max-plies``, so that short and long runs play the same part of games. Prints one JSON object;
ends with exit code 3 where a run took longer than 25 s to stop, or ended otherwise than resumable.
Linux.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SCHEMA = 1
NEGATIVE = 3
STOPPED = 75
"""Exit code of a run that was stopped and can go on."""
STOP_S = 25.0
PATIENCE_S = 300.0
"""Compiling and loading may take so long."""


def main() -> int:
    """Run, print; returns the exit code."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        runs = [_measured(games, Path(folder) / str(games), options) for games in options.games]
    for run in runs:
        run["ratio"] = round(run["plies_per_s"] / max(runs[0]["plies_per_s"], 1e-9), 3)
    print(json.dumps({"schema": SCHEMA, "net": options.net, "slots": options.slots, "runs": runs}))
    good = all(run["exit_code"] == STOPPED and run["stop_s"] < STOP_S for run in runs)
    return 0 if good else NEGATIVE


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--net", default="constant")
    parser.add_argument("--games", type=int, nargs="+", default=[1024, 65536])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--slots", type=int, default=0, help="0: as the run chooses")
    parser.add_argument("--max-plies", type=int, default=32)
    return parser.parse_args()


def _measured(games: int, run_dir: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One run with ``games`` games in progress."""
    start = time.monotonic()
    process = subprocess.Popen(
        _command(games, run_dir, options), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        first_s = _wait_for_figures(process, run_dir, start)
        samples, peak = _watch(process, run_dir, options.seconds)
    finally:
        asked = time.monotonic()
        process.send_signal(signal.SIGTERM)
        code = process.wait()
    half = samples[len(samples) // 2 :]
    return {
        "games": games,
        "first_figures_s": round(first_s, 2),
        "plies_per_s": round(sum(half) / max(len(half), 1), 1),
        "peak_rss_mb": {name: round(nbytes / 1e6, 1) for name, nbytes in peak.items()},
        "stop_s": round(time.monotonic() - asked, 2),
        "exit_code": code,
    }


def _command(games: int, run_dir: Path, options: argparse.Namespace) -> list[str]:
    settings = {
        "--net": options.net,
        "--concurrent-games": games,
        "--games": 1 << 24,
        "--slots": options.slots,
        "--max-plies": options.max_plies,
        "--run-dir": run_dir,
        "--gpus": "cpu",
    }
    flags = [str(part) for setting in settings.items() for part in setting]
    return [sys.executable, "-m", "vecchess_cli.main", "selfplay", "--quiet", *flags]


def _wait_for_figures(process: "subprocess.Popen[bytes]", run_dir: Path, start: float) -> float:
    """Seconds until the run first tells a speed."""
    while time.monotonic() - start < PATIENCE_S:
        if process.poll() is not None:
            raise SystemExit(f"the run ended with exit code {process.returncode}")
        if _speed(run_dir):
            return time.monotonic() - start
        time.sleep(0.1)
    raise SystemExit(f"no figures after {PATIENCE_S:g} s")


def _watch(
    process: "subprocess.Popen[bytes]", run_dir: Path, seconds: float
) -> tuple[list[float], dict[str, int]]:
    """Plies/s, a sample a second, and the most resident bytes of parent and worker."""
    samples, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(1.0)
        samples.append(_speed(run_dir))
    workers = _children(process.pid)
    peak = {"parent": _peak_rss(process.pid)}
    return samples, peak | {"worker": max((_peak_rss(pid) for pid in workers), default=0)}


def _speed(run_dir: Path) -> float:
    """Plies/s as the run's status says; 0 where it says nothing yet."""
    try:
        status = json.loads((run_dir / "status.json").read_text())
    except (OSError, ValueError):
        return 0.0
    return float(status["load"].get("plies_per_s", 0.0))


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def _peak_rss(pid: int) -> int:
    """The most memory the process ever held, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


if __name__ == "__main__":
    sys.exit(main())
