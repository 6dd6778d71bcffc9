"""From gradients to weights: exact sums, AdamW, its learning rate, the average that plays.

Gradients: a part's is rounded to multiples of 2^-40 and added in float64, which is exact as long as
no element of a sum exceeds 8,192: the same bits in any order, whichever rank computes a part
(decision 229, exact sums). AdamW's epsilon, 1e-8, is 11,000 such units, so what is rounded away
moves no weight.

Learning rate: a warm-up, then a cosine (decision 223). Time is counted in iterations, an update
being a part of its iteration. A schedule is pinned with the run: one that is resumed with another
number of iterations goes on from the rate it has.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from math import cos, pi
from typing import Any

import torch
from torch import Tensor, nn

from vecchess.config import OptimiserConfig
from vecchess.errors import ConfigError
from vecchess.snn.topology import MOVES
from vecchess.train.step.trained_module import LearnedNet

UNITS = 2.0**40
_ROW = 1024
"""The norm is summed by rows of so many: then its bits do not depend on the number of threads."""
VALUE_LAYERS = ("layers.value_", "value_gain")
MOVES_LAYER, MOVES_RATE = f"layers.{MOVES}.", 10
"""Weights of inputs of moves are some ten times as large as others: they learn as much faster."""
GRID = "shift"
"""Last part of the names of buffers that are exponents of a grid: an average of them means nothing.
``torch.optim.swa_utils.AveragedModel`` would take it."""


class GradientSum:
    """Gradients of one update, over the parts of its batch."""

    def __init__(self, net: nn.Module, scale: Tensor) -> None:
        """``scale``: float32[], by which the loss is multiplied (fp16)."""
        self._scale = scale
        self._parameters = [p for p in net.parameters() if p.requires_grad]
        size = sum(parameter.numel() for parameter in self._parameters)
        rows = -(-size // _ROW)
        self.units = torch.zeros(rows * _ROW, dtype=torch.float64, device=scale.device)
        """float64[parameters, and zeros up to whole rows]: the sum times 2^40. To be added up over
        ranks in place."""

    def add(self) -> None:
        """Take the gradient of a part from the network's parameters, and clear it there. That of a
        parameter which the part did not use is 0."""
        found = [torch.zeros_like(p) if p.grad is None else p.grad for p in self._parameters]
        flat = torch.cat([gradient.reshape(-1) for gradient in found])
        self.units[: len(flat)] += flat.double().mul_(UNITS / self._scale).round_()
        for parameter in self._parameters:
            parameter.grad = None

    def norm(self) -> Tensor:
        """float64[]: the norm of the gradient."""
        return self.units.square().view(-1, _ROW).sum(1).sum().sqrt() / UNITS

    def write(self) -> None:
        """Give the parameters their gradients, times the scale of the loss."""
        gradient = (self.units * (self._scale / UNITS)).float()
        first = 0
        for parameter in self._parameters:
            end = first + parameter.numel()
            parameter.grad = gradient[first:end].view_as(parameter).to(parameter.dtype)
            first = end


def make_optimiser(net: nn.Module, config: OptimiserConfig) -> torch.optim.AdamW:
    """AdamW; weights decay, biases and gains do not, the value head and the layer of the inputs of
    moves have learning rates of their own.

    ``height`` of a group is its learning rate before the schedule. On a GPU a step is fused, a
    kernel for many tensors instead of some ten for each operation (decision 277).

    Raises ConfigError where all weights are frozen.
    """
    if not any(parameter.requires_grad for parameter in net.parameters()):
        raise ConfigError("nothing of this network can learn: all of its weights are frozen")
    groups: dict[tuple[bool, bool, bool], list[nn.Parameter]] = {}
    for name, parameter in net.named_parameters():
        kind = name.startswith(MOVES_LAYER), name.startswith(VALUE_LAYERS), parameter.ndim > 1
        groups.setdefault(kind, []).append(parameter)
    settings: list[dict[str, Any]] = [
        {
            "params": parameters,
            "height": ((config.value_lr or config.lr) if is_value else config.lr)
            * (MOVES_RATE if is_of_moves else 1),
            "weight_decay": config.weight_decay if decays else 0.0,
        }
        for (is_of_moves, is_value, decays), parameters in sorted(
            groups.items(), key=lambda item: item[0]
        )
    ]
    on_gpu = all(parameter.device.type == "cuda" for parameter in net.parameters())
    return torch.optim.AdamW(settings, lr=config.lr, fused=on_gpu or None)


def optimiser_tensors(optimiser: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """The optimiser's state as ``<parameter>/<key>``, e.g. "stem.weight/exp_avg".

    By the parameter's name, not its index: other parameter groups find the state again. The
    settings are not part of it; the configuration has them.
    """
    state = optimiser.state
    return {
        f"{name}/{key}": value
        for name, parameter in model.named_parameters()
        if parameter in state
        for key, value in state[parameter].items()
    }


def load_optimiser_tensors(
    optimiser: torch.optim.Optimizer, model: nn.Module, tensors: Mapping[str, Tensor]
) -> None:
    """Give ``optimiser`` the state of ``optimiser_tensors``, copied to each parameter's device.

    Parameters without tensors start without state. Raises ConfigError where a name, shape or dtype
    is another network's.
    """
    parameters = dict(model.named_parameters())
    keeps_counts = any(group.get("fused") for group in optimiser.param_groups)
    for path, value in tensors.items():
        name, _, key = path.partition("/")
        parameter = parameters.get(name)
        if parameter is None:
            raise ConfigError(f"the checkpoint's optimiser has {name}, which the network lacks")
        is_count = key == "step"  # torch keeps it on the CPU, unless steps are fused
        shape = [] if is_count else list(parameter.shape)
        dtype = value.dtype if is_count else parameter.dtype
        if list(value.shape) != shape or value.dtype != dtype:
            raise ConfigError(
                f"the checkpoint's optimiser has {name}.{key} as {value.dtype} of shape "
                f"{list(value.shape)}, not {dtype} of shape {shape}"
            )
        device = "cpu" if is_count and not keeps_counts else parameter.device
        optimiser.state[parameter][key] = value.to(device, copy=True)


@dataclass(frozen=True)
class Schedule:
    """Shares of the learning rate, as a function of the iterations done."""

    begin: float
    """Iterations done where the cosine begins,"""
    share: float
    """its share of the learning rate there,"""
    end: float
    """and the iterations at which it has fallen to ``lr_final``: those of the run."""
    warm_from: float
    """Iterations done where the optimiser was new."""
    warm_until: float
    """From here on there is no warm-up."""

    @classmethod
    def of_run(cls, config: OptimiserConfig, iterations: int) -> "Schedule":
        """The schedule of a new run."""
        return cls(0.0, 1.0, iterations, 0.0, config.warmup * iterations)

    def warmed_up_again(self, config: OptimiserConfig, done: float) -> "Schedule":
        """This schedule with a warm-up from ``done`` on, for a new optimiser."""
        return replace(self, warm_from=done, warm_until=done + config.warmup * self.end)

    def ended_at(self, config: OptimiserConfig, iterations: int, done: float) -> "Schedule":
        """The schedule of a run that is to have ``iterations``: unchanged where it has, else a
        cosine from the rate at ``done``, or from the whole rate where the run had ended."""
        if iterations == self.end:
            return self
        share = 1.0 if done >= self.end else self._cosine(config, done)
        return replace(self, begin=done, share=share, end=iterations)

    def rate(self, config: OptimiserConfig, done: float) -> float:
        """Share of the learning rate for the update after which ``done`` iterations are done."""
        warm = 1.0
        if done < self.warm_until:
            warm = (done - self.warm_from) / (self.warm_until - self.warm_from)
        return warm * self._cosine(config, done)

    def _cosine(self, config: OptimiserConfig, done: float) -> float:
        if config.lr_schedule == "constant":
            return 1.0
        part = (done - self.begin) / max(self.end - self.begin, 1e-9)
        fall = (1 + cos(pi * min(max(part, 0.0), 1.0))) / 2
        return config.lr_final + (self.share - config.lr_final) * fall


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
        first weights. The grid of ``net`` fits the average too: as it never becomes finer, it holds
        all weights that are averaged, and a mean is not larger than the largest of them.
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
