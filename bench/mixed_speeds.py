"""Two devices of different speed: how much of the sum of both a training uses.

    PYTHONPATH=. python bench/mixed_speeds.py
    PYTHONPATH=. python bench/mixed_speeds.py --halves learning --part-s 0.2

Every device has a made-up speed, by sleeping, so that busy cores change little. "learning": two
ranks, connected by gloo, share batches; a part of a batch takes --part-s on rank 0 and three times
as long on rank 1. "playing": two workers on fake devices play the seats of a generation; the
steps of worker 1 take three times as long (``fake_device``). Each is measured at the shares that
the run comes to by itself, and with even shares, as it was up to decision 229. Prints one JSON
object: rates, the sum of what both do alone, and the share of it that both do together.
"""

import argparse
import json
import tempfile
from contextlib import nullcontext
from pathlib import Path
from time import monotonic, perf_counter, sleep
from types import SimpleNamespace
from typing import Any

import torch
from bench.fake_device import FAKE, SLOWER
from bench.training_step import positions

from vecchess.config import SelfplayConfig, TrainConfig
from vecchess.runtime.devices import CPU
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.supervisor.supervisor import LineWatcher, Supervisor
from vecchess.snn.modules.network import SpikingNet
from vecchess.snn.presets import NetConfig
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import pin_run
from vecchess.store.seating import Seating
from vecchess.train.data.batch_spec import BatchSpec, IterationPlan
from vecchess.train.distributed.environment import Cluster
from vecchess.train.distributed.launch import run_ranks
from vecchess.train.step.learner import Learner
from vecchess.train.trainer import Trainer

SCHEMA = 1
BATCH, PART = 64, 4
UPDATES_BEFORE, UPDATES = 18, 8
"""Updates until shares are decided, and updates that are timed."""
SEATS, TURNS, SLOTS, LATENCY_MS = 64, 150, 16, 40
GENERATIONS = 3
"""Generations that are played; the last one is timed."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--halves", nargs="+", default=["learning", "playing"])
    parser.add_argument("--part-s", type=float, default=0.12, help="seconds of a part on rank 0")
    options = parser.parse_args()
    measure = {"learning": lambda: learning(options.part_s), "playing": playing}
    found = {half: measure[half]() for half in options.halves}
    print(json.dumps({"schema": SCHEMA, "slower": SLOWER, **found}))


def learning(part_s: float) -> dict[str, Any]:
    """Samples a second of two ranks together, in shares of the batch by speed and even ones."""
    rates, rows = {}, {}
    for kind in ("even", "by_speed"):
        with tempfile.TemporaryDirectory(prefix="speeds-") as folder:
            out = Path(folder) / "facts.json"
            run_ranks(learn, (out, part_s, kind == "by_speed"), [CPU, CPU], Cluster(), 120.0)
            facts = json.loads(out.read_text())
        rates[kind], rows[kind] = facts["samples_per_s"], facts["rows"]
    alone = [PART / part_s, PART / part_s / SLOWER]
    shares = {f"share_{kind}": round(rate / sum(alone), 4) for kind, rate in rates.items()}
    return {"samples_per_s_alone": alone, "samples_per_s": rates, "rows": rows, **shares}


def learn(ranks: Any, out: Path, part_s: float, by_speed: bool) -> dict[str, Any]:
    """One rank: a training's updates of a small network, of which each part takes its time."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = SpikingNet(NetConfig(num_planes=25, blocks=1, channels=32, time_steps=4))
    config = TrainConfig(batch_size=BATCH, micro_batch=PART)
    learner, batch = Learner(config, net, ranks), positions(BATCH, 25)
    if not by_speed:
        learner.shares.note = lambda times: None  # type: ignore[method-assign]
    compute, wanted_s = learner._backward, part_s * (SLOWER if ranks.rank else 1.0)

    def paced(*given: Any) -> Any:
        found = compute(*given)
        ready[0] += wanted_s  # a part that took longer, on a busy core, is made up for by the next
        sleep(max(0.0, ready[0] - perf_counter()))
        return found

    learner._backward = paced  # type: ignore[method-assign]
    ready, began = [0.0], list[float]()

    def batches(specs: Any) -> Any:
        for spec in specs:
            ready[0] = perf_counter()
            began.append(monotonic())
            yield batch.map(lambda column: column[spec.first_row :][: spec.rows])  # noqa: B023

    shown = SimpleNamespace(update=lambda *_: None)
    reporter = SimpleNamespace(note=print, display_learning=lambda *_: nullcontext(shown))
    plan = IterationPlan(UPDATES_BEFORE + UPDATES, lambda step: BatchSpec(1, 0, step, BATCH), 1)
    rest: Any = (StopSignals(), learner, SimpleNamespace(batches=batches), reporter, None)
    Trainer(config, RunFolder(out.parent), ranks, *rest)._learn(plan)
    rate = BATCH * UPDATES / (monotonic() - began[UPDATES_BEFORE])
    rows = [len(learner.shares.rows(rank)) for rank in range(ranks.world_size)]
    if ranks.is_main:
        out.write_text(json.dumps({"samples_per_s": round(rate, 1), "rows": rows}))
    return {}


def playing() -> dict[str, Any]:
    """Turns a second of two workers together, in shares of the seats by speed and even ones."""
    alone = _turns_per_s(1, True)["turns_per_s"]
    found = {kind: _turns_per_s(2, kind == "by_speed") for kind in ("even", "by_speed")}
    total = alone + alone / SLOWER
    shares = {
        f"share_{kind}": round(each["turns_per_s"] / total, 4) for kind, each in found.items()
    }
    return {"turns_per_s_alone": [alone, round(alone / SLOWER, 1)], **found, **shares}


def _turns_per_s(num_workers: int, by_speed: bool) -> dict[str, Any]:
    """The last generation of workers of which the second one is slow."""
    seating = Seating(SEATS, TURNS)
    backend = f"{FAKE}?latency={LATENCY_MS}ms&slow_worker=1&late=0"
    config = SelfplayConfig(net="constant", backend=backend, slots=SLOTS)
    with tempfile.TemporaryDirectory(prefix="speeds-") as folder:
        run = RunFolder(Path(folder) / "run")
        run.create()
        pin_run(run, config)
        net, devices = config.net, [CPU] * num_workers
        with Supervisor(config, run, devices, LineWatcher(), seating=seating) as supervisor:
            for number in range(GENERATIONS):
                segments = seating.segments(number, number + 1)
                if not by_speed:
                    supervisor.assigner._seconds.clear()
                result = supervisor.play(net, segments)
        seats = [0] * num_workers
        for entry in run.manifest().entries_of(segments):
            seats[int(entry.file.split("-")[1])] += len(entry.segments)
    return {"turns_per_s": round(seating.positions / result.seconds, 1), "seats": seats}


if __name__ == "__main__":
    main()
