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

from vecchess.snn.kernels.move_sums import sum_moves, sum_moves_backward
from vecchess.snn.kernels.parallel_for import parallel_for
from vecchess.snn.kernels.sparse_sums import TILE, sum_boards
from vecchess.snn.modules.convolution import convolve_back, weight_gradient
from vecchess.snn.modules.neuron import Spikes

PART = 32
"""Boards whose gradients of the policy head are summed first, whatever the number of threads."""


def convolve_spikes(spikes: Spikes, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Packed [T, B, 8, 8, I], weight [O, 9 * I], bias [O] -> [T, B, 8, 8, O]."""
    return _Layer.apply(*spikes, weight, bias, 1)  # type: ignore[no-untyped-call, no-any-return]


def linear_spikes(spikes: Spikes, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Packed [T, B, 8, 8, I], weight [O, I], bias [O] -> [T, B, 8, 8, O]; any O."""
    outputs, missing = len(weight), -len(weight) % TILE
    weight = functional.pad(weight, (0, 0, 0, missing))
    bias = None if bias is None else functional.pad(bias, (0, missing))
    sums = _Layer.apply(*spikes, weight, bias, 0)  # type: ignore[no-untyped-call]
    return sums[..., :outputs]  # type: ignore[no-any-return]


def read_moves(spikes: Spikes, weight: Tensor, bias: Tensor, legal: Tensor) -> Tensor:
    """Packed [T, B, 8, 8, I], weight [moves, I], bias [moves], legal: int64[B, L] ->

    policy [T, B, L] of the actions in ``legal``, added up over time.
    """
    return _ReadMoves.apply(*spikes, weight, bias, legal)  # type: ignore[no-untyped-call, no-any-return]


class _Layer(Function):
    """3x3 (reach 1) or 1x1 (reach 0), spikes in, currents out."""

    @staticmethod
    def forward(
        ctx: Any,
        values: Tensor,
        bits: Tensor,
        masks: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        reach: int,
    ) -> Tensor:
        ctx.save_for_backward(bits, weight)
        ctx.reach = reach
        return _sums(masks, weight, bias, reach).view(*values.shape[:-1], len(weight))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        bits, weight = ctx.saved_tensors
        upstream = gradients[0].contiguous()
        of_bias = upstream.flatten(0, -2).sum(0) if ctx.needs_input_grad[4] else None
        of_weight = weight_gradient(bits, upstream, ctx.reach)
        of_values = convolve_back(upstream, weight) if ctx.reach else upstream @ weight
        return of_values, None, None, of_weight, of_bias, None


class _ReadMoves(Function):
    """Spikes in, accumulators of the legal moves out."""

    @staticmethod
    def forward(
        ctx: Any,
        values: Tensor,
        bits: Tensor,
        masks: Tensor,
        weight: Tensor,
        bias: Tensor,
        legal: Tensor,
    ) -> Tensor:
        policy = torch.empty(len(values), *legal.shape)
        head = weight.detach().contiguous().numpy(), bias.detach().numpy()
        read = masks.numpy().view("u4"), *head, legal.contiguous().numpy()
        parallel_for(lambda begin, end: sum_moves(*read, begin, end, policy.numpy()), len(legal))
        ctx.save_for_backward(masks, weight, legal)
        return policy

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        masks, weight, legal = ctx.saved_tensors
        upstream = gradients[0].contiguous()
        num_parts, num_moves = -(-len(legal) // PART), len(weight)
        of_weight = torch.zeros(num_parts, *weight.shape)
        of_bias = torch.zeros(num_parts, num_moves)
        of_values = torch.zeros(*upstream.shape[:2], 8, 8, weight.shape[1])
        boards = of_values.view(len(masks), 64, -1)
        head = masks.numpy().view("u4"), weight.detach().contiguous().numpy()
        read = *head, legal.contiguous().numpy(), upstream.numpy(), PART
        written = of_weight.numpy(), of_bias.numpy(), boards.numpy()

        def work(begin: int, end: int) -> None:
            row = np.empty(legal.shape[1], np.float32)
            sum_moves_backward(*read, begin, end, row, *written)

        parallel_for(work, num_parts)
        return of_values, None, None, of_weight.sum(0), of_bias.sum(0), None


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
