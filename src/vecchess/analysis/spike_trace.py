"""The spikes of a network at one position, time step by time step.

The network is the deployed one (``snn.torch_integer``).
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vecchess.inference.exit_rule import exit_step
from vecchess.inference.open_network import softmax
from vecchess.inference.requests import Requests
from vecchess.shapes import NUM_SQUARES
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet
from vecchess.snn.topology import neuron_layers
from vecchess.snn.torch_integer import in_units, network_input, observed_network


@dataclass(frozen=True)
class LayerSpikes:
    """A layer of neurons at one position.

    name: the layer that receives the spikes. channels: neurons a square. counts: int64[T, 64],
    spikes of each square at each time step, over the channels; mover's view. A graded spike, of a
    readout, counts as one, whatever its level.
    """

    name: str
    channels: int
    counts: NDArray[np.int64]

    @property
    def shares(self) -> NDArray[np.float64]:
        """float64[T]: the share of the neurons that spike at each time step."""
        shares: NDArray[np.float64] = self.counts.sum(1) / (NUM_SQUARES * self.channels)
        return shares


@dataclass(frozen=True)
class SpikeTrace:
    """Spikes and outputs of a network at one position in T time steps; mover's view.

    layers: of neurons, from input to heads; none of a network whose neurons do not spike.
    policy: int32[T, L] and wdl: int32[T, 3], accumulators after each step in units of 2^-F, L
    legal moves in the order of the request. steps: number after which the exit rule ends.
    """

    layers: list[LayerSpikes]
    policy: NDArray[np.int32]
    wdl: NDArray[np.int32]
    steps: int
    policy_scale: float
    value_scale: float

    @property
    def outlooks(self) -> NDArray[np.float64]:
        """float64[T, 3]: the network's win, draw and loss after each step."""
        return _shares(self.wdl, self.value_scale)

    @property
    def policies(self) -> NDArray[np.float64]:
        """float64[T, L]: the legal moves' probabilities after each step."""
        return _shares(self.policy, self.policy_scale)


class SpikeTracer:
    """Records the spikes of one network."""

    def __init__(self, net: IntegerNet) -> None:
        """Raises ``NetworkError`` for a network that is not proved exact."""
        self._net = net
        self._rule = ExitRule.from_metadata(net.exit_rule)
        self._spikes: list[Tensor] = []
        self._module = observed_network(net, self._spikes.append)
        if net.config.readout == "graded":
            self._module.layer("value.squeeze").register_forward_pre_hook(self._note_graded)

    @torch.no_grad()
    def look(self, request: Requests) -> SpikeTrace:
        """The spikes and outputs at row 0 of ``request``."""
        self._spikes.clear()
        config, legal = self._net.config, request.legal[0, : request.num_legal[0]]
        actions = torch.from_numpy(legal.astype(np.int64))[None]
        output = self._module(network_input(config, request.planes[:1]), legal=actions)
        policy = in_units(output.policy[:, 0], config)
        wdl = in_units(output.wdl[:, 0], config)
        names = neuron_layers(config) if self._spikes else {}
        return SpikeTrace(
            layers=[_layer(*of) for of in zip(names, self._spikes, strict=True)],
            policy=policy,
            wdl=wdl,
            steps=exit_step(self._rule, policy, wdl),
            policy_scale=self._net.policy_scale,
            value_scale=self._net.value_scale,
        )

    def _note_graded(self, module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self._spikes.append((inputs[0] > 0).float())


def _layer(name: str, spikes: Tensor) -> LayerSpikes:
    """From ``spikes: float32[T, 1, 8, 8, C]`` of 0 and 1."""
    counts = spikes[:, 0].sum(-1).to(torch.int64).flatten(1)
    return LayerSpikes(name, spikes.shape[-1], counts.numpy())


def _shares(accumulators: NDArray[np.int32], scale: float) -> NDArray[np.float64]:
    """float64[T, N]: softmax of accumulator / t * scale."""
    steps = np.arange(1, len(accumulators) + 1)[:, None]
    return softmax(accumulators / steps * scale)
