"""Layers with packed spikes as inputs, on the processor: forward and weight gradient cost by spike.

Only the gradient of the spikes is dense, because a surrogate is zero nowhere. Sums are float32
in a fixed order; on the grid they are exact, and equal to those of any other order.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

from vecchess.snn.kernels.parallel_for import parallel_for
from vecchess.snn.kernels.sparse_sums import TILE, gather_heads, spread_heads, sum_boards
from vecchess.snn.modules.convolution import convolve_back, weight_gradient
from vecchess.snn.modules.neuron import Spikes


def convolve_spikes(spikes: Spikes, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Packed [T, B, 8, 8, I], weight [O, 9 * I], bias [O] -> [T, B, 8, 8, O]."""
    return _Convolve.apply(*spikes, weight, bias)  # type: ignore[no-untyped-call, no-any-return]


def read_heads(
    spikes: Spikes, weight: Tensor, bias: Tensor, num_moves: int
) -> tuple[Tensor, Tensor]:
    """Both heads at once: weight [num_moves + V, I] and bias [num_moves + V] ->

    policy [T, B, num_moves * 64], added up over time, and currents [T, B, 8, 8, V]. The policy's
    rows come first.
    """
    missing = -len(weight) % TILE
    padded = functional.pad(weight, (0, 0, 0, missing)), functional.pad(bias, (0, missing))
    sizes = num_moves, len(weight) - num_moves
    return _Heads.apply(*spikes, *padded, sizes)  # type: ignore[no-untyped-call, no-any-return]


class _Convolve(Function):
    """3x3, spikes in, currents out."""

    @staticmethod
    def forward(
        ctx: Any, values: Tensor, bits: Tensor, masks: Tensor, weight: Tensor, bias: Tensor | None
    ) -> Tensor:
        ctx.save_for_backward(bits, weight)
        return _sums(masks, weight, bias, reach=1).view(*values.shape[:-1], len(weight))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        bits, weight = ctx.saved_tensors
        upstream = gradients[0].contiguous()
        of_bias = upstream.flatten(0, -2).sum(0) if ctx.needs_input_grad[4] else None
        of_weight = weight_gradient(bits, upstream, reach=1)
        return convolve_back(upstream, weight), None, None, of_weight, of_bias


class _Heads(Function):
    """1x1, spikes in, accumulators of moves and currents of the value head out."""

    @staticmethod
    def forward(
        ctx: Any,
        values: Tensor,
        bits: Tensor,
        masks: Tensor,
        weight: Tensor,
        bias: Tensor,
        sizes: tuple[int, int],
    ) -> tuple[Tensor, Tensor]:
        num_moves, num_values = sizes
        lead = values.shape[:2]
        sums = _sums(masks, weight, bias, reach=0).view(*lead, -1).numpy()
        policy, squeezed = (torch.empty(*lead, 64 * size) for size in sizes)
        written = policy.numpy(), squeezed.numpy()
        parallel_for(
            lambda begin, end: spread_heads(sums, num_moves, begin, end, *written), lead[1]
        )
        ctx.save_for_backward(bits, weight)
        ctx.sizes, ctx.lead = sizes, lead
        return policy, squeezed.view(*lead, 8, 8, num_values)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        bits, weight = ctx.saved_tensors
        of_outputs = [part.contiguous().view(*ctx.lead, -1).numpy() for part in gradients]
        upstream = torch.empty(*ctx.lead, 8, 8, len(weight))
        written = upstream.view(*ctx.lead, -1).numpy()

        def gather(begin: int, end: int) -> None:
            row = np.empty(64 * ctx.sizes[0], np.float32)
            gather_heads(*of_outputs, ctx.sizes[0], begin, end, row, written)

        parallel_for(gather, ctx.lead[1])
        of_bias = upstream.flatten(0, -2).sum(0)
        of_weight = weight_gradient(bits, upstream, reach=0)
        return upstream @ weight, None, None, of_weight, of_bias, None


def _sums(masks: Tensor, weight: Tensor, bias: Tensor | None, reach: int) -> Tensor:
    """float32[n, 64 * O] of ``masks: int32[n, 64 * I / 32]``."""
    num_outputs, taps = len(weight), (2 * reach + 1) ** 2
    channels = weight.shape[1] // taps
    by_tap = weight.detach().unflatten(1, (taps, -1)).permute(1, 2, 0).contiguous()
    start = torch.zeros(num_outputs) if bias is None else bias.detach()
    sums = torch.empty(len(masks), 64 * num_outputs)
    read = masks.numpy().view("u4"), by_tap.view(-1).numpy(), start.numpy(), channels, reach

    def work(begin: int, end: int) -> None:
        rows, starts = np.empty(64 * channels, np.int32), np.empty(74, np.int64)
        sum_boards(*read, begin, end, rows, starts, sums.numpy())

    parallel_for(work, len(masks))
    return sums
