"""A state as modules keep it: tensors in tuples, lists and dictionaries, the slot first in each."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

Nest = Any
"""A tensor[S, ...], None, or a tuple, named tuple, list or dictionary of nests."""


def map_nest(function: Callable[..., Any], nest: Nest, *others: Nest) -> Nest:
    """``function`` of the tensors at each place of ``nest`` and of ``others``, which are alike.

    Raises ValueError for a leaf that is no tensor, and where a nest has another shape.
    """
    if nest is None:
        _require_alike(all(other is None for other in others))
        return None
    if isinstance(nest, Tensor):
        _require_alike(all(isinstance(other, Tensor) for other in others))
        return function(nest, *others)
    if isinstance(nest, dict):
        _require_alike(all(isinstance(o, dict) and nest.keys() == o.keys() for o in others))
        return {key: map_nest(function, nest[key], *(o[key] for o in others)) for key in nest}
    if isinstance(nest, tuple | list):
        _require_alike(all(isinstance(o, tuple | list) and len(o) == len(nest) for o in others))
        parts = [map_nest(function, *column) for column in zip(nest, *others, strict=True)]
        return type(nest)(*parts) if hasattr(nest, "_fields") else type(nest)(parts)
    raise ValueError(
        f"a state holds tensors in tuples, lists and dictionaries, not {type(nest).__name__}"
    )


def leaves(nest: Nest) -> Iterator[Tensor]:
    """The tensors of ``nest``, in order."""
    found: list[Tensor] = []
    map_nest(found.append, nest)
    return iter(found)


def reset_slots(state: Nest, initial: Nest, is_new: Tensor) -> Nest:
    """``state`` with the rows of ``initial`` where ``is_new: bool[S]``: a masked copy."""

    def chosen(now: Tensor, first: Tensor) -> Tensor:
        return torch.where(is_new.view(-1, *[1] * (now.dim() - 1)), first, now)

    return map_nest(chosen, state, initial)


def _require_alike(are_alike: bool) -> None:
    if not are_alike:
        raise ValueError("a state has another structure than the one before it")
