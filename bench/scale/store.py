"""What thousands of workers ask of the store, and which part of it is the first at its end.

    python -m bench.scale.store                 manifests of 1,000, 10,000, 100,000 lines

Measures the parts on this machine, each by itself: what a parent does with a message of
statistics, with a shard, and with a line of the manifest; what readers do to follow; what it takes
to go on with a run (``--resume``, which opens no shard). That is processor time, but for "wall" and
for the line, which waits for the disk: the median of its times by the clock. Then a simulation puts
them together: N workers that tell statistics each second and write shards, one parent, one thread,
first come, first served. It says at which N the parent is busy all the time, what with, and how
long messages wait below that.
One JSON object.
"""

import argparse
import hashlib
import heapq
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from bench.scale.worker import entry_of, npz_of, statistics_of

from vecchess.monitor.run_games import ManifestTail
from vecchess.selfplay.supervisor.game_ledger import GameLedger
from vecchess.selfplay.supervisor.worker_throughput import ThroughputMeter
from vecchess.store.id_set import IdSet
from vecchess.store.manifest import Manifest, ShardEntry

SCHEMA = 1
SHARD_GAMES = 1024
STATS = 2000
SHARDS = 200
SIMULATED_S = 60.0
SHARES = (0.25, 0.5, 0.9, 1.1)
"""Of the most workers there can be: what is simulated."""


def main() -> int:
    """Measure, simulate, print; returns the exit code."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="store-", dir=options.folder) as name:
        folder = Path(name)
        parts = {"statistics_s": _statistics(), **_shards(folder)}
        runs = [_grown(folder / str(lines), lines) for lines in options.lines]
    print(
        json.dumps(
            {
                "schema": SCHEMA,
                "games_per_s": options.games_per_s,
                "parts": {key: round(value, 7) for key, value in parts.items()},
                "runs": runs,
                "limit": _limit(parts, options.games_per_s),
            }
        )
    )
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lines", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--games-per-s", type=float, default=200.0, help="of one worker")
    parser.add_argument("--folder", help="where the disk is to be measured")
    return parser.parse_args()


def _statistics() -> float:
    """Seconds of the parent for one message: to read it, note it, and tell its load once."""
    data = [json.dumps(statistics_of(games) | {"games": games}) for games in range(STATS)]
    meter = ThroughputMeter()

    def read() -> None:
        for second, text in enumerate(data):
            meter.read(json.loads(text) | {"time_s": float(second)})
            meter.recent().to_dict()

    return _seconds(read) / STATS


def _shards(folder: Path) -> dict[str, float]:
    """Seconds of the parent for one shard, and the line's way to the disk."""
    games = folder / "games"
    games.mkdir()
    ledger = GameLedger(Manifest(games))
    ledger.open(IdSet([(0, SHARDS * SHARD_GAMES)]))
    ledger.assign(0, SHARDS * SHARD_GAMES)
    entries = [_written(games, number) for number in range(SHARDS)]
    record = partial(ledger.record, 0)
    shard_s = _seconds(lambda: [*map(record, entries)]) / SHARDS
    manifest = Manifest(folder)
    lines_s = [_seconds(partial(manifest.append, entry), time.perf_counter) for entry in entries]
    return {"shard_s": shard_s, "line_s": median(lines_s)}


def _grown(folder: Path, lines: int) -> dict[str, Any]:
    """What a run with so many shards asks of those who open it, go on with it, or follow it."""
    folder.mkdir()
    Manifest(folder).replace(_made_up(folder, number) for number in range(lines))
    target = IdSet([(0, (lines + 1) * SHARD_GAMES)])
    start = time.perf_counter()
    resume_s = _seconds(lambda: GameLedger(Manifest(folder)).open(target))
    resume_wall_s = time.perf_counter() - start
    tail, follower = ManifestTail(folder), Manifest(folder)
    first_s = _seconds(tail.refresh)
    manifest = Manifest(folder)
    manifest.append(_made_up(folder, lines))
    return {
        "lines": lines,
        "manifest_mb": round(manifest.path.stat().st_size / 1e6, 2),
        "resume_s": round(resume_s, 3),
        "resume_wall_s": round(resume_wall_s, 3),
        "follow_first_s": round(first_s, 4),
        "follow_one_more_s": round(_seconds(tail.refresh), 6),
        "trainer_one_more_s": round(_seconds(follower.refresh), 6),
    }


def _made_up(folder: Path, number: int) -> ShardEntry:
    """The line of a shard that is an empty file: nothing opens it."""
    name = f"0000-000-c3a281-{number:06d}.npz"
    (folder / name).touch()
    numbers = range(number * SHARD_GAMES, (number + 1) * SHARD_GAMES)
    return ShardEntry.from_dict(entry_of(name, f"{number:064x}", list(numbers)))


def _written(folder: Path, number: int) -> ShardEntry:
    """A shard of the numbers it holds, in ``folder``."""
    numbers = list(range(number * SHARD_GAMES, (number + 1) * SHARD_GAMES))
    data = npz_of("numbers", numbers)
    name = f"{number:06d}.npz"
    (folder / name).write_bytes(data)
    return ShardEntry.from_dict(entry_of(name, hashlib.sha256(data).hexdigest(), numbers))


def _limit(parts: dict[str, float], games_per_s: float) -> dict[str, Any]:
    """The most workers that one parent can serve, what it is then busy with, and waiting times."""
    shards_per_s = games_per_s / SHARD_GAMES
    shares = {
        "statistics": parts["statistics_s"],
        "the ledger: a shard's games marked": shards_per_s * parts["shard_s"],
        "the manifest: a line written and synced": shards_per_s * parts["line_s"],
    }
    most = int(1 / sum(shares.values()))
    return {
        "workers": most,
        "shards_per_s": round(most * shards_per_s, 1),
        "busy_with": {name: round(most * seconds, 3) for name, seconds in shares.items()},
        "bottleneck": max(shares, key=lambda name: shares[name]),
        "waits": [_waits(max(1, int(most * share)), parts, shards_per_s) for share in SHARES],
    }


def _waits(workers: int, parts: dict[str, float], shards_per_s: float) -> dict[str, Any]:
    """A parent of so many, step by step: one thread, first come, first served."""
    rng = random.Random(workers)
    kinds = (
        (1.0, parts["statistics_s"]),
        (1 / shards_per_s, parts["shard_s"] + parts["line_s"]),
    )
    coming = [(rng.random() * every, every, took) for _ in range(workers) for every, took in kinds]
    heapq.heapify(coming)
    free_at = worked = 0.0
    waits = []
    while coming[0][0] < SIMULATED_S:
        came, every, took = coming[0]
        heapq.heapreplace(coming, (came + every * rng.uniform(0.9, 1.1), every, took))
        waits.append(max(0.0, free_at - came))
        free_at = max(free_at, came) + took
        worked += took
    return {
        "workers": workers,
        "busy": round(worked / SIMULATED_S, 3),
        "wait_p99_ms": round(float(np.percentile(waits, 99)) * 1e3, 2),
    }


def _seconds(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    start = clock()
    work()
    return clock() - start


if __name__ == "__main__":
    sys.exit(main())
