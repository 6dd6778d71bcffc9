"""The only rank of a training, for tests that need no others."""

import torch
from torch import Tensor


class Alone:
    """The only rank."""

    rank, world_size, device = 0, 1, torch.device("cpu")

    def all_reduce_(self, tensors: list[Tensor]) -> None:
        """There is no other rank."""
