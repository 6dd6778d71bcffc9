"""The sum of the parts' gradients: the same bits in any order, whichever rank computes a part.

A part's gradient is rounded to multiples of 2^-40 and added in float64, which is exact as long as
no element of a sum exceeds 8,192. AdamW's epsilon, 1e-8, is 11,000 such units, so what is rounded
away moves no weight.

Decision 229.
"""

import torch
from torch import Tensor, nn

GRID = 2.0**40
_ROW = 1024
"""The norm is summed by rows of so many: then its bits do not depend on the number of threads."""


class GradientSum:
    """Gradients of one update, over the parts of its batch."""

    def __init__(self, net: nn.Module, scale: Tensor) -> None:
        """``scale``: float32[], by which the loss is multiplied (fp16)."""
        self._net, self._scale = net, scale
        self._parameters: list[nn.Parameter] = []
        self.units = torch.zeros(0, dtype=torch.float64, device=scale.device)
        """float64[parameters, and zeros up to whole rows]: the sum times 2^40. To be added up over
        ranks in place."""

    def add(self) -> None:
        """Take the gradient of a part from the network's parameters, and clear it there."""
        if not self._parameters:
            self._parameters = [p for p in self._net.parameters() if p.grad is not None]
            size = sum(parameter.numel() for parameter in self._parameters)
            self.units = self.units.new_zeros(-(-size // _ROW) * _ROW)
        flat = torch.cat([parameter.grad.reshape(-1) for parameter in self._parameters])  # type: ignore[union-attr]
        self.units[: len(flat)] += flat.double().mul_(GRID / self._scale).round_()
        for parameter in self._parameters:
            parameter.grad = None

    def norm(self) -> Tensor:
        """float64[]: the norm of the gradient."""
        return self.units.square().view(-1, _ROW).sum(1).sum().sqrt() / GRID

    def write(self) -> None:
        """Give the parameters their gradients, times the scale of the loss."""
        gradient = (self.units * (self._scale / GRID)).float()
        first = 0
        for parameter in self._parameters:
            end = first + parameter.numel()
            parameter.grad = gradient[first:end].view_as(parameter)
            first = end
