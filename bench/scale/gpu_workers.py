"""Eight workers beside fake GPUs: does the host's work fit into the cores of a machine of eight?

    python -m bench.scale.gpu_workers                       8 workers, 32 cores simulated by time
    python -m bench.scale.gpu_workers --workers 1 --cores 0     one worker, in real time

The parent and its workers are real: they play games, write shards and send statistics. The network
is not: a fake device (``bench.fake_device``) answers after four steps of the length that the model
of an H100 gives for ``base``, one step late. A machine with fewer cores than ``--cores`` has them
by time: steps take as many times longer as there are cores too few, so that workers and parent have
as much processor time a step as on the large machine.

What that shows: whether the work of all of them together fits: movers, loops, shards, statistics,
parent. What it does not: the way from an answer to the next request does not get longer with time,
so one worker in real time has to show it (the second line); and CUDA's calls, a second socket and
the disk of a large machine are missing. Prints one JSON object: of the last seconds the share of
the time in which devices were busy (their own clock), loops and movers, fill, and plies/s in the
simulated time.
"""

import argparse
import json
import tempfile
from pathlib import Path
from time import monotonic, process_time
from typing import Any

from bench.fake_device import FAKE

from vecchess.config import CONSTANT_NET, SelfplayConfig
from vecchess.machine_limits import num_cores
from vecchess.runtime.devices import CPU, GPU_MOVERS
from vecchess.runtime.json_pipe import Message
from vecchess.selfplay.supervisor.supervisor import SelfplayWatcher, Supervisor
from vecchess.selfplay.supervisor.worker_throughput import (
    Throughput,
    combined_throughput,
    throughput_between,
)
from vecchess.store.id_set import IdSet
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import pin_run

SCHEMA = 1
ENDLESS = 1 << 26
TIME_STEPS = 4
H100_BASE_US = {1: 200, 512: 500, 3277: 2200, 4096: 2700}
"""Time of a step by occupied slots: an estimate from the compiled kernels, not a measurement."""


class Stopwatch(SelfplayWatcher):
    """A watcher that reads the load when all workers have played for a while, and ends the run."""

    def __init__(self, num_workers: int, settle_s: float, seconds: float) -> None:
        """Measure for ``seconds``, after ``settle_s`` in which all have played."""
        self._num_workers, self._settle_s, self._seconds = num_workers, settle_s, seconds
        self._began = self._measured = self._parent_s = 0.0
        self._first: dict[int, Message] = {}
        self.load = Throughput()
        self.parent_share = 0.0
        """Processor time of the parent, as a share of a core."""

    def update(self, supervisor: Supervisor) -> None:
        """Called in every round of the parent."""
        now, workers = monotonic(), supervisor.workers
        stages = [worker.stage for worker in workers.values()]
        if not self._began and stages.count("playing") == self._num_workers:
            self._began = now
        if not self._began or now - self._began < self._settle_s:
            return
        newest = {index: worker.meter.last for index, worker in workers.items()}
        if not self._measured:
            self._measured, self._parent_s, self._first = now, process_time(), newest
        elif now - self._measured >= self._seconds and not self.parent_share:
            self.parent_share = (process_time() - self._parent_s) / (now - self._measured)
            pairs = [(self._first[index], newest[index]) for index in newest]
            self.load = combined_throughput(
                [
                    throughput_between(first, last, last["time_s"] - first["time_s"])
                    for first, last in pairs
                ]
            )
            supervisor.stop("time")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--cores", type=int, default=32, help="of the machine; 0: those there are")
    parser.add_argument("--slots", type=int, default=4096)
    parser.add_argument("--movers", type=int, default=GPU_MOVERS)
    parser.add_argument("--settle-s", type=float, default=60.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    slower = max(1.0, options.cores / num_cores())
    print(json.dumps({"schema": SCHEMA, **vars(options), **measured(options, slower)}))


def measured(options: argparse.Namespace, slower: float) -> dict[str, Any]:
    """Loads of a run whose time goes ``slower`` times more slowly."""
    points = [f"{slots}:{us * slower:g}us" for slots, us in H100_BASE_US.items()]
    backend = f"{FAKE}?steps={TIME_STEPS}&latency={','.join(points)}"
    config = SelfplayConfig(
        net=CONSTANT_NET, backend=backend, slots=options.slots, movers=options.movers,
        threads=1, games=ENDLESS,
    )  # fmt: skip
    watcher = Stopwatch(options.workers, options.settle_s, options.seconds)
    with tempfile.TemporaryDirectory(prefix="gpus-") as folder:
        run = RunFolder(Path(folder) / "run")
        run.create()
        pin_run(run, config)
        with Supervisor(config, run, [CPU] * options.workers, watcher) as supervisor:
            supervisor.play(CONSTANT_NET, IdSet([(0, ENDLESS)]))
    load = watcher.load
    return {
        "times_slower": slower,
        "device_busy": round(load.device_busy, 4),
        "host_busy": round(load.host_busy, 4),
        "mover_busy": round(load.mover_busy, 4),
        "batch_fill": round(load.batch_fill, 4),
        "full_batches": round(load.full_batches, 4),
        "verdict": load.verdict,
        "parent_core_share": round(watcher.parent_share, 4),
        "plies_per_s": round(load.plies_per_s * slower),
    }


if __name__ == "__main__":
    main()
