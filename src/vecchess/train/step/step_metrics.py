"""Numbers on their way between people and the device, without making it wait.

Whatever asks a GPU for a number, or copies one there from ordinary memory, waits until the GPU has
done everything it was told before, and then finds it idle. So a step asks once, for all it tells.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor


class AllReducer(Protocol):
    """What a learner needs of ``ranks.Ranks``."""

    rank: int
    world_size: int
    device: torch.device

    def all_reduce_(self, tensors: list[Tensor]) -> None:
        """Add up over ranks, in place."""


class StepMetrics(NamedTuple):
    """What one update has to tell."""

    means: dict[str, float]
    """Losses and the like, a sample."""
    notes: list[float]
    """The notes of all ranks, added up."""


def on_device(numbers: Sequence[float], dtype: torch.dtype, device: torch.device) -> Tensor:
    """``numbers`` as a tensor there."""
    here = torch.tensor(numbers, dtype=dtype)
    if device.type == "cuda":
        here = here.pin_memory()
    return here.to(device, non_blocking=True)


def in_float64(sums: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Every tensor flat, in float64."""
    return {name: value.double().reshape(-1) for name, value in sums.items()}


def as_numbers(totals: Mapping[str, Tensor]) -> dict[str, list[float]]:
    """Flat tensors of one dtype as lists, in one copy: the moment to wait for the device."""
    numbers = torch.cat(list(totals.values())).tolist()
    found, first = {}, 0
    for name, total in totals.items():
        found[name] = numbers[first : first + len(total)]
        first += len(total)
    return found
