"""A whole training step on one core: samples/s and shares of the time, paired with another commit.

    python -m bench.training_step                              tiny, small and base of this tree
    python -m bench.training_step --before ../other --nets small --rounds 12
    python -m bench.training_step --shares                     where a step spends its time
    python -m bench.training_step --nets small --before . --settings '{"precision": "bf16"}'

Each tree has a process of its own with one thread; they take turns, one step each, and what counts
is processor time, so that other users of the machine change the ratio little. A step is the
learner's with its defaults (objective alphazero) but for ``--settings``, of this tree alone, and
``--both``; an eighth of the bits of its input planes are
set, and legal moves drawn, at random. Prints one JSON object a network.
"""

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from bench.paired_trees import ROOT, TreeWorker, ratio_facts

HERE = Path(__file__).resolve()
WARM_UP = 3
"""Steps before the timing, which compile kernels and allocate memory."""
NUM_PLANES = 36
"""Input planes, the same in every tree."""
MEAN_MOVES, SPREAD = 30, 10
"""Legal moves of the positions: evenly between the mean less and plus the spread."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", type=Path, help="another checkout, to be paired with")
    parser.add_argument("--nets", default="tiny,small,base")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--folded", action="store_true", help="the second phase")
    parser.add_argument("--both", type=json.loads, default={}, help="settings of both trees, JSON")
    parser.add_argument("--settings", type=json.loads, default={}, help="of this one, JSON")
    parser.add_argument("--shares", action="store_true", help="shares of the processor time")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        serve(options.worker, options.batch, options.folded, options.settings)
        return
    for net in options.nets.split(","):
        facts = {"schema": 1, "net": net, "batch_size": options.batch, "folded": options.folded}
        facts |= {"both": options.both, "settings": options.settings}
        print(json.dumps(facts | measure(net, options)), flush=True)


def measure(net: str, options: argparse.Namespace) -> dict[str, Any]:
    """Samples per processor second of this tree, and of the other in turns with it."""
    here = _worker(ROOT, net, options, options.both | options.settings)
    workers = [here]
    if options.before:
        workers.insert(0, _worker(options.before, net, options, options.both))
    spent: list[list[float]] = [[] for _ in workers]
    for _ in range(options.rounds):
        for worker, row in zip(workers, spent, strict=True):
            row.append(worker.ask("step"))
    facts: dict[str, Any] = {"samples_per_cpu_s": round(options.batch / median(spent[-1]), 1)}
    if options.before:
        facts["before_samples_per_cpu_s"] = round(options.batch / median(spent[0]), 1)
        facts |= ratio_facts(*spent)
    if options.shares:
        facts["shares"] = here.ask("shares")
    for worker in workers:
        worker.close()
    return facts


def _worker(
    tree: Path, net: str, options: argparse.Namespace, settings: dict[str, Any]
) -> TreeWorker:
    """A process that makes training steps when it is asked."""
    arguments = ["--worker", net, "--batch", str(options.batch)]
    arguments += ["--settings", json.dumps(settings), *["--folded"] * options.folded]
    return TreeWorker(HERE, tree, arguments)


def serve(net: str, batch: int, folded: bool, settings: dict[str, Any]) -> None:
    """Answer the lines of stdin: the processor time of a step, or shares of several."""
    import torch

    torch.set_num_threads(1)
    step = _make_step(net, batch, folded, settings)
    for _ in range(WARM_UP):
        step()
    for line in sys.stdin:
        print(json.dumps(_time(step) if line.strip() == "step" else _shares(step)), flush=True)


def _time(step: Any) -> float:
    start = process_time()
    step()
    return process_time() - start


def _shares(step: Any) -> dict[str, float]:
    """Share of each operator or autograd function, its own time without those it calls."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(5):
            step()
    times: dict[str, float] = defaultdict(float)
    for event in profiler.key_averages():
        times[event.key] += event.self_cpu_time_total
    total = sum(times.values())
    ranked = sorted(times.items(), key=lambda item: -item[1])
    return {name: round(spent / total, 4) for name, spent in ranked if spent > total / 200}


def _make_step(net: str, batch: int, folded: bool, settings: dict[str, Any]) -> Any:
    """A function that makes one step of a learner of network ``net``."""
    import torch
    from bench.peers.training import settled

    from vecchess.config import TrainConfig, build
    from vecchess.snn.create import sizes_of
    from vecchess.snn.modules.network import SpikingNet, unpack_bitboards
    from vecchess.train.distributed.ranks import Ranks
    from vecchess.train.step.learner import Learner

    sizes = sizes_of(net).model_copy(update={"num_planes": NUM_PLANES})
    samples = positions(batch, sizes.num_planes)
    torch.manual_seed(0)
    module = SpikingNet(sizes)
    if folded:
        settled(module, unpack_bitboards(torch.from_numpy(samples.planes.numpy().view("u8"))))
    known = {"objective": "alphazero", "batch_size": batch} | settings
    learner = Learner(build(TrainConfig, known), module, Ranks.alone(torch.device("cpu")))
    return lambda: learner.step(samples, 0.5, [0.0])


def positions(num: int, num_planes: int) -> Any:
    """B = ``num`` rows with random planes, moves and targets."""
    import numpy as np
    import torch

    from vecchess.shapes import MAX_MOVES, NUM_ACTIONS
    from vecchess.train.data.samples import Samples

    words = np.random.default_rng(0).integers(0, 1 << 64, (3, num, num_planes), np.uint64)
    planes = np.bitwise_and.reduce(words).view("i8")
    rng = np.random.default_rng(0)
    counts = rng.integers(MEAN_MOVES - SPREAD, MEAN_MOVES + SPREAD, num)
    legal = np.stack([rng.permutation(NUM_ACTIONS)[:MAX_MOVES] for _ in range(num)])
    policy = rng.random((num, MAX_MOVES)) * (np.arange(MAX_MOVES) < counts[:, None])
    value = rng.dirichlet(np.ones(3), num).astype(np.float32)
    yes, none = np.ones(num, np.bool_), np.zeros(num, np.float32)
    columns = Samples(
        planes=planes,
        legal=legal.astype(np.uint16),
        num_legal=counts.astype(np.int32),
        played=np.zeros(num, np.int64),
        policy=(policy / policy.sum(1, keepdims=True)).astype(np.float32),
        has_policy=yes,
        outcome=rng.integers(-1, 2, num).astype(np.int8),
        value=value,
        has_value=yes,
        prob=none + 0.5,
        steps=np.full(num, 4, np.int64),
        advantage=none,
        returned=value,
    )
    return columns.map(torch.from_numpy)


if __name__ == "__main__":
    main()
