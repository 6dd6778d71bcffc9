"""The neuron, in torch: float32 on the grid of 2^-F, so exact, and differentiable by surrogate.

    u  = floor(v / 2) + x        floor on the grid; nothing is lost while F >= k_max + T - 1
    s  = u > 1                   u > 2 if v, left over from the step before, was itself above 1
    v <- u - s

That is snntorch.Leaky with beta 0.5, threshold 1, reset by subtraction and reset_delay=False
(tested bit for bit), with the floor as the definition for longer T. A membrane that is above the
threshold even after its reset is rare; snntorch 1.0 then subtracts the reset before the next
comparison, and adds it again if there is no spike. So does vecchess, on every device.

``lif_steps`` is the definition in torch operators, for any device. ``lif_compiled`` is the same on
the processor, faster; ``lif_triton`` on a GPU.

Decision 6.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from vecchess.snn.kernels.lif_cpu import lif_boards, lif_boards_backward
from vecchess.snn.kernels.parallel_for import by_board, distinct_steps, parallel_for
from vecchess.snn.kernels.surrogate import DEFAULT_SURROGATE, SURROGATES, Surrogate
from vecchess.snn.presets import ACTIVATION_BITS, ACTIVATION_LIMIT

ATAN = SURROGATES[DEFAULT_SURROGATE]
MASK_CHANNELS = 32
"""Channels of a square in a word of packed spikes."""


class Spikes(NamedTuple):
    """Spikes of a layer, as numbers or packed into words.

    values: float32[T, B, ...] as the currents, 0 or 1. Packed, it has no memory and only gradients
    pass through it; the spikes are in bits: int64[T * B, C], a bitboard per channel, and masks:
    int32[T * B, 64 * C / 32], 32 channels of a square a word.
    """

    values: Tensor
    bits: Tensor | None = None
    masks: Tensor | None = None


class LifOutput(NamedTuple):
    """Spikes and membrane of one layer of neurons over T steps.

    membrane: [B, ...] after the last step; rate: float32[], spikes per neuron and step. Spikes,
    membrane and rate are differentiable.
    """

    spikes: Spikes
    membrane: Tensor
    rate: Tensor


LifFunction = Callable[[Tensor, Tensor, int, Surrogate, bool], LifOutput]
"""From currents, membrane, grid_bits, surrogate and ``packed``; see ``lif``."""


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


class _LifCpu(Function):
    """``lif_steps`` and the rate on the processor, one pass; see ``lif_cpu``.

    Gradients are written over what was kept for them, so they can be asked for once.
    """

    @staticmethod
    def forward(
        ctx: Any,
        currents: Tensor,
        membrane: Tensor,
        grid_bits: int,
        surrogate: Surrogate,
        packed: bool,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        num_boards = currents.shape[1]
        read = by_board(distinct_steps(currents))
        excess, after = torch.empty(currents.shape), torch.empty(membrane.shape)
        bits, masks = _packed_memory(currents, packed)
        counts = np.empty(num_boards, np.int64)
        before = membrane.detach().contiguous().view(num_boards, -1).numpy()
        written = by_board(excess), after.view(num_boards, -1).numpy(), counts
        words = bits.numpy().view(np.uint64), masks.numpy().view(np.uint32)
        scale = np.float32(2.0 ** (grid_bits - 1))
        parallel_for(
            lambda begin, end: lif_boards(read, before, scale, begin, end, *written, *words),
            num_boards,
        )
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(excess)
        ctx.surrogate, ctx.is_spent = surrogate, False
        values = torch.zeros(()).expand(excess.shape) if packed else (excess > 0).float()
        rate = torch.tensor(counts.sum() / max(1, excess.numel()), dtype=torch.float32)
        ctx.mark_non_differentiable(bits, masks)
        return values, after, rate, bits, masks

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        (excess,) = ctx.saved_tensors
        if ctx.is_spent:
            raise RuntimeError("the gradients of these neurons have been computed already")
        ctx.is_spent = True
        upstream, of_membrane, of_rate = gradients[:3]
        if upstream is None:
            upstream = torch.zeros_like(excess)
        num_boards, size = excess.shape[1], excess[0, 0].numel()
        share = np.float32(0.0 if of_rate is None else of_rate.item() / max(1, excess.numel()))
        read = by_board(upstream), share, ctx.surrogate.number, np.float32(ctx.surrogate.slope)
        carried, changed = None, by_board(excess)
        if ctx.needs_input_grad[1] or of_membrane is not None:
            carried = torch.zeros(excess.shape[1:])
            if of_membrane is not None:
                carried += of_membrane

        def work(begin: int, end: int) -> None:
            row = np.empty(size, np.float32)
            rows = np.zeros((1, size), np.float32)
            if carried is not None:
                rows = carried.view(num_boards, -1).numpy()
            lif_boards_backward(*read, begin, end, row, changed, rows)

        parallel_for(work, num_boards)
        return excess, carried, None, None, None


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


def lif(
    currents: Tensor,
    membrane: Tensor,
    grid_bits: int,
    surrogate: Surrogate,
    packed: bool = False,
) -> LifOutput:
    """``lif_steps`` of boards: ``currents[T, B, ...]``, ``membrane[B, ...]``; float32.

    packed: ignored, spikes are numbers.
    """
    spikes, membrane = lif_steps(currents.float(), membrane, grid_bits, surrogate)
    return LifOutput(Spikes(spikes), membrane, spikes.mean())


def lif_compiled(
    currents: Tensor, membrane: Tensor, grid_bits: int, surrogate: Surrogate, packed: bool
) -> LifOutput:
    """``lif`` on the processor by a numba kernel: the same bits.

    packed: spikes for ``sparse_sums``; C has to be a multiple of 32, boards 8 x 8.
    """
    values, after, rate, bits, masks = _LifCpu.apply(  # type: ignore[no-untyped-call]
        currents.float(), membrane, grid_bits, surrogate, packed
    )
    return LifOutput(Spikes(values, bits, masks) if packed else Spikes(values), after, rate)


def _packed_memory(currents: Tensor, packed: bool) -> tuple[Tensor, Tensor]:
    """Bits and masks of ``Spikes`` for ``currents[T, B, ..., C]``, empty unless ``packed``."""
    num = currents.shape[0] * currents.shape[1] if packed else 0
    channels = currents.shape[-1] if packed else 0
    words = 64 * channels // MASK_CHANNELS
    return (
        torch.empty(num, channels, dtype=torch.int64),
        torch.empty(num, words, dtype=torch.int32),
    )
