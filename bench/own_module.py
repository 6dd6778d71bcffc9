"""A network of snntorch in slots against its own loop over time steps, in one process.

    python -m bench.own_module [--net module:examples.snntorch_rate_coded.served:make] [--slots 128]

The loop is that of the example, ``TutorialNetwork``, without gradients, with one position at a time
and with as many as there are slots. Slots take all time steps, and leave by the module's exit rule.
Everything runs on ``--threads`` threads; with one, processor time counts, so that other users of
the machine change little. Prints JSON: positions a second, medians over the rounds, and medians of
the ratios within a round.
"""

import argparse
import json
from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time

import numpy as np
import torch
from examples.snntorch_rate_coded.tutorial_network import TutorialNetwork

from vecchess.inference.backend_registry import open_backend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.exit_rule import ExitRule
from vecchess.inference.module_backend import unpacked
from vecchess.inference.requests import Requests
from vecchess.networks.module_net import ModuleNet, create_module_net
from vecchess.selfplay.worker.random_requests import random_requests

NET = "module:examples.snntorch_rate_coded.served:make"
ALONE, TOGETHER = "loop_at_1", "loop_at_slots"
FIXED, EXITS = "slots_fixed_T", "slots_with_exits"


class OwnLoop:
    """The network's own loop, ``rows`` positions at a time."""

    def __init__(self, net: ModuleNet, requests: Requests, rows: int, count: int) -> None:
        self.network = TutorialNetwork(net.config.time_steps).eval()
        weights = {name.removeprefix("net."): tensor for name, tensor in net.tensors.items()}
        self.network.load_state_dict(weights)
        self.requests, self.rows, self.count = requests, rows, count

    @torch.inference_mode()
    def __call__(self) -> int:
        """Answer ``count`` positions; returns how many."""
        for first in range(0, self.count, self.rows):
            self.network(unpacked(self.requests.planes[first : first + self.rows]))
        return self.count


class Slots:
    """The same network in slots."""

    def __init__(
        self, net: ModuleNet, requests: Requests, slots: int, rule: ExitRule | None, threads: int
    ) -> None:
        backend = open_backend("auto", net, slots, rule, threads=threads)
        self.engine = SlotEngine(backend, requests)

    def __call__(self) -> int:
        """Answer all positions; returns how many."""
        count = self.engine.requests.num_rows
        self.engine.submit(np.arange(count, dtype=np.int32))
        while not self.engine.is_idle:
            self.engine.step()
        return count

    def mean_steps(self) -> float:
        """Time steps a position took."""
        counts = self.engine.counters.steps
        return float((counts * np.arange(256)).sum() / counts.sum())


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--net", default=NET)
    parser.add_argument("--slots", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    net = create_module_net(options.net, seed=0)
    requests = random_requests(4 * options.slots, 1, net.config.num_planes)
    slots = {
        name: Slots(net, requests, options.slots, rule, options.threads)
        for name, rule in ((FIXED, ExitRule.never()), (EXITS, None))
    }
    entrants: dict[str, Callable[[], int]] = {
        ALONE: OwnLoop(net, requests, 1, options.slots // 4),
        TOGETHER: OwnLoop(net, requests, options.slots, requests.num_rows),
        **slots,
    }
    speeds: dict[str, list[float]] = {name: [] for name in entrants}
    clock = process_time if options.threads == 1 else perf_counter
    for number in range(options.rounds + 1):
        for name, answer in entrants.items():
            start = clock()
            count = answer()
            if number:  # the first round warms up
                speeds[name].append(count / (clock() - start))
    ratios = {
        f"{name}_to_{loop}": round(ratio(speeds[name], speeds[loop]), 3)
        for name in slots
        for loop in (ALONE, TOGETHER)
    }
    facts = {"schema": 1, "net": options.net, "slots": options.slots, "threads": options.threads}
    facts |= {
        "time_steps": net.config.time_steps,
        "mean_steps": round(slots[EXITS].mean_steps(), 3),
    }
    facts |= {"positions_per_s": {name: round(median(found), 2) for name, found in speeds.items()}}
    print(json.dumps(facts | {"ratios": ratios}, indent=1))


def ratio(ours: list[float], theirs: list[float]) -> float:
    """The median of the ratios within a round."""
    return median(one / other for one, other in zip(ours, theirs, strict=True))


if __name__ == "__main__":
    main()
