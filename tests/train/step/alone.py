"""Ranks of a training in this process: the only one, or one of two in threads."""

from threading import Barrier

import torch
from torch import Tensor


class Alone:
    """The only rank."""

    rank, world_size, device = 0, 1, torch.device("cpu")

    def all_reduce_(self, tensors: list[Tensor]) -> None:
        """There is no other rank."""


class Together:
    """One of two ranks, in threads of this process."""

    world_size, device = 2, torch.device("cpu")

    def __init__(self, rank: int, barrier: Barrier, table: dict[int, list[Tensor]]) -> None:
        self.rank, self._barrier, self._table = rank, barrier, table

    def all_reduce_(self, tensors: list[Tensor]) -> None:
        self._table[self.rank] = [tensor.detach().clone() for tensor in tensors]
        self._barrier.wait()
        for tensor, first, second in zip(tensors, *map(self._table.get, (0, 1)), strict=True):
            tensor.detach().copy_(first + second)
        self._barrier.wait()
