"""The average of the weights over the updates: what plays, is evaluated and published."""

from copy import deepcopy

import torch

from vecchess.train.step.trained_module import LearnedNet

GRID = "shift"
"""Last part of the names of buffers that are exponents of a grid: an average of them means nothing.
``torch.optim.swa_utils.AveragedModel`` would take it."""


class WeightAverage:
    """An exponential moving average of a network's weights, gains and running statistics."""

    def __init__(self, net: LearnedNet, decay: float) -> None:
        """Begins with the weights of ``net``."""
        self.decay = decay
        self.net = deepcopy(net).requires_grad_(requires_grad=False)

    @torch.no_grad()
    def update(self, net: LearnedNet, num_updates: int) -> None:
        """Move towards ``net``, which has had ``num_updates`` updates before this one.

        The horizon is at most a ninth of these, so that the average of a short run is not of its
        first weights.
        """
        decay = min(self.decay, (1 + num_updates) / (10 + num_updates))
        mine, newest = self.net.state_dict(), net.state_dict()
        averaged = [
            name
            for name, tensor in mine.items()
            if tensor.is_floating_point() and not name.endswith(GRID)
        ]
        for name in mine.keys() - averaged:
            mine[name].copy_(newest[name])
        weights = [newest[name] for name in averaged]
        torch._foreach_lerp_([mine[name] for name in averaged], weights, 1 - decay)
        self.net.settle_grid()
