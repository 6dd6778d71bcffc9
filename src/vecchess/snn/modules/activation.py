"""Clipped ReLUs on the processor by numba kernels: the bits of ``neuron.clipped_relu``."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from vecchess.snn.kernels.activation_cpu import activate_back, activate_boards
from vecchess.snn.kernels.parallel_for import parallel_for


def activate(currents: Tensor) -> Tensor:
    """``clipped_relu`` of currents [T, B, ...], float32."""
    return _Activate.apply(currents)  # type: ignore[no-untyped-call, no-any-return]


class _Activate(Function):
    @staticmethod
    def forward(ctx: Any, currents: Tensor) -> Tensor:
        ctx.save_for_backward(currents)
        activations = torch.empty_like(currents, memory_format=torch.contiguous_format)
        return _written(activate_boards, activations, currents)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (currents,) = ctx.saved_tensors
        gradient = torch.empty_like(currents, memory_format=torch.contiguous_format)
        return _written(activate_back, gradient, currents, gradients[0])


def _written(compute: Any, target: Tensor, *read: Tensor) -> Tensor:
    """``target`` as ``compute`` writes it, a share of the boards a thread."""
    rows = [board.detach().contiguous().flatten(0, 1).flatten(1).numpy() for board in read]
    out = target.flatten(0, 1).flatten(1).numpy()
    parallel_for(lambda begin, end: compute(*rows, begin, end, out), len(out))
    return target
