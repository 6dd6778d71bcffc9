"""Self-play for ten minutes, and whether its memory stays flat.

    python bench/stability.py                      600 s on the processor, network "tiny"
    python bench/stability.py --seconds 3600 --net small --gpus 0

Real workers, the real writer, shards into a temporary folder. Prints one JSON object: the resident
memory of the parent and of each worker every ten seconds, and the largest deviation after the first
minute, in parts of the memory then. Ends with exit code 3 where a process left the bound. Linux.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from time import monotonic

from rich.console import Console

from vecchess.config import SelfplayConfig, build
from vecchess.runtime.devices import parse_gpus
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.supervisor.supervisor import SelfplayWatcher, Supervisor
from vecchess.selfplay.worker.networks import configured_network, store_configured_net
from vecchess.selfplay.worker.precompile import Precompiler
from vecchess.store.id_set import IdSet
from vecchess.store.run_folder import RunFolder

SCHEMA = 1
ENDLESS = 1 << 22
NEGATIVE = 3


class Sampler(SelfplayWatcher):
    """A watcher that reads the memory of all processes now and then, and ends the run."""

    def __init__(self, seconds: float, interval_s: float) -> None:
        self.samples: dict[str, list[tuple[float, int]]] = {}
        self.notes: list[str] = []
        self._seconds, self._interval_s = seconds, interval_s
        self._start = self._next = 0.0

    def update(self, supervisor: Supervisor) -> None:
        """Called many times a second: look at the clock."""
        now = monotonic()
        if not self._start:
            if any(worker.stage != "playing" for worker in supervisor.workers.values()):
                return
            self._start = self._next = now
        if now - self._start >= self._seconds:
            supervisor.stop("time")  # what follows is workers writing their last games and ending
        elif now >= self._next:
            self._next += self._interval_s
            self._sample("parent", "self", now)
            for worker in supervisor.workers.values():
                self._sample(f"worker {worker.plan.index} pid {worker.pid}", str(worker.pid), now)

    def report_line(self, line: str) -> None:
        """Deaths, for instance: kept for the report."""
        self.notes.append(line)

    def _sample(self, name: str, pid: str, now: float) -> None:
        seconds = round(now - self._start, 2)
        self.samples.setdefault(name, []).append((seconds, resident_bytes(pid)))


def resident_bytes(pid: str) -> int:
    """Resident memory of a process, bytes; 0 for one that is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)


def deviation(samples: list[tuple[float, int]], settle_s: float) -> float | None:
    """Largest difference to the first sample after ``settle_s`` seconds, in parts of that one."""
    settled = [nbytes for seconds, nbytes in samples if seconds >= settle_s]
    if len(settled) < 2 or not settled[0]:
        return None
    return max(abs(nbytes - settled[0]) for nbytes in settled) / settled[0]


def main() -> int:
    """Play, measure, print; returns the exit code."""
    options = _options()
    config = build(
        SelfplayConfig,
        {
            "net": options.net,
            "gpus": options.gpus,
            "games": ENDLESS,
            "shard_interval_s": options.shard_interval_s,
        },
    )
    sampler = Sampler(options.seconds, options.interval_s)
    with tempfile.TemporaryDirectory(prefix="vecchess-stability-") as folder:
        run = RunFolder(Path(folder))
        run.create()
        with Precompiler(config, Console(stderr=True).print) as warmup:
            net = store_configured_net(configured_network(config), run)
            warmup.finish(net)
        devices = parse_gpus(config.gpus)
        with StopSignals() as stops, Supervisor(config, run, devices, sampler, stops) as supervisor:
            result = supervisor.play(net, IdSet([(0, config.games)]))
        shards = len(list(run.games.glob("*.npz")))
    found = {
        name: deviation(samples, options.settle_s) for name, samples in sampler.samples.items()
    }
    known = [value for value in found.values() if value is not None]
    report = {
        "schema": SCHEMA,
        "net": options.net,
        "gpus": options.gpus,
        "seconds": options.seconds,
        "settle_s": options.settle_s,
        "interval_s": options.interval_s,
        "games": result.stats.games,
        "plies": result.stats.plies,
        "shards": shards,
        "restarts": result.restarts,
        "notes": sampler.notes,
        "rss_bytes": sampler.samples,
        "deviation": found,
        "max_deviation": max(known, default=None),
        "bound": options.bound,
    }
    print(json.dumps(report))
    flat = bool(known) and max(known) <= options.bound and not result.restarts
    return 0 if flat else NEGATIVE


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to play")
    parser.add_argument("--settle-s", type=float, default=60.0, help="not counted at the start")
    parser.add_argument("--interval-s", type=float, default=10.0, help="between samples")
    parser.add_argument("--shard-interval-s", type=float, default=30.0, help="between shards")
    parser.add_argument("--bound", type=float, default=0.02, help="largest deviation allowed")
    parser.add_argument("--net", default="tiny", help="network file or preset")
    parser.add_argument("--gpus", default="cpu", help='as for "vecchess selfplay"')
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
