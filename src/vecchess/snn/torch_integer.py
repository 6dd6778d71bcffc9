"""Converts between the torch module and the integers: export, import, and neurons in sight."""

from collections.abc import Callable
from copy import deepcopy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vecchess.errors import NetworkError
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.integer.integer_net import IntegerNet, Layer
from vecchess.snn.kernels.surrogate import DEFAULT_SURROGATE, Surrogate
from vecchess.snn.modules.layers import SynapseLayer
from vecchess.snn.modules.network import SpikingNet
from vecchess.snn.modules.neuron import LifOutput, lif
from vecchess.snn.modules.rate_coding import coded_input
from vecchess.snn.presets import NetConfig
from vecchess.snn.topology import layer_shapes


def to_integers(module: SpikingNet) -> IntegerNet:
    """The integers a folded module computes with, proved exact; ``NetworkError`` otherwise."""
    if not module.folded:
        raise NetworkError("only a folded network has integer weights; call fold() first")
    config = module.config
    unit = 1.0 / (1 << config.grid_bits)
    net = IntegerNet(
        config=config,
        layers={name: _layer(module.layer(name)) for name in layer_shapes(config)},
        policy_scale=module.policy_gain.item() * unit,
        value_scale=module.value_gain.item() * unit,
    )
    check_bounds(net).require_exact()
    return net


def exported(module: SpikingNet) -> IntegerNet:
    """The network that a module would be deployed as now: a copy, folded where the module is not.

    The module does not change. Raises ``NetworkError`` if the network cannot be exact.
    """
    if module.folded:
        return to_integers(module)
    copy = deepcopy(module)
    copy.fold()
    return to_integers(copy)


@torch.no_grad()
def from_integers(net: IntegerNet, surrogate: str = DEFAULT_SURROGATE) -> SpikingNet:
    """A folded module whose forward gives the bits of ``net``, ready to be trained further."""
    module = SpikingNet(net.config, surrogate)
    for name, layer in net.layers.items():
        values = *layer.floats(net.config), layer.shift.astype(np.float32)
        module.layer(name).adopt(*map(torch.from_numpy, values))
    unit = 1.0 / (1 << net.config.grid_bits)
    module.policy_gain.fill_(net.policy_scale / unit)
    module.value_gain.fill_(net.value_scale / unit)
    return module


@torch.no_grad()
def _layer(synapses: SynapseLayer) -> Layer:
    weight, bias = synapses.quantised()
    integers = weight * torch.exp2(synapses.shift)[:, None]
    return Layer(
        weight=integers.to(torch.int8).cpu().numpy(),
        shift=synapses.shift.to(torch.uint8).cpu().numpy(),
        bias=(bias * 2.0**synapses.weight_bits).to(torch.int32).cpu().numpy(),
    )


def observed_network(net: IntegerNet, note_spikes: Callable[[Tensor], None]) -> SpikingNet:
    """The network; ``note_spikes`` gets the spikes of each layer, from input to heads.

    They are float32[T, B, 8, 8, C] of 0 and 1; neurons that do not spike, and a graded readout, are
    not among them.
    Raises ``NetworkError`` for a network that is not proved exact.
    """
    check_bounds(net).require_exact()

    def observed(
        currents: Tensor, membrane: Tensor, grid_bits: int, surrogate: Surrogate
    ) -> LifOutput:
        fired = lif(currents, membrane, grid_bits, surrogate)
        note_spikes(fired.spikes.values)
        return fired

    module = from_integers(net).eval()
    module.compiled = False
    module.lif = observed
    return module


def network_input(config: NetConfig, planes: NDArray[np.uint64]) -> Tensor:
    """What the network reads of ``planes: uint64[B, P]``: int64[B, P], or at each step the planes
    that spike, int64[T, B, P], of a rate-coded one."""
    return torch.from_numpy(coded_input(config, planes).view(np.int64))


def in_units(accumulators: Tensor, config: NetConfig) -> NDArray[np.int32]:
    """int32 of the same shape, in units of 2^-F, as backends have them."""
    scale = 2.0**config.grid_bits
    integers: NDArray[np.int32] = (accumulators * scale).to(torch.int32).cpu().numpy()
    return integers
