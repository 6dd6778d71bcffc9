"""The training loop everyone starts from: snntorch neurons in a Python loop, channels first.

The tower of a network as snntorch's tutorials would write it, to be trained: ``nn.Conv2d`` without
a bias in front of ``nn.BatchNorm2d``, one ``Leaky`` a layer, the step inside the loop over time.
The constant input current is computed once, as a careful user would.
"""

from typing import NamedTuple

import torch
from bench.peers.copy_weights import GradedReadout
from bench.peers.snntorch_loop import leaky_neurons
from torch import Tensor, nn

from vecchess.errors import NetworkError
from vecchess.shapes import NUM_MOVE_PLANES, NUM_OUTCOMES, NUM_SQUARES
from vecchess.snn.presets import NetConfig


class PeerOutput(NamedTuple):
    """Sums after each step: policy [T, B, 4672] and wdl [T, B, 3]; rates, one a neuron layer."""

    policy: Tensor
    wdl: Tensor
    rates: list[Tensor]


class TrainingLoop(nn.Module):
    """planes float32[B, P, 8, 8] -> ``PeerOutput``; the sizes of a residual spiking network."""

    def __init__(self, config: NetConfig) -> None:
        """With torch's current random generator; ``NetworkError`` for another kind of network."""
        super().__init__()
        if config.kind != "residual" or config.neuron != "lif":
            raise NetworkError("the snntorch loop is written for residual spiking networks")
        channels = config.channels
        self.time_steps, self.value_channels = config.time_steps, config.value_channels
        self.stem = _normed(config.num_planes, channels, 3)
        self.first, self.second = (
            nn.ModuleList(_normed(channels, channels, 3) for _ in range(config.blocks))
            for _ in range(2)
        )
        self.policy = nn.Conv2d(channels, NUM_MOVE_PLANES, 1)
        self.squeeze = _normed(channels, config.value_channels, 1)
        self.outcome = nn.Linear(NUM_SQUARES * config.value_channels, NUM_OUTCOMES)
        self.neurons = nn.ModuleList(leaky_neurons(2 * config.blocks + 2))
        if config.readout == "graded":
            self.neurons[-2] = GradedReadout()

    def forward(self, planes: Tensor) -> PeerOutput:
        current = self.stem(planes)
        membranes = [torch.zeros_like(current) for _ in self.neurons[:-1]]
        membranes.append(torch.zeros_like(current[:, : self.value_channels]))
        policies, outcomes = [], []
        shares: list[list[Tensor]] = [[] for _ in self.neurons]
        for _ in range(self.time_steps):
            spikes = self._step(current, membranes)
            for share, fired in zip(shares, spikes, strict=True):
                share.append(fired.mean())
            policies.append(self.policy(spikes[-2]).flatten(1))
            outcomes.append(self.outcome(spikes[-1].flatten(1)))
        rates = [torch.stack(share).mean() for share in shares]
        return PeerOutput(torch.stack(policies).cumsum(0), torch.stack(outcomes).cumsum(0), rates)

    def _step(self, current: Tensor, membranes: list[Tensor]) -> list[Tensor]:
        """Spikes of every layer; ``membranes`` are replaced in the list."""
        spikes, stream = [], current
        for block, (first, second) in enumerate(zip(self.first, self.second, strict=True)):
            spikes.append(self._fire(2 * block, stream, membranes))
            spikes.append(self._fire(2 * block + 1, first(spikes[-1]), membranes))
            stream = stream + second(spikes[-1])
        spikes.append(self._fire(len(spikes), stream, membranes))
        spikes.append(self._fire(len(spikes), self.squeeze(spikes[-1]), membranes))
        return spikes

    def _fire(self, layer: int, current: Tensor, membranes: list[Tensor]) -> Tensor:
        fired, membranes[layer] = self.neurons[layer](current, membranes[layer])
        return fired  # type: ignore[no-any-return]


def _normed(inputs: int, outputs: int, size: int) -> nn.Sequential:
    layer = nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs))
