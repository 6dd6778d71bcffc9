"""The weights of an integer network as float layers of torch, channels first, as peers have them.

int8 * 2^-shift and biases on 2^-weight_bits are float32 numbers, so nothing is lost.
"""

from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vecchess.errors import NetworkError
from vecchess.shapes import NUM_OUTCOMES, NUM_SQUARES
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.modules.neuron import clipped_relu, floor_on_grid
from vecchess.snn.topology import input_bits

LayerT = TypeVar("LayerT", nn.Conv2d, nn.Linear)


def require_residual(net: IntegerNet) -> None:
    """Raise ``NetworkError`` for a network that the peers are not written for."""
    if net.config.kind != "residual":
        raise NetworkError("peers are written for residual networks only")


def convolution(net: IntegerNet, name: str) -> nn.Conv2d:
    """Layer ``name`` as a 3x3 or 1x1 convolution over [B, I, 8, 8]."""
    weight, bias = _floats(net, name)
    size = 1 if name in ("policy", "value.squeeze") else 3
    outputs, inputs = weight.shape[0], weight.shape[1] // size**2
    layer = nn.Conv2d(inputs, outputs, size, padding=size // 2)
    taps_first = weight.reshape(outputs, size, size, inputs)
    return _filled(layer, taps_first.transpose(0, 3, 1, 2), bias)


def head(net: IntegerNet, name: str) -> nn.Module:
    """Policy or value head ``name`` over what ``readout`` gives, [B, C, 8, 8]."""
    layer = convolution(net, name)
    return RoundedDown(layer, net.config.grid_bits) if input_bits(net.config, name) else layer


class RoundedDown(nn.Module):
    """A convolution whose sums are rounded down to the grid of 2^-F before the bias is added."""

    def __init__(self, layer: nn.Conv2d, grid_bits: int) -> None:
        """Round the sums of ``layer``; F = ``grid_bits``."""
        super().__init__()
        self.layer, self.grid_bits, self.out_channels = layer, grid_bits, layer.out_channels
        assert layer.bias is not None
        self.bias = nn.Parameter(layer.bias[:, None, None], requires_grad=False)
        layer.bias = None

    def forward(self, activations: Tensor) -> Tensor:
        return floor_on_grid(self.layer(activations), self.grid_bits) + self.bias


class GradedReadout(nn.Module):
    """Activations of the tower's last currents; a membrane, where there is one, stays."""

    def forward(self, current: Tensor, *membrane: Tensor) -> Tensor | tuple[Tensor, ...]:
        activations = clipped_relu(current)
        return (activations, *membrane) if membrane else activations


def outcome(net: IntegerNet) -> nn.Linear:
    """The layer in front of win/draw/loss, for inputs flattened from [B, V, 8, 8]."""
    weight, bias = _floats(net, "value.outcome")
    channels = net.config.value_channels
    by_square = weight.reshape(NUM_OUTCOMES, NUM_SQUARES, channels)
    channels_first = by_square.transpose(0, 2, 1).reshape(NUM_OUTCOMES, -1)
    return _filled(nn.Linear(NUM_SQUARES * channels, NUM_OUTCOMES), channels_first, bias)


def _floats(net: IntegerNet, name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """weight float32[O, K], bias float32[O]."""
    layer = net.layers[name]
    weight = layer.weight * np.exp2(-layer.shift.astype(np.float32))[:, None]
    bias = layer.bias * np.float32(2.0**-net.config.weight_bits)
    return weight.astype(np.float32), bias.astype(np.float32)


@torch.no_grad()
def _filled(layer: LayerT, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> LayerT:
    assert layer.bias is not None
    layer.weight.copy_(torch.from_numpy(np.ascontiguousarray(weight)))
    layer.bias.copy_(torch.from_numpy(bias))
    return layer.requires_grad_(False)
