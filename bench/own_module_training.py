"""The learner with a network of snntorch against a plain loop of torch, in one process.

    python -m bench.own_module_training GAMES [--batch-size 64] [--updates 100]

Both begin with the same weights and learn from the same batches of recorded positions, one update
each in turns, by AdamW with the same settings: the cross-entropies of policy and win/draw/loss, the
mean over time steps. The loop is ``TutorialNetwork`` in the manner of snntorch's tutorials:
it unpacks planes, computes all 4672 actions, and knows of no legal moves; ours is ``Learner``, with
the gradients' exact sums. Reading shards is left out of both. Processor time counts with one
thread. Prints JSON: samples a second, medians over the updates, the median of the ratios
within a turn, and the policy's cross-entropy over legal moves on held-out positions, after the last
time step.
"""

import argparse
import json
from dataclasses import replace
from operator import truediv
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
from examples.snntorch_rate_coded.tutorial_network import TutorialNetwork
from numpy.typing import NDArray
from torch import Tensor

from vecchess.chess.unpack_planes import unpack_planes
from vecchess.config import TrainConfig, build
from vecchess.networks.module_net import ModuleNet, create_module_net
from vecchess.runtime.freed_memory import keep_freed_memory
from vecchess.shapes import MAX_MOVES, NUM_ACTIONS
from vecchess.train.data.replay_window import GivenShards, ReplayWindow
from vecchess.train.data.samples import Samples, collate, empty_samples
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.step.learner import Learner
from vecchess.train.step.trained_module import TrainedModule

NET = "module:examples.snntorch_rate_coded.served:make?steps=8"
WARM_UP = 2
"""Updates that are not timed."""
HELD_OUT_SHARE = 10
"""One position in so many, the last ones, is held out."""


class PlainLoop:
    """The network's own loop over time, a loss of torch, and AdamW."""

    def __init__(self, net: ModuleNet, config: TrainConfig) -> None:
        self.network = TutorialNetwork(net.config.time_steps)
        weights = {name.removeprefix("net."): tensor for name, tensor in net.tensors.items()}
        self.network.load_state_dict(weights)
        settings = config.optimiser
        self.clip_norm = settings.clip_norm
        self.optimiser = torch.optim.AdamW(
            self.network.parameters(), lr=settings.lr, weight_decay=settings.weight_decay
        )

    def __call__(self, samples: Samples[Tensor]) -> None:
        """One update."""
        planes = torch.from_numpy(unpack_planes(samples.planes.numpy().view(np.uint64)))
        legal, is_move = samples.legal.long(), torch.arange(MAX_MOVES) < samples.num_legal[:, None]
        target = torch.zeros(len(planes), NUM_ACTIONS)
        target.scatter_add_(1, legal, samples.policy * is_move)
        self.optimiser.zero_grad()
        policy, wdl = self.network(planes)
        loss = torch.zeros(())
        for step in range(len(policy)):
            loss = loss + torch.nn.functional.cross_entropy(policy[step], target)
            loss = loss + torch.nn.functional.cross_entropy(wdl[step], samples.returned)
        (loss / len(policy)).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.clip_norm)
        self.optimiser.step()

    def weights(self) -> dict[str, Tensor]:
        """By the names of the wrapped network."""
        return {f"net.{name}": tensor for name, tensor in self.network.state_dict().items()}


class Ours:
    """The learner with the same network, wrapped."""

    def __init__(self, net: ModuleNet, config: TrainConfig) -> None:
        self.learner = Learner(config, TrainedModule(net), Ranks.alone(torch.device("cpu")))

    def __call__(self, samples: Samples[Tensor]) -> None:
        """One update."""
        self.learner.step(samples, 0.0, [0.0])

    def cross_entropy(self, samples: Samples[Tensor]) -> float:
        """The policy's, over legal moves, after the last time step."""
        return float(self.learner.evaluate([samples])["cross_entropy"][-1])


class Positions:
    """Recorded positions, in an order drawn at random."""

    def __init__(self, games: Path, num_planes: int) -> None:
        self.window, self.num_planes = ReplayWindow(GivenShards([games])), num_planes
        self.window.update(len(GivenShards([games])))
        rng, count = np.random.default_rng(0), self.window.num_positions
        first_held_out = count - count // HELD_OUT_SHARE
        self.learnt = rng.permutation(first_held_out)
        self.held_out = first_held_out + rng.permutation(count - first_held_out)

    def samples(self, chosen: NDArray[np.int64]) -> Samples[Tensor]:
        """Rows of the positions ``chosen``."""
        rows: Samples[NDArray[Any]] = empty_samples(len(chosen), self.num_planes)
        collate(self.window.table, *self.window.find(chosen), rows)
        return rows._replace(planes=rows.planes.view(np.int64)).map(torch.from_numpy)

    def batch(self, number: int, size: int) -> Samples[Tensor]:
        """Batch ``number`` of all that are learnt from; after the last comes the first."""
        return self.samples(np.take(self.learnt, np.arange(size) + number * size, mode="wrap"))


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("games", type=Path, help="a run, a folder of shards, or a shard")
    parser.add_argument("--net", default=NET)
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--micro-batch", type=int, default=0, help="of ours; 0: its usual parts")
    parser.add_argument("--held-out", type=int, default=1024, help="positions at most")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()  # for both: the learner asks for it
    config = _config(options)
    net = create_module_net(options.net, seed=0)
    positions = Positions(options.games, net.config.num_planes)
    ours, plain = Ours(net, config), PlainLoop(net, config)
    held_out = positions.samples(positions.held_out[: options.held_out])
    before = ours.cross_entropy(held_out)
    speeds: dict[str, list[float]] = {"ours": [], "plain": []}
    clock = process_time if options.threads == 1 else perf_counter
    for number in range(options.updates):
        samples = positions.batch(number, options.batch_size)
        turns = [("ours", ours), ("plain", plain)]
        for name, update in turns if number % 2 else turns[::-1]:
            start = clock()
            update(samples)
            if number >= WARM_UP:
                speeds[name].append(options.batch_size / (clock() - start))
    loop = Ours(replace(net, tensors=plain.weights()), config)
    facts = {"schema": 1, "net": options.net, "batch_size": options.batch_size}
    facts |= {"micro_batch": options.micro_batch}
    facts |= {"threads": options.threads, "lr": options.lr, "updates": options.updates}
    facts |= {
        "positions": len(positions.learnt),
        "held_out": len(held_out.planes),
        "samples_per_s": {name: round(median(found), 2) for name, found in speeds.items()},
        "ratio": round(median(map(truediv, speeds["ours"], speeds["plain"])), 3),
        "held_out_policy_cross_entropy": {
            "before": round(before, 4),
            "ours": round(ours.cross_entropy(held_out), 4),
            "plain": round(loop.cross_entropy(held_out), 4),
        },
    }
    print(json.dumps(facts, indent=1))


def _config(options: argparse.Namespace) -> TrainConfig:
    """Both learn the game's result as the value, at one learning rate, without an average."""
    optimiser = {"lr": options.lr, "lr_schedule": "constant", "warmup": 0.0, "ema": 0.0}
    known = {"objective": "supervised", "data": [str(options.games)], "optimiser": optimiser}
    loss = {"root_value_share": 0.0}
    sizes = {"batch_size": options.batch_size, "micro_batch": options.micro_batch}
    return build(TrainConfig, known | sizes | {"loss": loss})


if __name__ == "__main__":
    main()
