"""What one parent spends on its workers: share of a core, answers, shards and restarts.

    python -m bench.scale.parent                            1, 8 and 64 workers, 20 s each
    python -m bench.scale.parent --workers 64 --seconds 60 --life-s 30

The parent is the real one: supervisor, foreman, crew, ledger, manifest, status and metrics. Its
workers are processes that play by the clock: statistics every second, games that end and shards of
them at the rate of a GPU, deaths (``--life-s``: mean seconds from its first shard until a worker is
killed). Prints one JSON object; with ``--profile`` what the parent did most on stderr. Linux.
"""

import argparse
import cProfile
import json
import pstats
import sys
import tempfile
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
from bench.scale.crew import Rates, SimulatedHandle, words_in
from rich.console import Console

from vecchess.config import CONSTANT_NET, SelfplayConfig
from vecchess.runtime.devices import Device
from vecchess.runtime.progress import ProgressDisplay
from vecchess.selfplay.supervisor.status_watcher import StatusWatcher, write_throughput
from vecchess.selfplay.supervisor.supervisor import SelfplayWatcher, Supervisor
from vecchess.store.id_set import IdSet
from vecchess.store.metrics import MetricsLog
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import read_numbers
from vecchess.store.status_file import StatusWriter

SCHEMA = 1
ENDLESS = 1 << 26
SLOTS = 256
"""So few that games are handed out every few seconds, as when a run has lasted."""


class Clockwork(SelfplayWatcher):
    """Looks on: once everybody plays it takes the time, and ends the run after so many seconds."""

    def __init__(self, num_workers: int, seconds: float, profile: cProfile.Profile | None) -> None:
        self.inner: StatusWatcher | None = None
        """Gets all that this one gets."""
        self._profile = profile
        self.rounds = 0
        self.shards = self.games = 0
        self.wall_s = self.cpu_s = 0.0
        self._num_workers, self._seconds = num_workers, seconds
        self._start: tuple[float, float, int] | None = None

    def report_line(self, line: str) -> None:
        """Pass a line on."""
        assert self.inner is not None
        self.inner.report_line(line)

    def update(self, supervisor: Supervisor) -> None:
        """Called in every round of the parent."""
        assert self.inner is not None
        self.inner.update(supervisor)
        if self._start is None:
            stages = [worker.stage for worker in supervisor.workers.values()]
            if stages.count("playing") == self._num_workers:
                self._start = (
                    time.monotonic(),
                    time.process_time(),
                    supervisor.ledger.num_recorded,
                )
                if self._profile:
                    self._profile.enable()
            return
        self.rounds += 1
        self.wall_s = time.monotonic() - self._start[0]
        self.cpu_s = time.process_time() - self._start[1]
        self.games = supervisor.ledger.num_recorded - self._start[2]
        if self.wall_s >= self._seconds:
            supervisor.stop("time")
            if self._profile:
                self._profile.disable()


def main() -> int:
    """Measure, print; returns the exit code."""
    options = _options()
    rates = Rates(options.stats_s, options.games_per_s, options.shard_games, options.life_s)
    parents = [_measured(count, rates, options) for count in options.workers]
    print(json.dumps({"schema": SCHEMA, "rates": vars(rates), "parents": parents}))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--stats-s", type=float, default=Rates.stats_s)
    parser.add_argument("--games-per-s", type=float, default=Rates.games_per_s)
    parser.add_argument("--shard-games", type=int, default=Rates.shard_games)
    parser.add_argument("--life-s", type=float, default=Rates.life_s)
    parser.add_argument("--profile", action="store_true")
    return parser.parse_args()


def _measured(count: int, rates: Rates, options: argparse.Namespace) -> dict[str, Any]:
    """One parent with ``count`` workers."""
    profile = cProfile.Profile(time.thread_time) if options.profile else None
    with tempfile.TemporaryDirectory(prefix="scale-") as name:
        folder = Path(name)
        run, words = RunFolder(folder / "run"), folder / "words"
        run.create()
        words.mkdir()
        watcher = Clockwork(count, options.seconds, profile)
        restarts = _play(run, words, count, rates, watcher)
        if profile:
            pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(30)
        manifest = run.manifest()
        numbers = np.concatenate([read_numbers(shard.path) for shard in manifest.shards])
        return {
            "workers": count,
            "seconds": round(watcher.wall_s, 2),
            "core_share": round(watcher.cpu_s / watcher.wall_s, 4),
            "rounds_per_s": round(watcher.rounds / watcher.wall_s, 1),
            "games_per_s": round(watcher.games / watcher.wall_s, 1),
            "shards": len(manifest.entries),
            "games": manifest.stats.games,
            "numbers": len(np.unique(numbers)),
            **_seen_by_workers(words_in(words)),
            "restarts": restarts,
        }


def _play(run: RunFolder, words: Path, count: int, rates: Rates, watcher: Clockwork) -> int:
    """Let the real parent run the simulated workers; returns how many were replaced."""
    config = SelfplayConfig(net=CONSTANT_NET, games=ENDLESS, slots=SLOTS)
    devices = [Device(f"cuda:{index}", f"gpu {index}", str(index)) for index in range(count)]
    handle = type("Handle", (SimulatedHandle,), {"rates": rates, "words": words})
    with (
        patch("vecchess.selfplay.supervisor.worker_pool.WorkerProcess", handle),
        StatusWriter(run, "selfplay") as status,
        closing(MetricsLog(run.path, report_line=status.add_note)) as log,
        Supervisor(config, run, devices, watcher) as supervisor,
    ):
        display = ProgressDisplay(Console(stderr=True), quiet=True)
        watcher.inner = StatusWatcher(display, status, partial(write_throughput, log))
        return supervisor.play(CONSTANT_NET, IdSet([(0, ENDLESS)])).restarts


def _seen_by_workers(words: list[dict[str, Any]]) -> dict[str, Any]:
    """How soon they were answered and replaced."""
    answers = np.array([seconds for word in words for seconds in word["answers_s"]])
    deaths = [(word["index"], word["died"]) for word in words if "died" in word]
    restarts = [
        min(later, default=None)
        for index, died in deaths
        if (later := _first_games_after(words, index, died))
    ]
    return {
        "answer_ms": _milliseconds(np.percentile(answers, 50) if len(answers) else None),
        "answer_p99_ms": _milliseconds(np.percentile(answers, 99) if len(answers) else None),
        "restart_ms": _milliseconds(median(restarts) if restarts else None),
    }


def _first_games_after(words: list[dict[str, Any]], index: int, died: float) -> list[float]:
    """Seconds from a worker's death to the first games of those that followed it."""
    return [
        word["given"] - died
        for word in words
        if word["index"] == index and word["born"] > died and "given" in word
    ]


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(float(seconds) * 1e3, 2)


if __name__ == "__main__":
    sys.exit(main())
