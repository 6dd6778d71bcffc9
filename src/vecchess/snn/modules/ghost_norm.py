"""Ghost batch norm: statistics of small groups of boards instead of the whole batch.

Hoffer et al. 2017, "Train longer, generalize better", algorithm 1. A group is ``group`` consecutive
boards with all their time steps and squares, so the result of a batch does not depend on how it is
split over ranks and micro-batches, as long as the parts are multiples of the group. Running
statistics are sums until ``absorb`` is called, once per optimiser step, for the same reason; what a
group adds is rounded to a grid, so that the sums have the same bits in any order.

Decisions 78, 96 and 279.
"""

import torch
from torch import Tensor, nn

from vecchess.snn.modules.exact_sums import on_grid
from vecchess.snn.modules.fused_layer import EPSILON, GROUP, normalise

MOMENTUM = 0.1
"""Weight of the newest statistics."""


class GhostNorm(nn.Module):
    """Currents float32[T, B, 8, 8, C] -> the same shape, per channel mean 0 and variance 1, then
    ``weight`` and ``bias``; by the running statistics in evaluation."""

    def __init__(self, num_channels: int, gain: float, bias: float, group: int = GROUP) -> None:
        """``gain`` and ``bias``: first values of weight and bias of every channel."""
        super().__init__()
        self.group = group
        self.weight = nn.Parameter(torch.full((num_channels,), gain))
        self.bias = nn.Parameter(torch.full((num_channels,), bias))
        self.running_mean: Tensor
        self.running_var: Tensor
        self._seen: Tensor
        self.register_buffer("running_mean", torch.zeros(num_channels))
        self.register_buffer("running_var", torch.ones(num_channels))
        self._noted: list[tuple[Tensor, Tensor, int]] = []
        """Mean and variance [groups, C] and boards of forwards that are not in ``_seen`` yet."""
        # sums over boards of their group's mean and variance, and at the end the number of boards
        self.register_buffer("_seen", torch.zeros(2 * num_channels + 1).double(), persistent=False)

    def forward(self, currents: Tensor, compiled: bool, shortcut: Tensor | None = None) -> Tensor:
        """``compiled``: by numba kernels on the processor; equal but for rounding.

        ``shortcut``: shaped as ``currents``, added to the result.
        """
        if self.training and compiled and currents.device.type == "cpu":
            fused = normalise(currents, shortcut, self.weight, self.bias, self.group)
            self.note(fused.mean, fused.variance, currents.shape[1])
            return fused.currents
        normed = self._normalise(currents)
        return normed if shortcut is None else shortcut + normed

    def _normalise(self, currents: Tensor) -> Tensor:
        """``forward`` in torch operators, without the shortcut."""
        if not self.training:
            gain, bias = self.as_affine()
            return currents * gain + bias
        currents = currents.float()
        whole = currents.shape[1] // self.group * self.group
        parts = currents.split([whole, currents.shape[1] - whole], dim=1)
        normed = [self._normalise_equal(part) for part in parts if part.shape[1]]
        return normed[0] if len(normed) == 1 else torch.cat(normed, dim=1)

    def _normalise_equal(self, currents: Tensor) -> Tensor:
        """Groups of the same size: one operator behind the statistics, which keeps nothing but
        ``currents`` for the backward."""
        size = min(self.group, currents.shape[1])
        grouped = currents.unflatten(1, (-1, size)).flatten(2, -2)
        variance, mean = torch.var_mean(grouped, dim=(0, 2), correction=0)
        self.note(mean, variance, currents.shape[1])
        gain = self._inverse(variance) * self.weight
        bias = self.bias - mean * gain
        return torch.addcmul(bias[:, None], grouped, gain[:, None]).view(currents.shape)

    def _inverse(self, variance: Tensor) -> Tensor:
        return torch.rsqrt(variance + EPSILON)

    def note(self, mean: Tensor, variance: Tensor, num_boards: int) -> None:
        """Keep statistics [groups, C] of ``num_boards`` boards for the sums."""
        self._noted.append((mean.detach(), variance.detach(), num_boards))

    @torch.no_grad()
    def absorb(self, momentum: float = MOMENTUM) -> None:
        """Move the running statistics to the mean over all boards seen since the last call.

        momentum: weight of the new statistics; 1 discards the old ones. It counts as 0 where no
        board was seen, computed on the device, so that the host does not wait for it.
        """
        sums = self.pending
        num_boards = sums[-1]
        mean, variance = (sums[:-1] / num_boards.clamp(min=1)).float().chunk(2)
        weight = ((num_boards > 0) * momentum).float()
        self.running_mean.lerp_(mean, weight)
        self.running_var.lerp_(variance, weight)
        self.forget()

    def forget(self) -> None:
        """Discard the statistics since ``absorb``."""
        self._noted.clear()
        self._seen.zero_()

    @torch.no_grad()
    def as_affine(self) -> tuple[Tensor, Tensor]:
        """Gain [C] and bias [C] equal to the norm in evaluation."""
        gain = self.weight * self._inverse(self.running_var)
        return gain, self.bias - self.running_mean * gain

    @property
    @torch.no_grad()
    def pending(self) -> Tensor:
        """float64[2 C + 1]: sums for ``absorb``, to be added up over ranks in place."""
        if self._noted:
            means, variances, counts = zip(*self._noted, strict=True)
            sizes = torch.cat([_group_sizes(count, self.group, self._seen) for count in counts])
            figures = torch.cat([torch.cat(means), torch.cat(variances)], dim=1).double()
            terms = torch.cat([figures, torch.ones_like(figures[:, :1])], dim=1)
            self._seen += on_grid(sizes[:, None] * terms).sum(0)
            self._noted.clear()
        return self._seen


def _group_sizes(num_boards: int, group: int, like: Tensor) -> Tensor:
    """float64[groups]: boards in each group of ``num_boards`` boards."""
    firsts = torch.arange(0, num_boards, group, device=like.device)
    return (num_boards - firsts).clamp(max=group).double()
