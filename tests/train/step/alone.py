"""Ranks of a training in this process: the only one, or one of several in threads."""

from threading import Barrier

import torch
from torch import Tensor

from vecchess.train.distributed.ranks import Ranks

ALONE = Ranks.alone(torch.device("cpu"))


class Together:
    """One of several ranks, in threads of this process; ``barrier`` is for so many."""

    device = torch.device("cpu")

    def __init__(self, rank: int, barrier: Barrier, table: dict[int, list[Tensor]]) -> None:
        self.rank, self._barrier, self._table = rank, barrier, table
        self.world_size = barrier.parties

    def all_reduce_(self, tensors: list[Tensor]) -> None:
        self._table[self.rank] = [tensor.detach().clone() for tensor in tensors]
        self._barrier.wait()
        parts = [self._table[rank] for rank in range(self.world_size)]
        for tensor, *values in zip(tensors, *parts, strict=True):
            assert {value.shape for value in values} == {tensor.shape}
            tensor.detach().copy_(sum(values))
        self._barrier.wait()
