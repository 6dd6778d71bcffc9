"""What a dashboard that somebody looks at costs a self-play.

    python bench/dash_cost.py --pairs 5 --seconds 20 [--browser] [selfplay flags...]

One self-play goes on; in turns nobody and somebody looks at its boards, and its speed is
taken meanwhile. Reports the median of the pairs' ratios. With --browser it is Chromium that looks.
One JSON object on stdout.
"""

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

from bench.dash_client import Tab, ask, plies_per_s, selfplay
from tests.dash.serving import CHROMIUM_FLAGS, dashboard, find_chromium

from vecchess.runtime.cost_meter import core_seconds

SETTLE_S = 6.0
"""The run tells its speed over the last 5 s."""


@contextmanager
def tab(url: str, run: str) -> Iterator[None]:
    """What a browser asks for on the page of the boards, and of the throughput."""
    ask(url, f"/api/runs/{run}/series/load?most=600")
    listener = Tab(url, [f"run/{run}", f"boards/{run}/16", f"series/{run}"])
    listener.start()
    try:
        yield
    finally:
        listener.end()


@contextmanager
def chromium(url: str, run: str) -> Iterator[None]:
    """Chromium with the page of the boards."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        page = browser.new_page()
        page.goto(f"{url}/#/run/{run}/boards")
        page.wait_for_selector(".tile piece")
        try:
            yield
        finally:
            browser.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--browser", action="store_true")
    options, flags = parser.parse_known_args()
    look = chromium if options.browser else tab
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        with selfplay(run, flags or ["--net", "tiny", "--gpus", "cpu"]):
            for turn in range(options.pairs):
                speeds = {}
                for watched in (turn % 2 == 0, turn % 2 == 1):
                    speeds[watched] = measure(run, look if watched else None, options.seconds)
                pairs.append({"alone": speeds[False][0], "watched": speeds[True][0],
                              "server_cpu_share": speeds[True][1]})  # fmt: skip
    ratios = [pair["watched"] / pair["alone"] for pair in pairs]
    result = {
        "schema": 1,
        "browser": options.browser,
        "median_ratio": round(statistics.median(ratios), 4),
        "median_server_cpu_share": round(
            statistics.median(pair["server_cpu_share"] for pair in pairs), 4
        ),
        "pairs": [{name: round(value, 4) for name, value in pair.items()} for pair in pairs],
    }
    print(json.dumps(result))


def measure(run: Path, look: object, seconds: float) -> tuple[float, float]:
    """Plies a second, and the share of one core that the server took; ``look`` None: no server."""
    if look is None:
        sleep(SETTLE_S)
        return plies_per_s(run, seconds), 0.0
    with dashboard(run) as (url, server), look(url, run.name):  # type: ignore[operator]
        sleep(SETTLE_S)
        before = core_seconds([server.pid])
        speed = plies_per_s(run, seconds)
        return speed, (core_seconds([server.pid]) - before) / seconds


if __name__ == "__main__":
    main()
