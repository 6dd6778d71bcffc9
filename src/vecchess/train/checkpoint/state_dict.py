"""What of a training goes into a checkpoint: values that torch reads back without unpickling code.

Optimiser states go by the name of their parameter, not by its place in a list: another grouping of
the parameters, or another number of ranks, finds them again.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from vecchess.errors import DataError

ARRAY_KEY = "ndarray:"
"""An array is stored as a dict of this one key and a tensor."""
_DEEPEST = 64
"""Dicts and lists within each other."""


def packed(value: Any, where: str = "state") -> Any:
    """``value`` as plain dicts, lists, tensors on the CPU, numbers and strings.

    Arrays (bool, integers, floats) become tensors with a mark. Raises TypeError that says where
    something is that could only be pickled.
    """
    if isinstance(value, torch.Tensor):
        return _own_tensor(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {ARRAY_KEY: torch.from_numpy(np.array(value, value.dtype.newbyteorder("=")))}
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        _refuse_keys(value, where)
        return {key: packed(inner, f"{where}[{key!r}]") for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [packed(inner, f"{where}[{i}]") for i, inner in enumerate(value)]
    raise TypeError(f"{where} is a {type(value).__name__}: a checkpoint holds plain values only")


def unpacked(value: Any) -> Any:
    """What ``packed`` was given; tuples have become lists, numpy's numbers Python's.

    Raises ValueError for what it cannot have made: a file can hold one list many times within
    others, or itself, and a tensor of more elements than it has memory.
    """
    return _unpacked(value, set(), 0)


def _unpacked(value: Any, seen: set[int], depth: int) -> Any:
    if isinstance(value, torch.Tensor):
        return _whole_tensor(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if not isinstance(value, dict | list) or id(value) in seen or depth > _DEEPEST:
        raise ValueError("its state is not made of plain values")
    seen.add(id(value))
    if isinstance(value, list):
        return [_unpacked(inner, seen, depth + 1) for inner in value]
    if value.keys() == {ARRAY_KEY}:
        return _whole_tensor(value[ARRAY_KEY]).numpy()
    if not all(isinstance(key, str | int) for key in value):
        raise ValueError("its state has a key that is neither a word nor a number")
    return {key: _unpacked(inner, seen, depth + 1) for key, inner in value.items()}


def _whole_tensor(value: Any) -> torch.Tensor:
    """``value`` where it is a tensor with memory of its own for every element."""
    if type(value) is not torch.Tensor or value.layout != torch.strided or value.is_meta:
        raise ValueError("its state holds a tensor of an unknown kind")
    if not value.is_contiguous() and value.numel() * value.element_size() > (
        value.untyped_storage().nbytes()
    ):
        raise ValueError("its state holds a tensor that is larger than its memory")
    return value


def optimizer_state(optimizer: torch.optim.Optimizer, model: nn.Module) -> dict[str, Any]:
    """The optimiser's memory by parameter name; its settings are the configuration's."""
    memory = optimizer.state
    named = model.named_parameters()
    return {name: dict(memory[parameter]) for name, parameter in named if parameter in memory}


def load_optimizer_state(
    optimizer: torch.optim.Optimizer, model: nn.Module, state: Mapping[str, Mapping[str, Any]]
) -> None:
    """Give ``optimizer`` what ``optimizer_state`` said, as copies on each parameter's device.

    Parameters that ``state`` does not name start without memory, and memory of parameters that
    the optimiser does not move is left out. Raises DataError where a name or a shape is another
    network's.
    """
    parameters = dict(model.named_parameters())
    moved = {parameter for group in optimizer.param_groups for parameter in group["params"]}
    for name, values in state.items():
        parameter = parameters.get(name)
        if parameter is None:
            raise DataError(f"the checkpoint's optimiser knows {name}, which the network lacks")
        if parameter in moved:
            optimizer.state[parameter] = {
                key: _for_parameter(value, parameter, f"{name}.{key}")
                for key, value in values.items()
            }


def _own_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """On the CPU, without the rest of a larger memory that it is a view of."""
    plain = tensor.detach().cpu()
    is_view = plain.untyped_storage().nbytes() != plain.numel() * plain.element_size()
    return plain.clone() if is_view else plain


def _refuse_keys(value: Mapping[Any, Any], where: str) -> None:
    for key in value:
        if not isinstance(key, str | int):
            raise TypeError(f"{where} has a key of type {type(key).__name__}")
    if value.keys() == {ARRAY_KEY}:
        raise TypeError(f'{where} uses the key "{ARRAY_KEY}", which marks arrays')


def _for_parameter(value: Any, parameter: nn.Parameter, where: str) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    if value.dim() == 0:  # a step count: torch keeps it on the CPU unless it captures graphs
        return value.clone()
    if value.shape != parameter.shape:
        shapes = f"{list(value.shape)}, not {list(parameter.shape)}"
        raise DataError(f"the checkpoint's optimiser has {where} of shape {shapes}")
    return value.to(parameter.device, copy=True)
