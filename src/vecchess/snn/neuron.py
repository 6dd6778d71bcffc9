"""The neuron, in torch: float32 on the grid of 2^-F, so exact, and differentiable by surrogate.

    u  = floor(v / 2) + x        floor on the grid; nothing is lost while F >= k_max + T - 1
    s  = u > 1                   u > 2 if v, left over from the step before, was itself above 1
    v <- u - s

That is snntorch.Leaky with beta 0.5, threshold 1, reset by subtraction and reset_delay=False
(tested bit for bit), with the floor as the definition for longer T. A membrane that is above the
threshold even after its reset is rare; snntorch 1.0 takes the reset off before it compares the
next time, and gives it back if there is no spike. So do we, on every device.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from vecchess.snn.presets import ACTIVATION_BITS, ACTIVATION_LIMIT

SURROGATE_SLOPE = 2.0
"""alpha of the arctangent surrogate (Fang et al. 2021, eq. 9)."""


class _Fire(Function):
    """Heaviside forward; backward the derivative of arctan, alpha / 2 / (1 + (pi/2 alpha u)^2)."""

    @staticmethod
    def forward(ctx: Any, excess: Tensor) -> Tensor:
        ctx.save_for_backward(excess)
        return (excess > 0).to(excess.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (excess,) = ctx.saved_tensors
        slope = SURROGATE_SLOPE / 2 / (1 + (torch.pi / 2 * SURROGATE_SLOPE * excess) ** 2)
        passed: Tensor = gradients[0] * slope
        return passed


class _HalveOnGrid(Function):
    """floor(v / 2) on the grid of 2^-F; backward as if it were v / 2."""

    @staticmethod
    def forward(ctx: Any, membrane: Tensor, grid_bits: int) -> Tensor:
        return torch.floor(membrane * 2.0 ** (grid_bits - 1)) * 2.0**-grid_bits

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0] / 2, None


class _FloorOnGrid(Function):
    """floor on the grid of 2^-bits; backward as if it were nothing."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, bits: int) -> Tensor:
        return torch.floor(values * 2.0**bits) * 2.0**-bits

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None


class _Quantise(Function):
    """Nearest multiple of 1 / scale within +-limit multiples; backward straight through."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, scale: Tensor, limit: float) -> Tensor:
        return torch.round(values * scale).clamp(-limit, limit) / scale

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return gradients[0], None, None


def quantise(values: Tensor, scale: Tensor, limit: float) -> Tensor:
    """``values`` on the grid of 1 / scale (powers of two), gradients straight through."""
    return _Quantise.apply(values, scale, limit)  # type: ignore[no-untyped-call, no-any-return]


def floor_on_grid(values: Tensor, bits: int) -> Tensor:
    """``values`` rounded down to multiples of 2^-bits, gradients straight through."""
    return _FloorOnGrid.apply(values, bits)  # type: ignore[no-untyped-call, no-any-return]


def clipped_relu(currents: Tensor) -> Tensor:
    """The ReLU twin's neuron: 0 to ACTIVATION_LIMIT multiples of 2^-ACTIVATION_BITS."""
    highest = ACTIVATION_LIMIT * 2.0**-ACTIVATION_BITS
    return floor_on_grid(currents, ACTIVATION_BITS).clamp(0.0, highest)


def leaky_step(membrane: Tensor, current: Tensor, grid_bits: int) -> tuple[Tensor, Tensor]:
    """One time step: spikes (0 or 1) and the membrane after reset, shapes as ``current``."""
    limit = 1 + (membrane > 1).to(membrane.dtype)
    halved: Tensor = _HalveOnGrid.apply(membrane, grid_bits)  # type: ignore[no-untyped-call]
    charged = halved + current
    spikes: Tensor = _Fire.apply(charged - limit)  # type: ignore[no-untyped-call]
    return spikes, charged - spikes.detach()


def leaky(currents: Tensor, membrane: Tensor, grid_bits: int) -> tuple[Tensor, Tensor]:
    """Steps over the first axis: ``currents[T, ...]``, ``membrane[...]`` -> spikes, membrane."""
    steps = []
    for current in currents:
        spikes, membrane = leaky_step(membrane, current, grid_bits)
        steps.append(spikes)
    return torch.stack(steps), membrane
