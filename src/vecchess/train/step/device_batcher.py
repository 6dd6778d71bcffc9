"""Copies of batches to the device, and of numbers back, that wait for the device once a step.

Reading a number from a GPU, or copying one there from pageable memory, waits until the GPU has
done all work queued before, and then finds it idle. So a step reads all its numbers in one copy
(decision 95).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from vecchess.config import TrainConfig
from vecchess.shapes import MAX_MOVES
from vecchess.train.data.samples import Samples


class AllReducer(Protocol):
    """The part of ``ranks.Ranks`` that a step needs."""

    rank: int
    world_size: int
    device: torch.device

    def all_reduce_(self, tensors: list[Tensor]) -> None:
        """Replace each tensor by its sum over ranks."""


class DeviceBatch(NamedTuple):
    """A batch on the device: the columns of ``samples.Samples``, indices as int64."""

    planes: Tensor
    legal: Tensor
    num_legal: Tensor
    played: Tensor
    policy: Tensor
    has_policy: Tensor
    outcome: Tensor
    value: Tensor
    has_value: Tensor
    prob: Tensor
    steps: Tensor
    advantage: Tensor
    returned: Tensor

    def rows(self, part: slice) -> "DeviceBatch":
        """The rows of ``part``."""
        return DeviceBatch(*(column[part] for column in self))


class DeviceBatcher:
    """Copies this rank's rows of a batch to its device."""

    def __init__(self, config: TrainConfig, ranks: AllReducer) -> None:
        self._config, self._ranks = config, ranks

    def copy(self, samples: Samples[Tensor]) -> DeviceBatch:
        """``samples`` on the device, without move columns that no row uses.

        All ranks call it together. On-policy objectives get normalised advantages.
        """
        device, width = self._ranks.device, min(int(samples.num_legal.max()), MAX_MOVES)
        columns: dict[str, Any] = {
            name: getattr(samples, name).to(device, non_blocking=True)
            for name in DeviceBatch._fields
        }
        columns["legal"] = columns["legal"][:, :width].long()
        columns["policy"] = columns["policy"][:, :width]
        batch = DeviceBatch(**columns)
        return self.normalise(batch) if self._config.is_on_policy else batch

    def normalise(self, batch: DeviceBatch) -> DeviceBatch:
        """``batch`` with advantages of mean 0 and standard deviation 1 over the whole batch.

        For reinforce the advantage is the result less the recorded value first.
        """
        advantage = batch.advantage.double()
        if self._config.objective == "reinforce":
            advantage = batch.outcome.double() - (batch.value[:, 0] - batch.value[:, 2]).double()
        sums = torch.stack([advantage.sum(), advantage.square().sum()])
        self._ranks.all_reduce_([sums])
        mean, square = (sums / self._config.batch_size).unbind()
        deviation = (square - mean.square()).clamp(min=1e-8).sqrt()
        return batch._replace(advantage=((advantage - mean) / deviation).float())


class StepMetrics(NamedTuple):
    """The numbers of one update."""

    means: dict[str, float]
    """Losses and other figures, means over the batch."""
    rank_sums: list[float]
    """The ranks' own numbers, summed over ranks."""


def copy_numbers(numbers: Sequence[float], dtype: torch.dtype, device: torch.device) -> Tensor:
    """``numbers`` as a tensor on ``device``, without waiting for it."""
    tensor = torch.tensor(numbers, dtype=dtype)
    if device.type == "cuda":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def flat_float64(sums: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Every tensor flat, in float64."""
    return {name: value.double().reshape(-1) for name, value in sums.items()}


def read_numbers(totals: Mapping[str, Tensor]) -> dict[str, list[float]]:
    """Flat tensors of one dtype as lists, in one copy; waits for the device."""
    numbers = iter(torch.cat(list(totals.values())).tolist())
    return {name: [next(numbers) for _ in range(len(total))] for name, total in totals.items()}
