"""A day in minutes: a training, a dashboard with readers and a UCI engine, and whether they grow.

    python -m bench.endurance --minutes 10 > endurance.json

``endurance_driver`` trains with shrunken intervals, so that minutes go through as many of them as
hours do. Prints one JSON object: how many intervals of each kind there were and how many hours of a
real run they stand for, by how much each process grew, what the run's files hold, and what shared
memory and processes were left. Exit code 3 where anything grew beyond its bound. Linux.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any
from urllib.request import urlopen

from bench.dash_client import Tab
from bench.usage import Usage, descendants, held_by
from tests.dash.serving import dashboard

SCHEMA = 1
NEGATIVE = 3
SAMPLE_S, LEAVE_S = 1.0, 5.0
REAL_S = {"status": 1.0, "load": 5.0, "shard": 30.0, "generation": 300.0, "checkpoint": 300.0}
"""Seconds between two of them in a real run: the first three are the defaults, the others those of
4,096 games an iteration on one GPU."""
MOST_MB = 24.0
"""A process may grow by so much after the warm-up: allocators go on settling for a while."""
MB_PER_SHARD = 4096 / 2**20
"""And by so much for each shard it knows of, thrice what a line of the manifest takes in memory."""
MOST = {"descriptors": 2.0, "threads": 2.0}
TOPICS = ["runs", "run/run", "boards/run/16"]
ASKED = ("series/learn", "series/load", "config", "games/0")


@contextmanager
def running(*command: object) -> Iterator[subprocess.Popen[str]]:
    """A process in a session of its own, of which nothing is left afterwards."""
    process = subprocess.Popen(
        [sys.executable, *map(str, command)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@contextmanager
def going_on(tabs: list[Tab], others: list[Thread], ended: Event) -> Iterator[None]:
    """Threads that come to their end with the block, also where it raises."""
    for thread in (*tabs, *others):
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for tab in tabs:
            tab.end()
        for other in others:
            other.join()


def ask_questions(address: str, ended: Event, counts: dict[str, int]) -> None:
    """What pages ask for once, over and over."""
    while not ended.wait(0.5):
        for what in ASKED:
            try:
                with urlopen(f"{address}/api/runs/run/{what}", timeout=20) as answer:
                    answer.read()
                counts["answers"] += 1
            except OSError:
                counts["refused"] += 1


def play_games(engine: subprocess.Popen[str], ended: Event, counts: dict[str, int]) -> None:
    """Games of the engine against itself, eight simulations a move, forty moves each at most."""
    assert engine.stdin is not None
    assert engine.stdout is not None
    while not ended.is_set():
        moves: list[str] = []
        engine.stdin.write("ucinewgame\n")
        while len(moves) < 40 and not ended.is_set():
            engine.stdin.write(f"position startpos moves {' '.join(moves)}\ngo nodes 8\n")
            engine.stdin.flush()
            move = next(line for line in engine.stdout if line.startswith("bestmove")).split()[1]
            counts["moves"] += 1
            if len(move) < 4 or move == "0000":
                break
            moves.append(move)
        counts["games"] += 1


def endure(run: Path, seconds: float, settle: float) -> dict[str, Any]:
    """The report on so many seconds, counted from when everything goes on."""
    run.parent.mkdir(parents=True)
    driver = Path(__file__).with_name("endurance_driver.py")
    counts, ended = dict.fromkeys(("answers", "refused", "moves", "games"), 0), Event()
    with running(driver, run) as train, running("-m", "vecchess_cli.main", "uci") as engine:
        _wait_for(train, lambda: any(run.glob("checkpoints/0*")))
        with dashboard(run.parent) as (address, server):
            pids = {"train": train.pid, "dash": server.pid, "uci": engine.pid}
            tabs = [Tab(address, TOPICS, kind) for kind in ("quick", "cut", "cut")]
            others = [
                Thread(target=ask_questions, args=(address, ended, counts)),
                Thread(target=play_games, args=(engine, ended, counts)),
            ]
            usage = {name: Usage(pid) for name, pid in pids.items()}
            with going_on(tabs, others, ended):
                _watch(list(usage.values()), seconds, train)
            below = [pid for root in pids.values() for pid in descendants(root)]
        train.send_signal(signal.SIGTERM)
        said, _ = train.communicate(timeout=60)
        engine.communicate("quit\n", timeout=60)
        codes = {"train": train.returncode, "uci": engine.returncode}
    intervals = _intervals(run, json.loads(said)["status"])
    growth = {name: one.growth(settle * seconds) for name, one in usage.items()}
    left = _left(below)
    report = {
        "exit_codes": codes,
        "intervals": intervals,
        "hours": {kind: round(count * REAL_S[kind] / 3600, 2) for kind, count in intervals.items()},
        "readers": counts | {"event_bytes": sum(tab.num_bytes for tab in tabs)},
        "files_bytes": _sizes(run),
        "growth": growth,
        "processes_left": left,
    }
    return report | {"grew": _too_much(growth, intervals["shard"] * MB_PER_SHARD) + left}


def _left(pids: list[int]) -> list[int]:
    """Which of these processes are there a while after those that started them."""
    deadline = monotonic() + LEAVE_S
    while (left := [pid for pid in pids if held_by(pid)]) and monotonic() < deadline:
        sleep(0.1)
    return left


def _wait_for(process: subprocess.Popen[str], has_begun: Any) -> None:
    while not has_begun():
        if process.poll() is not None:
            raise SystemExit("the training ended")
        sleep(0.2)


def _watch(usage: list[Usage], seconds: float, train: subprocess.Popen[str]) -> None:
    end = monotonic() + seconds
    while monotonic() < end:
        if train.poll() is not None:
            raise SystemExit("the training ended")
        for one in usage:
            one.sample()
        sleep(SAMPLE_S)


def _intervals(run: Path, num_status: int) -> dict[str, int]:
    """How often each thing happened."""
    lines = (run / "metrics.jsonl").read_text().splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    return {
        "status": num_status,
        "load": kinds.count("load"),
        "shard": len((run / "games/manifest.jsonl").read_text().splitlines()) - 1,
        "generation": kinds.count("play"),
        "checkpoint": kinds.count("play"),
    }


def _sizes(run: Path) -> dict[str, int]:
    """Bytes of what the run keeps, by folder or file."""
    return {
        path.name: sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())
        for path in sorted(run.iterdir())
    }


def _too_much(growth: dict[str, dict[str, dict[str, float]]], shards_mb: float) -> list[Any]:
    """What grew beyond its bound."""
    found = []
    for root, processes in growth.items():
        bounds = MOST | {"rss_mb": MOST_MB + shards_mb, "children": 0.5, "shared": 0.5}
        for name, kinds in processes.items():
            found += [f"{root}, {name}: {k} by {v}" for k, v in kinds.items() if v > bounds[k]]
    return found


def main() -> int:
    """Run all three for some minutes, print what they came to."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--settle", type=float, default=0.4, help="share of it not counted")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vecchess-endurance-") as folder:
        report = endure(Path(folder) / "runs" / "run", 60 * given.minutes, given.settle)
    print(json.dumps({"schema": SCHEMA, "minutes": given.minutes, **report}))
    return NEGATIVE if report["grew"] else 0


if __name__ == "__main__":
    sys.exit(main())
