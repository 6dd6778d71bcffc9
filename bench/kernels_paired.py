"""The processor's inference kernels on one core, paired with those of another commit.

    python -m bench.kernels_paired --before ../other
    python -m bench.kernels_paired --before ../other --cases default:exits,default:twin --rounds 20

A case is a network (a preset, a file or "default"), at fixed T; ``NET:exits`` leaves by the rule
stored with it, and ``NET:twin`` is the ReLU twin of its size with random weights. Each tree has a
process of its own with one thread; they take turns, one pass over the positions each (of random
games), and what counts is processor time. Prints one JSON object a case, with quartiles of the
ratio; fails where the two trees do not give the same bits.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from bench.paired_trees import ROOT, TreeWorker, ratio_facts

HERE = Path(__file__).resolve()
CASES = "tiny,small,base,default,default:exits,default:twin,configs/nets/rate-coded.toml"
WARM_UP = 3
"""Passes before the timing, which compile kernels and count spikes."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", type=Path, required=True, help="another checkout")
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--positions", type=int, default=1024)
    parser.add_argument("--slots", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        serve(options.worker, options.positions, options.slots)
        return
    for case in options.cases.split(","):
        print(json.dumps(measure(case, options)), flush=True)


def measure(case: str, options: argparse.Namespace) -> dict[str, Any]:
    """Positions per processor second of both trees, in turns."""
    arguments = ["--before", ".", "--worker", case]
    arguments += ["--positions", str(options.positions), "--slots", str(options.slots)]
    trees = {"before": options.before, "now": ROOT}
    workers = {name: TreeWorker(HERE, tree, arguments) for name, tree in trees.items()}
    spent: dict[str, list[float]] = {name: [] for name in workers}
    answers: dict[str, Any] = {}
    for _ in range(WARM_UP + options.rounds):
        for name, worker in workers.items():
            answers[name], seconds = worker.ask("pass")
            spent[name].append(seconds)
    for worker in workers.values():
        worker.close()
    if answers["before"] != answers["now"]:
        raise SystemExit(f"{case}: the two trees give different answers {answers}")
    timed = {name: seconds[WARM_UP:] for name, seconds in spent.items()}
    return {
        "schema": 1,
        "case": case,
        "slots": options.slots,
        "mean_steps": answers["now"][1],
        "positions_per_cpu_s": {
            name: round(options.positions / median(seconds)) for name, seconds in timed.items()
        },
        **ratio_facts(timed["before"], timed["now"]),
    }


def serve(case: str, positions: int, slots: int) -> None:
    """For each line of stdin pass over all positions, and print digest, mean steps and time."""
    import numpy as np

    from vecchess.inference.engine import SlotEngine
    from vecchess.selfplay.worker.random_requests import random_requests

    backend, num_planes = _backend(case, slots)
    requests = random_requests(positions, 0, num_planes)
    engine = SlotEngine(backend, requests)
    for _ in sys.stdin:
        start = process_time()
        engine.submit(np.arange(positions, dtype=np.int32))
        while not engine.is_idle:
            engine.step()
        seconds = process_time() - start
        digest = hashlib.sha256(requests.wdl.tobytes() + requests.steps.tobytes())
        for row, count in zip(requests.policy, requests.num_legal, strict=True):
            digest.update(row[:count].tobytes())
        answers = digest.hexdigest(), float(requests.steps.mean())
        print(json.dumps([answers, seconds]), flush=True)


def _backend(case: str, slots: int) -> tuple[Any, int]:
    """The backend of a case, on one thread, and the planes that its network sees."""
    from vecchess.inference.backend_registry import open_backend
    from vecchess.inference.source import find
    from vecchess.snn.create import create_twin
    from vecchess.snn.integer.integer_net import ExitRule

    name, _, kind = case.partition(":")
    net = find(name).load()
    if kind == "twin":
        net = create_twin(net.config, 0)
    rule = ExitRule.from_metadata(net.exit_rule) if kind == "exits" else ExitRule.never()
    return open_backend("cpu", net, slots, rule, "cpu", 1), net.config.num_planes


if __name__ == "__main__":
    main()
