"""Between the torch module and the integers: export, and the deployed forward of a stored net."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vecchess.errors import NetworkError
from vecchess.shapes import NUM_SQUARES
from vecchess.snn.integer_net import IntegerNet, Layer
from vecchess.snn.network import SpikingNet, Synapses
from vecchess.snn.topology import layer_shapes


def to_integers(module: SpikingNet, exit_rule: dict[str, Any] | None = None) -> IntegerNet:
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
        exit_rule=exit_rule,
    )
    net.check().require_exact()
    return net


@torch.no_grad()
def from_integers(net: IntegerNet) -> SpikingNet:
    """A folded module whose forward gives the bits of ``net``, ready to be trained further."""
    module = SpikingNet(net.config)
    for name, layer in net.layers.items():
        synapses = module.layer(name)
        synapses.norm = None
        scale = np.exp2(-layer.shift.astype(np.float32))
        synapses.weight.copy_(torch.from_numpy(layer.weight * scale[:, None]))
        bias = layer.bias.astype(np.float32) * np.float32(2.0**-net.config.weight_bits)
        synapses.bias.copy_(torch.from_numpy(bias))
        synapses.shift.copy_(torch.from_numpy(layer.shift.astype(np.float32)))
        synapses.folded.fill_(True)
    unit = 1.0 / (1 << net.config.grid_bits)
    module.policy_gain.fill_(net.policy_scale / unit)
    module.value_gain.fill_(net.value_scale / unit)
    return module


def unpack_planes(planes: NDArray[np.uint64], device: torch.device | str = "cpu") -> torch.Tensor:
    """Bitboards uint64[B, P] -> float32[B, 8, 8, P] of 0 and 1 on ``device``."""
    words = torch.from_numpy(planes.view(np.int64)).to(device)
    squares = torch.arange(NUM_SQUARES, device=device)[None, :, None]
    bits = (words[:, None, :] >> squares) & 1
    return bits.float().view(len(planes), 8, 8, planes.shape[1])


@torch.no_grad()
def _layer(synapses: Synapses) -> Layer:
    weight, bias = synapses.quantised()
    integers = weight * torch.exp2(synapses.shift)[:, None]
    return Layer(
        weight=integers.to(torch.int8).cpu().numpy(),
        shift=synapses.shift.to(torch.uint8).cpu().numpy(),
        bias=(bias * 2.0**synapses.weight_bits).to(torch.int32).cpu().numpy(),
    )
