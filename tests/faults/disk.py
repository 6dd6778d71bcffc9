"""Disks that fail at random points of what is written: ``python -m tests.faults.disk --times N``.

A run of self-play after the other; at a random one of its writes the disk becomes full, broken or
read-only for a moment, or too many files are open, or the disk, as one that fills up in the midst
of a write, takes files of a certain size only. The run has to come to its end by itself, saying
that it waited, or to end with one line and code 1; then nothing recorded is harmed, and a resumed
run comes to the same games as one that was left in peace. Prints one JSON object; exit code 3
where anything was wrong.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.faults import processes
from tests.faults.injector import POINTS, VARIABLE
from tests.faults.invariants import broken_in_progress, broken_invariants
from tests.faults.processes import Victims
from vecchess.config import GameConfig, SelfplayConfig
from vecchess.runtime.devices import CPU, Share
from vecchess.selfplay.games.finished_games import FinishedGames, finished_records
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.worker.setup import build_server
from vecchess.store.id_set import IdSet
from vecchess.store.run_folder import RunFolder

CONFIG = SelfplayConfig(seed=9, game=GameConfig(max_plies=50))
FLAGS = [
    "--net=constant", f"--seed={CONFIG.seed}", f"--max-plies={CONFIG.game.max_plies}",
    "--concurrent-games=64", "--slots=32", "--movers=1", "--shard-interval-s=0.03",
    "--shard-games=300", "--inflight-interval-s=0.05",
]  # fmt: skip
LONGEST_S = 120.0
WAITED = ("wait for room", "recorded when there is room")


@dataclass
class Tally:
    """What became of all runs."""

    ended: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    slowest_s: float = 0.0


def random_faults(times: int, seed: int) -> list[str]:
    """So many faults: of the injector, or "torn SECONDS BYTES FOR"."""
    chance = random.Random(seed)
    return [_random_fault(chance) for _ in range(times)]


def _random_fault(chance: random.Random) -> str:
    kind = chance.choice(("full", "crowded", "full", "torn", "torn", "broken", "readonly"))
    lasting = f"{chance.uniform(0.05, 1.5):.2f}"
    if kind == "torn":
        size = chance.choice((0, 300, 3000, 20_000))
        return f"torn {chance.uniform(0.3, 3.0):.2f} {size} {lasting}"
    point = chance.choice(sorted(POINTS))
    nth = chance.randint(1, 60 if point == "any" else 6)
    return f"{kind} at {point} {nth} for {lasting}"


@dataclass(frozen=True)
class Scale:
    """How many games a run plays, and how many workers play them."""

    games: int = 4000
    workers: int = 2

    @property
    def flags(self) -> list[str]:
        """Command line flags."""
        return [*FLAGS, f"--games={self.games}", f"--gpus=cpu:{self.workers}"]

    def digest(self) -> str:
        """Digest of the games of a run without faults."""
        numbers, finished = GameIdPool(), list[FinishedGames]()
        server = build_server(CONFIG, "constant", CPU, Share(32, 64, 1, 1), numbers)
        server.start()
        numbers.add(IdSet([(0, self.games)]))
        while not server.is_idle:
            server.step()
            finished += server.take_finished()
        server.close()
        return finished_records(finished).digest()


def suffer(faults: list[str], at_a_time: int = 1, scale: Scale | None = None) -> dict[str, Any]:
    """A run with each of ``faults``; returns the report."""
    tally, scale = Tally(), scale or Scale()
    with tempfile.TemporaryDirectory(prefix="vecchess-disk-") as folder:
        digest = scale.digest()
        with ThreadPoolExecutor(at_a_time) as pool:
            runs = [RunFolder(Path(folder) / f"run-{number}") for number in range(len(faults))]
            one = partial(_one, scale=scale, digest=digest, tally=tally)
            list(pool.map(one, runs, faults))
    return {
        "schema": 1,
        "command": "python -m tests.faults.disk",
        "times": len(faults),
        "ended": dict(sorted(tally.ended.items())),
        "slowest_s": round(tally.slowest_s, 1),
        "wrong": tally.wrong,
    }


def _one(run: RunFolder, fault: str, scale: Scale, digest: str, tally: Tally) -> None:
    kind = fault.split()[0]
    start = time.monotonic()
    if kind == "torn":
        process = _start(run, "", scale)
        _tear(process, *map(float, fault.split()[1:]))
    else:
        process = _start(run, fault, scale)
    code, said = _finished(process)
    tally.slowest_s = max(tally.slowest_s, time.monotonic() - start)
    waited = any(words in said for words in WAITED)
    tally.ended[f"{kind}: {'waited, ' if waited else ''}code {code}"] += 1
    tally.wrong += [f"{fault}: {line}" for line in _wrong(run, code, said, scale, digest)]


def _wrong(run: RunFolder, code: int | None, said: str, scale: Scale, digest: str) -> list[str]:
    if code == 2 and "Read-only" in said:  # a run cannot be begun there
        code = 1
    if code not in (0, 1):
        return [f"code {code}: {said}"]
    if "Traceback" in said or said.count("error:") != code:
        return [f"not one clear line: {said}"]
    if code == 0:
        return broken_invariants(run, scale.games, digest)
    found = broken_in_progress(run, scale.games) if run.has_begun else []
    code, said = _finished(_start(run, "", scale))
    if code != 0:
        return [*found, f"it does not go on: {said}"]
    return [*found, *broken_invariants(run, scale.games, digest)]


def _start(run: RunFolder, fault: str, scale: Scale) -> subprocess.Popen[str]:
    resume = ["--resume"] if run.has_begun else []
    program = [sys.executable, "-m", "tests.faults.tortured", "selfplay", *scale.flags, *resume]
    return subprocess.Popen(
        [*program, f"--run-dir={run.path}", "--quiet"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {VARIABLE: f"{fault};{run.path}" if fault else ""},
    )


def _tear(process: subprocess.Popen[str], seconds: float, size: float, lasting: float) -> None:
    """After so many seconds let files grow to ``size`` bytes only, for ``lasting`` seconds."""
    time.sleep(seconds)
    if process.poll() is not None:
        return
    with processes.limited_files(Victims.of(process), int(size)):
        time.sleep(lasting)


def _finished(process: subprocess.Popen[str]) -> tuple[int | None, str]:
    try:
        _, said = process.communicate(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return None, f"no end after {LONGEST_S:g} s: {process.communicate()[1]}"
    return process.returncode, said


def main() -> int:
    """Suffer, and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at-a-time", type=int, default=1)
    options = parser.parse_args()
    report = suffer(random_faults(options.times, options.seed), options.at_a_time)
    print(json.dumps(report | {"seed": options.seed}))
    return 3 if report["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
