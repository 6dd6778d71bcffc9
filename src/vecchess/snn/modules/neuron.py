"""The neuron, in torch: float32 on the grid of 2^-F, so exact, and differentiable by surrogate.

    u  = floor(v / 2) + x        floor on the grid; nothing is lost while F >= k_max + T - 1
    s  = u > 1                   u > 2 if v, left over from the step before, was itself above 1
    v <- u - s

That is snntorch.Leaky with beta 0.5, threshold 1, reset by subtraction and reset_delay=False
(tested bit for bit), with the floor as the definition for longer T. A membrane that is above the
threshold even after its reset is rare; snntorch 1.0 then subtracts the reset before the next
comparison, and adds it again if there is no spike. So does vecchess, on every device.

``lif_steps`` is the definition in torch operators, for any device. ``fused_layer`` has the same on
the processor, faster; ``lif_triton`` on a GPU.

Decision 6.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from vecchess.snn.kernels.surrogate import DEFAULT_SURROGATE, SURROGATES, Surrogate
from vecchess.snn.presets import ACTIVATION_BITS, ACTIVATION_LIMIT

ATAN = SURROGATES[DEFAULT_SURROGATE]


class Spikes(NamedTuple):
    """Spikes of a layer, as numbers or packed into words.

    values: float32[T, B, ...] as the currents, 0 or 1; bfloat16 where a GPU's autocast asks for it.
    Packed, it has no memory and only gradients pass through it; the spikes are in masks:
    int32[T, B, 64 * C / 32], 32 channels of a square a word.
    """

    values: Tensor
    masks: Tensor | None = None


class LifOutput(NamedTuple):
    """Spikes and membrane of one layer of neurons over T steps.

    membrane: [B, ...] after the last step; rate: float32[], spikes per neuron and step. Spikes,
    membrane and rate are differentiable.
    """

    spikes: Spikes
    membrane: Tensor
    rate: Tensor


LifFunction = Callable[[Tensor, Tensor, int, Surrogate], LifOutput]
"""From currents, membrane, grid_bits and surrogate; see ``lif``."""


class _Spike(Function):
    """Heaviside forward; backward the surrogate."""

    @staticmethod
    def forward(ctx: Any, excess: Tensor, surrogate: Surrogate) -> Tensor:
        ctx.save_for_backward(excess)
        ctx.surrogate = surrogate
        return (excess > 0).to(excess.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (excess,) = ctx.saved_tensors
        return gradients[0] * ctx.surrogate.derivative(excess), None


class _StraightThrough(Function):
    """``rounding(values)`` forward; backward the identity."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, rounding: Callable[[Tensor], Tensor]) -> Tensor:
        return rounding(values)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None


def quantise(values: Tensor, scale: Tensor | float, limit: float) -> Tensor:
    """Nearest multiple of 1 / scale (powers of two) within +-limit multiples; gradients straight
    through."""
    return _StraightThrough.apply(  # type: ignore[no-untyped-call, no-any-return]
        values, lambda v: torch.round(v * scale).clamp(-limit, limit) / scale
    )


def floor_on_grid(values: Tensor, bits: int) -> Tensor:
    """``values`` rounded down to multiples of 2^-bits, gradients straight through."""
    return _StraightThrough.apply(  # type: ignore[no-untyped-call, no-any-return]
        values, lambda v: torch.floor(v * 2.0**bits) * 2.0**-bits
    )


def clipped_relu(currents: Tensor) -> Tensor:
    """The ReLU twin's neuron: 0 to ACTIVATION_LIMIT multiples of 2^-ACTIVATION_BITS."""
    highest = ACTIVATION_LIMIT * 2.0**-ACTIVATION_BITS
    return floor_on_grid(currents, ACTIVATION_BITS).clamp(0.0, highest)


def lif_step(
    membrane: Tensor, current: Tensor, grid_bits: int, surrogate: Surrogate = ATAN
) -> tuple[Tensor, Tensor]:
    """One time step: spikes (0 or 1) and the membrane after reset, shapes as ``current``."""
    limit = 1 + (membrane > 1).to(membrane.dtype)
    charged = floor_on_grid(membrane / 2, grid_bits) + current
    spikes: Tensor = _Spike.apply(charged - limit, surrogate)  # type: ignore[no-untyped-call]
    return spikes, charged - spikes.detach()


def lif_steps(
    currents: Tensor, membrane: Tensor, grid_bits: int, surrogate: Surrogate = ATAN
) -> tuple[Tensor, Tensor]:
    """Steps over the first axis: ``currents[T, ...]``, ``membrane[...]`` -> spikes, membrane."""
    steps = []
    for current in currents:
        spikes, membrane = lif_step(membrane, current, grid_bits, surrogate)
        steps.append(spikes)
    return torch.stack(steps), membrane


def lif(currents: Tensor, membrane: Tensor, grid_bits: int, surrogate: Surrogate) -> LifOutput:
    """``lif_steps`` of boards: ``currents[T, B, ...]``, ``membrane[B, ...]``; float32."""
    spikes, membrane = lif_steps(currents.float(), membrane, grid_bits, surrogate)
    return LifOutput(
        Spikes(spikes), membrane, share_of(spikes.sum(dtype=torch.float64), spikes.numel())
    )


def share_of(total: Tensor, num: int) -> Tensor:
    """``total / num`` as float32[], rounded once, with the same bits on every device.

    ``Tensor.mean`` and division by a number of Python multiply by the reciprocal on a GPU.
    """
    exact = total.double()
    return (exact / torch.full_like(exact, max(1, num))).float()
