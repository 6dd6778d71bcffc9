"""The deployed network in torch, in plain operators, with its neurons in sight.

All T steps are taken at once, and accumulators are those of all backends, to the bit.
"""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.kernels.surrogate import Surrogate
from vecchess.snn.modules.network import SpikingNet
from vecchess.snn.modules.neuron import LifOutput, lif
from vecchess.snn.modules.rate_coding import coded_steps
from vecchess.snn.presets import NetConfig
from vecchess.snn.torch_integer import from_integers


def observed_network(net: IntegerNet, note_spikes: Callable[[Tensor], None]) -> SpikingNet:
    """The network; ``note_spikes`` gets the spikes of each layer, from input to heads.

    They are float32[T, B, 8, 8, C] of 0 and 1; neurons that do not spike, and a graded readout, are
    not among them.
    Raises ``NetworkError`` for a network that is not proved exact.
    """
    check_bounds(net).require_exact()

    def observed(
        currents: Tensor,
        membrane: Tensor,
        grid_bits: int,
        surrogate: Surrogate,
        packed: bool,
    ) -> LifOutput:
        fired = lif(currents, membrane, grid_bits, surrogate, packed)
        note_spikes(fired.spikes.values)
        return fired

    module = from_integers(net).eval()
    module.compiled = False
    module.lif = observed
    return module


def network_input(config: NetConfig, planes: NDArray[np.uint64]) -> Tensor:
    """What the network reads of ``planes: uint64[B, P]``: int64[B, P], or at each step the planes
    that spike, int64[T, B, P], of a rate-coded one."""
    if config.is_rate_coded:
        planes = coded_steps(planes, config.time_steps, config.input_rate)
    return torch.from_numpy(planes.view(np.int64))


def in_units(accumulators: Tensor, config: NetConfig) -> NDArray[np.int32]:
    """int32 of the same shape, in units of 2^-F, as backends have them."""
    integers: NDArray[np.int32] = (accumulators * 2.0**config.grid_bits).to(torch.int32).numpy()
    return integers
