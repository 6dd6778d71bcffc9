"""The engine of a page beside the same kernels on this machine: speed, the first move, the folder.

    PYTHONPATH=. python bench/browser_speed.py [--rounds 5]

In each round node and this machine answer the same 64 positions, one thread each, this machine
compiled without AVX (``GENERIC``) and for itself; the ratios are medians over the rounds. The first
move is timed in Chromium, a new profile each time, from the request of the page to the network's
answer to a move with 64 simulations that is made as soon as the board can be used. Needs `make
wasm`, `make pages` and Chromium. Prints one JSON object.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from playwright.sync_api import sync_playwright
from tests.browser.engine import NodeEngine
from tests.browser.test_page import play, served
from tests.dash.serving import CHROMIUM_FLAGS, find_chromium

from vecchess.browser.engine_image import GENERIC, EngineMemory
from vecchess.browser.export_web import export_web
from vecchess.config import DEFAULT_NET, SelfplayConfig, build
from vecchess.snn.integer.net_file import load_net

ROWS, CALLS = 64, 60
TURNS = 12
FIRST_MOVES = 5


def main() -> None:
    """Measure and print; with --native only this machine's answers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--native", action="store_true", help="positions/s of this process alone")
    options = parser.parse_args()
    if options.native:
        print(native_speed())
        return
    with tempfile.TemporaryDirectory() as folder:
        node = NodeEngine(Path(folder), ROWS)
        rounds = [_round(node) for _ in range(options.rounds)]
        page = Path(folder) / "page"
        facts = export_web(DEFAULT_NET, DEFAULT_NET, page, build(SelfplayConfig, {}))
        first_moves = [first_move_s(page) for _ in range(FIRST_MOVES)]
    found = {
        "positions_per_s": {name: round(median(r[name] for r in rounds)) for name in rounds[0]},
        "node_of_generic": round(median(r["node"] / r["generic"] for r in rounds), 3),
        "node_of_native": round(median(r["node"] / r["native"] for r in rounds), 3),
        "first_move_s": sorted(round(seconds, 2) for seconds in first_moves),
        "folder_bytes": facts["bytes"],
    }
    print(json.dumps(found, indent=2))


def _round(node: NodeEngine) -> dict[str, float]:
    seen = node.ask("policy", "speed", rounds=CALLS)
    command = [sys.executable, __file__, "--native"]
    speeds: dict[str, float] = {"node": seen["positions_per_s"]}
    for name, settings in (("generic", GENERIC), ("native", {})):
        done = subprocess.run(
            command, env=os.environ | settings, check=True, capture_output=True, text=True
        )
        speeds[name] = float(done.stdout)
    return speeds


def native_speed() -> float:
    """Positions a second of the same rows, some plies into their games."""
    calls = EngineMemory(load_net(DEFAULT_NET), build(SelfplayConfig, {}), ROWS).calls
    play_call, answer = calls["games.play"], calls["games.answer"]
    named = dict(zip(play_call.names, play_call.arguments, strict=True))
    requests: Any = named["requests"]
    named["supply"][:] = [*range(ROWS), -1]

    def answered() -> None:
        for array in (requests.policy, requests.wdl, requests.steps):
            array[:] = 0
        answer.kernel(*answer.arguments)

    for _ in range(TURNS):
        named["cursor"][:] = 0
        play_call.kernel(*play_call.arguments)
        answered()
    spent = []
    for _ in range(CALLS):
        start = perf_counter()
        answered()
        spent.append(perf_counter() - start)
    return ROWS / median(spent)


def first_move_s(page_folder: Path) -> float:
    """Seconds from the page's request to the answer to the first move."""
    with sync_playwright() as driver, served(page_folder) as address:
        browser = driver.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        page = browser.new_page()
        start = perf_counter()
        page.goto(address)
        page.wait_for_selector("cg-board piece")
        play(page, "e4")
        moves = page.get_by_label("Moves", exact=True).get_by_role("button")
        moves.nth(2).wait_for()  # the person's move, the answer, and the button to type a move
        seconds = perf_counter() - start
        browser.close()
    return seconds


if __name__ == "__main__":
    main()
