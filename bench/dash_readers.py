"""Many pages on one dashboard, some slow, some cut: the server's memory, and the run's speed.

    python bench/dash_readers.py --tabs 50 --seconds 60 [selfplay flags...]

A tenth of the tabs take 1 kB a second, a tenth go away after a second and come again. Memory that
goes on growing from the middle to the end would be a leak. One JSON object on stdout.
"""

import argparse
import json
import tempfile
from pathlib import Path
from time import sleep

from bench.dash_client import Tab, plies_per_s, selfplay
from tests.dash.serving import dashboard

from vecchess.runtime.cost_meter import core_seconds, resident_bytes

KINDS = ("quick",) * 8 + ("slow", "cut")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tabs", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    options, flags = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        with (
            selfplay(run, flags or ["--net", "tiny", "--gpus", "cpu"]),
            dashboard(run) as (url, server),
        ):
            print(json.dumps(measure(run, url, server.pid, options.tabs, options.seconds)))


def memory_mb(pid: int) -> float:
    """Resident memory of the server."""
    return (resident_bytes([pid]) or 0) / 2**20


def measure(run: Path, url: str, pid: int, num_tabs: int, seconds: float) -> dict[str, object]:
    """Before, with the tabs, and after."""
    sleep(6.0)
    alone = plies_per_s(run, seconds / 2)
    before = memory_mb(pid)
    topics = [f"run/{run.name}", f"boards/{run.name}/16", f"series/{run.name}", "runs"]
    tabs = [Tab(url, topics, KINDS[index % len(KINDS)]) for index in range(num_tabs)]
    for tab in tabs:
        tab.start()
    sleep(6.0)
    used = core_seconds([pid])
    first = plies_per_s(run, seconds / 2)
    middle = memory_mb(pid)
    second = plies_per_s(run, seconds / 2)
    end = memory_mb(pid)
    used = core_seconds([pid]) - used
    for tab in tabs:
        tab.end()
    sleep(3.0)
    return {
        "schema": 1,
        "tabs": num_tabs,
        "kinds": {kind: sum(tab.kind == kind for tab in tabs) for kind in sorted(set(KINDS))},
        "bytes_received": sum(tab.num_bytes for tab in tabs),
        "memory_mb": {
            name: round(value, 1)
            for name, value in {
                "before": before, "middle": middle, "end": end, "after": memory_mb(pid),
            }.items()
        },
        "server_cpu_share": round(used / seconds, 4),
        "plies_per_s": {"alone": round(alone), "with_tabs": round((first + second) / 2)},
    }  # fmt: skip


if __name__ == "__main__":
    main()
