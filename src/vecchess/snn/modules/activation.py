"""Clipped ReLUs on the processor by numba kernels: the bits of ``neuron.clipped_relu``."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from vecchess.snn.kernels.activation_cpu import activate_back, activate_boards
from vecchess.snn.kernels.parallel_for import parallel_for


def activate(currents: Tensor) -> tuple[Tensor, Tensor]:
    """``clipped_relu`` of currents [T, B, ...], float32; and float32[], the share that is not 0."""
    return _Activate.apply(currents)  # type: ignore[no-untyped-call, no-any-return]


class _Activate(Function):
    @staticmethod
    def forward(ctx: Any, currents: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(currents)
        activations = torch.empty_like(currents, memory_format=torch.contiguous_format)
        counts = torch.empty(len(currents) * currents.shape[1], dtype=torch.int64)
        read, out, counted = _rows(currents), _rows(activations), counts.numpy()
        parallel_for(lambda *part: activate_boards(read, *part, out, counted), len(out))
        share = counts.sum() / activations.numel()
        ctx.mark_non_differentiable(share)
        return activations, share

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (currents,) = ctx.saved_tensors
        gradient = torch.empty_like(currents, memory_format=torch.contiguous_format)
        read, upstream, out = _rows(currents), _rows(gradients[0]), _rows(gradient)
        parallel_for(lambda *part: activate_back(read, upstream, *part, out), len(out))
        return gradient


def _rows(boards: Tensor) -> Any:
    """float32[T * B, N] of boards [T, B, ...]: the same memory if it is contiguous."""
    return boards.detach().contiguous().flatten(0, 1).flatten(1).numpy()
