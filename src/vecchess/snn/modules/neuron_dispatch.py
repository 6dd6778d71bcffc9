"""Computes the neuron layers of a forward by the fastest kernels for their device.

On the processor that is ``lif_compiled``, on an NVIDIA GPU ``lif_triton``, elsewhere ``lif``
itself. All give the same bits.
"""

from functools import cache

import torch
from torch import Tensor

from vecchess.snn.kernels.surrogate import Surrogate
from vecchess.snn.kernels.triton_support import obstacle_to_triton
from vecchess.snn.modules.neuron import LifFunction, Spikes, clipped_relu, lif, lif_compiled
from vecchess.snn.presets import NetConfig


@cache
def fastest_lif(device: torch.device) -> LifFunction:
    """The LIF function for ``device``."""
    if device.type == "cpu":
        return lif_compiled
    if obstacle_to_neurons(device):
        return lif
    from vecchess.snn.modules.lif_triton import lif_triton

    return lif_triton


def obstacle_to_neurons(device: torch.device) -> str:
    """Why neurons on ``device`` are computed by torch's plain operators, for people; "" if not."""
    if device.type == "cpu":
        return ""
    if device.type != "cuda":
        return f"there are no kernels for {device.type} devices"
    return obstacle_to_triton(str(device))


class NeuronLayers:
    """The neuron layers of one forward, in order, with their membranes before and after."""

    def __init__(
        self,
        config: NetConfig,
        membranes: list[Tensor],
        surrogate: Surrogate,
        lif_function: LifFunction,
    ) -> None:
        self._config = config
        self._before = membranes
        self._surrogate = surrogate
        self._lif = lif_function
        self.after: list[Tensor] = []
        self.rates: list[Tensor] = []

    def forward(self, current: Tensor, packed: bool) -> Spikes:
        """Spikes (or the twin's activations) of the next layer, shaped as ``current``.

        packed: in the form that the processor's kernels read, where those are used.
        """
        if self._config.neuron == "relu":
            activations = clipped_relu(current)
            self.rates.append((activations > 0).float().mean())
            return Spikes(activations)
        before = self._before[len(self.after)]
        fired = self._lif(current, before, self._config.grid_bits, self._surrogate, packed)
        self.after.append(fired.membrane)
        self.rates.append(fired.rate)
        return fired.spikes
