"""Sums whose bits do not depend on the order of their terms: the terms are rounded to a grid."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

GRID = 2.0**30
"""Terms are multiples of 1 / GRID: float64 adds them exactly up to 2^53 / GRID, 8 million."""


def on_grid(terms: Tensor) -> Tensor:
    """``terms`` rounded to multiples of 1 / GRID, float64; what is not finite stays so."""
    return terms.double().mul(GRID).round().div(GRID)


def sum_picked(row: Tensor, places: Tensor) -> Tensor:
    """float32[...]: sums of the n numbers of ``row``, float32[K], at ``places``, int64[..., n].

    The gradient of the row is a sum over all places that no thread orders.
    """
    return _SumPicked.apply(row, places)  # type: ignore[no-any-return, no-untyped-call]


class _SumPicked(Function):
    @staticmethod
    def forward(ctx: Any, row: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        ctx.size = len(row)
        return row[places].sum(-1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (places,) = ctx.saved_tensors
        terms = on_grid(gradients[0])[..., None].expand(places.shape)
        sums = torch.zeros(ctx.size, dtype=torch.float64, device=terms.device)
        sums.index_add_(0, places.reshape(-1), terms.reshape(-1))
        return sums.float(), None
