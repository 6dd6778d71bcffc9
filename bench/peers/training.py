"""A whole training step: of both phases, of a ReLU network, and of a plain snntorch loop, in turns.

Each entrant trains a network of the same sizes on the same positions with the same loss on every
time step (Deng et al. 2022, "TET") and the same optimiser; a lap is one step. The labels are drawn
at random: what is learnt plays no part here.
"""

from collections.abc import Callable
from typing import Annotated, Any, Protocol

import torch
from bench.peers.training_loop import TrainingLoop
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from vecchess.bench.paired_timing import Count, Laps, core_share, ratio, speed, time_in_turns
from vecchess.bench.throughput import keep_to_cores
from vecchess.chess.sample import random_planes
from vecchess.config.bench_settings import BenchConfig
from vecchess.machine_limits import num_cores
from vecchess.runtime.torch_environment import torch_threads
from vecchess.shapes import NUM_ACTIONS, NUM_OUTCOMES
from vecchess.snn.create import sizes_of, twin_sizes
from vecchess.snn.modules.fused_layer import GROUP
from vecchess.snn.modules.network import SpikingNet, unpack_bitboards
from vecchess.snn.presets import NetConfig

SCHEMA = 1
FLOAT, FOLDED, TWIN = "float", "folded", "relu_twin"
SNNTORCH = "snntorch"
WARM_UP = 2
"""Steps before the timing, which compile kernels and allocate memory."""
FOLD_AFTER = 50
"""Forwards of a group after which the running statistics are those of the network."""
LEARNING_RATE = 1e-3
RATE_TARGET = 0.08
"""Spikes per neuron and step above which a layer is penalised."""


class TrainingBench(BenchConfig):
    """Settings of ``python -m bench.peers training``."""

    net: str = "tiny"
    """tiny, small, base, large or sizes (.toml)."""
    batch_size: Annotated[int, Field(ge=1, le=1 << 16)] = 256
    """Samples of a step."""
    seconds: Annotated[float, Field(gt=0)] = 60.0
    """Time to measure, in seconds; every entrant takes at least five steps."""
    cores: Annotated[int, Field(ge=0)] = 1
    """Cores this process is kept to; 0: all."""
    surrogate: str = "atan"
    """Surrogate gradient of our networks, as for "vecchess train"."""


class Outputs(Protocol):
    """A network's outputs: sums after each step and spike rates; see ``network.Output``."""

    @property
    def policy(self) -> Tensor: ...
    @property
    def wdl(self) -> Tensor: ...
    @property
    def rates(self) -> list[Tensor]: ...


class Labels:
    """Labels of B positions: an action and an outcome each."""

    def __init__(self, num: int, seed: int, device: str = "cpu") -> None:
        generator = torch.Generator().manual_seed(seed)
        self.actions = torch.randint(NUM_ACTIONS, (num,), generator=generator).to(device)
        self.outcomes = torch.randint(NUM_OUTCOMES, (num,), generator=generator).to(device)

    def loss(self, output: Outputs) -> Tensor:
        """Cross-entropies of the mean over the steps so far, at every step; and of the rates."""
        num_steps = len(output.policy)
        so_far = torch.arange(1, num_steps + 1, device=output.policy.device)[:, None, None]
        policy = functional.cross_entropy(
            (output.policy / so_far).flatten(0, 1), self.actions.repeat(num_steps)
        )
        value = functional.cross_entropy(
            (output.wdl / so_far).flatten(0, 1), self.outcomes.repeat(num_steps)
        )
        rates = torch.stack(output.rates)
        return policy + value + (rates - RATE_TARGET).relu().square().sum()


class TrainingEntrant:
    """A network that is trained, as an entrant."""

    def __init__(
        self,
        name: str,
        module: nn.Module,
        planes: Tensor,
        labels: Labels,
        precision: torch.dtype = torch.float32,
    ) -> None:
        """``precision``: of the forward pass, by autocast."""
        self.name = name
        self.module = module.train()
        self.rates: list[float] = []
        self._planes, self._labels = planes, labels
        self._precision = precision
        self._optimiser = torch.optim.AdamW(module.parameters(), LEARNING_RATE)

    def turn(self) -> Count:
        """One step: forward, loss, backward, optimiser, and what our networks need after it.

        Ends by reading numbers back, so on a GPU when all of it is done.
        """
        with self._autocast():
            output = self.module(self._planes)
        self._optimiser.zero_grad()
        self._labels.loss(output).backward()
        self._optimiser.step()
        if isinstance(self.module, SpikingNet):
            self.module.absorb_statistics(one_rank)
            self.module.settle_grid()
        self.rates = torch.stack(output.rates).tolist()
        return Count(len(self._labels.actions), self._labels.actions.numel() * len(output.policy))

    def _autocast(self) -> torch.autocast:
        reduced = self._precision != torch.float32
        return torch.autocast(self._planes.device.type, self._precision, enabled=reduced)


def run(config: TrainingBench) -> dict[str, Any]:
    """Compare, in this process; the loop takes part where a network is residual and spiking.

    Raises ``ConfigError`` for settings, and ``NetworkError`` for a network, that cannot be
    measured.
    """
    sizes = sizes_of(config.net)
    keep_to_cores(config.cores)
    with torch_threads(num_cores()):
        learners = _learners(config, sizes)
        for learner in learners:
            for _ in range(WARM_UP):
                learner.turn()
        return _facts(config, learners, time_in_turns(learners, config.seconds))


def _learners(config: TrainingBench, sizes: NetConfig) -> list[TrainingEntrant]:
    planes = unpack_bitboards(
        torch.from_numpy(random_planes(config.batch_size, config.seed, sizes.num_planes))
    )
    labels = Labels(config.batch_size, config.seed)

    def learner(
        name: str, make: Callable[[], nn.Module], planes: Tensor = planes
    ) -> TrainingEntrant:
        torch.manual_seed(config.seed)
        return TrainingEntrant(name, make(), planes, labels)

    def ours(sizes: NetConfig = sizes) -> SpikingNet:
        return SpikingNet(sizes, config.surrogate)

    learners = [
        learner(FLOAT, ours),
        learner(FOLDED, lambda: settled(ours(), planes)),
        learner(TWIN, lambda: ours(twin_sizes(sizes))),
    ]
    if (sizes.kind, sizes.neuron) == ("residual", "lif"):  # the loop is written for these
        channels_first = planes.permute(0, 3, 1, 2).contiguous()
        learners.append(learner(SNNTORCH, lambda: TrainingLoop(sizes), channels_first))
    return learners


def settled(module: SpikingNet, planes: Tensor) -> SpikingNet:
    """The same module, folded after it has the statistics of some of the positions."""
    module.train()
    for _ in range(FOLD_AFTER):
        with torch.no_grad():
            module(planes[:GROUP])
        module.absorb_statistics(one_rank)
    module.fold()
    return module


def _facts(config: TrainingBench, learners: list[TrainingEntrant], laps: Laps) -> dict[str, Any]:
    rates = {learner.name: sum(learner.rates) / len(learner.rates) for learner in learners}
    facts = {
        "schema": SCHEMA,
        "net": config.net,
        "batch_size": config.batch_size,
        "threads": torch.get_num_threads(),
        "rounds": len(laps[FLOAT]),
        "samples_per_s": {name: round(speed(row), 1) for name, row in laps.items()},
        "mean_rates": {name: round(rate, 3) for name, rate in rates.items()},
        "core_share": round(core_share(laps), 2),
    }
    if SNNTORCH in laps:
        facts["ratio_to_snntorch"] = {
            name: round(ratio(laps, name, SNNTORCH), 2) for name in (FLOAT, FOLDED, TWIN)
        }
    return facts


def one_rank(sums: list[Tensor]) -> None:
    """Stands for an all-reduce where there is one rank."""
