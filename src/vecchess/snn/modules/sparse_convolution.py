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

from vecchess.snn.kernels.move_sums import HeadInputs, sum_moves, sum_moves_backward
from vecchess.snn.kernels.parallel_for import parallel_for
from vecchess.snn.kernels.sparse_sums import TILE, sum_boards, turn_masks
from vecchess.snn.modules.convolution import by_tap, weight_gradient
from vecchess.snn.modules.neuron import Spikes

PART = 32
"""Boards whose gradients of the policy head are summed first, whatever the number of threads."""


def linear_spikes(spikes: Spikes, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Packed [T, B, 8, 8, I], weight [O, I], bias [O] -> [T, B, 8, 8, O]; any O."""
    return _Linear.apply(*spikes, weight, bias)  # type: ignore[no-untyped-call, no-any-return]


def read_moves(
    spikes: Spikes, weight: Tensor, bias: Tensor, legal: Tensor, floor_bits: int | None
) -> tuple[Tensor, Spikes]:
    """Packed or activations [T, B, 8, 8, I], weight [moves, I], bias [moves], legal: int64[B, L] ->

    policy [T, B, L] of the actions in ``legal``, added up over time; and the spikes, for who else
    reads them: gradients of the policy are added to theirs. floor_bits: the grid that sums of
    activations are rounded down to.
    """
    grid = 0.0 if floor_bits is None else 2.0**floor_bits
    read = _ReadMoves.apply(*spikes, weight, bias, legal, grid)  # type: ignore[no-untyped-call]
    return read[0], Spikes(read[1], spikes.masks)


class _Linear(Function):
    """Spikes of a square in, currents of this square out."""

    @staticmethod
    def forward(
        ctx: Any, values: Tensor, masks: Tensor, weight: Tensor, bias: Tensor | None
    ) -> Tensor:
        ctx.save_for_backward(masks, weight)
        missing = -len(weight) % TILE
        padded = functional.pad(weight, (0, 0, 0, missing))
        padded_bias = None if bias is None else functional.pad(bias, (0, missing))
        sums = torch.empty(*values.shape[:-1], len(padded))
        out, channels = sums.view(-1, 64 * len(padded)).numpy(), weight.shape[1]
        read = _words(masks), *by_tap(padded, padded_bias, 1), channels, 0

        def work(begin: int, end: int) -> None:
            rows, starts = np.empty(64 * channels, np.int32), np.empty(74, np.int64)
            sum_boards(*read, begin, end, rows, starts, out)

        parallel_for(work, len(out))
        return sums[..., : len(weight)]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        masks, weight = ctx.saved_tensors
        upstream, outputs = gradients[0], len(weight)
        of_bias = upstream.flatten(0, -2).sum(0) if ctx.needs_input_grad[3] else None
        bits = torch.empty(len(upstream) * upstream.shape[1], weight.shape[1], dtype=torch.int64)
        turn_masks(_words(masks), 0, len(bits), bits.numpy().view("u8"))
        padded = functional.pad(upstream, (0, -outputs % TILE))
        of_weight = weight_gradient(bits, padded, 0)[:outputs]
        return upstream @ weight, None, of_weight, of_bias


class _ReadMoves(Function):
    """Spikes or activations in, accumulators of the legal moves out, and what came in."""

    @staticmethod
    def forward(
        ctx: Any,
        values: Tensor,
        masks: Tensor | None,
        weight: Tensor,
        bias: Tensor,
        legal: Tensor,
        grid: float,
    ) -> tuple[Tensor, Tensor]:
        policy = torch.empty(len(values), *legal.shape)
        head = weight.detach().contiguous().numpy(), bias.detach().numpy()
        read = _head_inputs(values, masks, grid), *head, legal.contiguous().numpy()
        parallel_for(lambda begin, end: sum_moves(*read, begin, end, policy.numpy()), len(legal))
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(values if masks is None else None, masks, weight, legal)
        return policy, values.view_as(values)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        values, masks, weight, legal = ctx.saved_tensors
        upstream, of_values = gradients
        if upstream is None:
            return of_values, None, None, None, None, None
        num_parts, num_moves = -(-len(legal) // PART), len(weight)
        of_weight = torch.zeros(num_parts, *weight.shape)
        of_bias = torch.zeros(num_parts, num_moves)
        if of_values is None:
            of_values = torch.zeros(*upstream.shape[:2], 8, 8, weight.shape[1])
        boards = of_values.view(-1, 64, weight.shape[1])
        head = _head_inputs(values, masks), weight.detach().contiguous().numpy()
        read = *head, legal.contiguous().numpy(), upstream.contiguous().numpy(), PART
        written = of_weight.numpy(), of_bias.numpy(), boards.numpy()

        def work(begin: int, end: int) -> None:
            row = np.empty(legal.shape[1], np.float32)
            sum_moves_backward(*read, begin, end, row, *written)

        parallel_for(work, num_parts)
        return of_values, None, of_weight.sum(0), of_bias.sum(0), None, None


def _head_inputs(values: Tensor, masks: Tensor | None, grid: float = 0.0) -> HeadInputs:
    if masks is None:
        boards = values.detach().contiguous().view(-1, 64, values.shape[-1])
        return HeadInputs(np.empty((0, 0), np.uint32), boards.numpy(), np.float32(grid))
    return HeadInputs(_words(masks), np.empty((0, 0, 0), np.float32), np.float32(grid))


def _words(masks: Tensor) -> Any:
    """uint32[n, 64 * I / 32] of ``masks: int32[T, B, 64 * I / 32]``."""
    return masks.flatten(0, 1).numpy().view("u4")
