"""AdamW over the network's parameters in three groups, and the learning rate over a run."""

from math import cos, pi
from typing import Any

import torch
from torch import nn

from vecchess.config import OptimiserConfig
from vecchess.snn.modules.network import SpikingNet

VALUE_LAYERS = ("layers.value_", "value_gain")


def make_optimiser(net: SpikingNet, config: OptimiserConfig) -> torch.optim.AdamW:
    """AdamW; weights decay, biases and gains do not, the value head has a rate of its own.

    ``height`` of a group is its learning rate before ``rate_at``.
    """
    groups: dict[tuple[bool, bool], list[nn.Parameter]] = {}
    for name, parameter in net.named_parameters():
        is_value = name.startswith(VALUE_LAYERS)
        groups.setdefault((is_value, parameter.ndim > 1), []).append(parameter)
    settings: list[dict[str, Any]] = [
        {
            "params": parameters,
            "height": (config.value_lr or config.lr) if is_value else config.lr,
            "weight_decay": config.weight_decay if decays else 0.0,
        }
        for (is_value, decays), parameters in sorted(groups.items(), key=lambda item: item[0])
    ]
    return torch.optim.AdamW(settings, lr=config.lr)


def rate_at(config: OptimiserConfig, samples: int, share_done: float) -> float:
    """Share of the learning rate's height after ``samples``, ``share_done`` (0 to 1) of the run."""
    warm = min(1.0, (samples + 1) / max(config.warmup_samples, 1))
    if config.lr_schedule == "constant":
        return warm
    fall = (1 + cos(pi * min(share_done, 1.0))) / 2
    return warm * (config.lr_final + (1 - config.lr_final) * fall)
