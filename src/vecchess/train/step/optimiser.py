"""AdamW over the network's parameters in groups, and its state by name."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from vecchess.config import OptimiserConfig
from vecchess.errors import ConfigError

VALUE_LAYERS = ("layers.value_", "value_gain")


def make_optimiser(net: nn.Module, config: OptimiserConfig) -> torch.optim.AdamW:
    """AdamW; weights decay, biases and gains do not, the value head has its own learning rate.

    ``height`` of a group is its learning rate before the schedule. On a GPU a step is fused, a
    kernel for many tensors instead of some ten for each operation (decision 277).
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
        if list(value.shape) != shape or value.dtype != parameter.dtype:
            raise ConfigError(
                f"the checkpoint's optimiser has {name}.{key} as {value.dtype} of shape "
                f"{list(value.shape)}, not {parameter.dtype} of shape {shape}"
            )
        device = "cpu" if is_count and not keeps_counts else parameter.device
        optimiser.state[parameter][key] = value.to(device, copy=True)
