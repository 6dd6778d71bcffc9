"""Nests of tensors: every structure, the masked copy, and what is refused."""

from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from vecchess.networks.state_nest import leaves, map_nest, reset_slots


class Pair(NamedTuple):
    first: Tensor
    second: Tensor


def _nest(number: float) -> dict[str, object]:
    def tensor(*shape: int) -> Tensor:
        return torch.full(shape, number)

    return {"a": [tensor(3), None], "b": Pair(tensor(3, 2), tensor(3, 2, 2)), "c": (tensor(3, 1),)}


def test_new_slots_get_the_initial_rows() -> None:
    mixed = reset_slots(_nest(1.0), _nest(0.0), torch.tensor([True, False, True]))
    assert isinstance(mixed["b"], Pair)
    assert mixed["a"][1] is None
    for tensor in leaves(mixed):
        assert tensor.flatten(1).mean(1).tolist() == [0, 1, 0] if tensor.dim() > 1 else [0, 1, 0]
    assert [len(tensor) for tensor in leaves(mixed)] == [3, 3, 3, 3]


@pytest.mark.parametrize(
    "other",
    [[], {"a": None}, None, {"a": torch.zeros(3), "b": 1, "c": 2}, torch.zeros(3)],
)
def test_another_structure_is_refused(other: object) -> None:
    with pytest.raises(ValueError, match="another structure"):
        map_nest(torch.add, _nest(1.0), other)


def test_other_leaves_are_refused() -> None:
    with pytest.raises(ValueError, match="not float"):
        map_nest(torch.neg, [torch.zeros(1), 2.0])
