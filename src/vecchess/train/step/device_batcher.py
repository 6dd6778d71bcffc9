"""Copies of batches to the device, and of numbers back, that wait for the device once a step.

Reading a number from a GPU, or copying one there from pageable memory, waits until the GPU has
done all work queued before, and then finds it idle. So a step reads all its numbers in one copy
(decision 95).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

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


def copy_batch(config: TrainConfig, ranks: AllReducer, samples: Samples[Tensor]) -> Samples[Tensor]:
    """This rank's rows on its device, without move columns that no row uses; actions as int64.

    All ranks call it together. See ``normalise`` for the rest.
    """
    width = min(int(samples.num_legal.max()), MAX_MOVES)
    batch = samples.map(lambda column: column.to(ranks.device, non_blocking=True))
    legal, policy = batch.legal[:, :width].long(), batch.policy[:, :width]
    return normalise(config, ranks, batch._replace(legal=legal, policy=policy))


def normalise(config: TrainConfig, ranks: AllReducer, batch: Samples[Tensor]) -> Samples[Tensor]:
    """``batch`` with weights of its policies, and advantages of mean 0 and standard deviation 1.

    ``has_policy`` becomes float32: 0, or the size of the whole batch over its rows with a policy,
    so that sums over rows become means over these (decision 223). Advantages are those of rows with
    a policy; for reinforce the result less the recorded value.
    """
    has_policy, advantage = batch.has_policy.double(), batch.advantage.double()
    if config.objective == "reinforce":
        advantage = batch.outcome.double() - (batch.value[:, 0] - batch.value[:, 2]).double()
    advantage = advantage * has_policy
    sums = torch.stack([has_policy.sum(), advantage.sum(), advantage.square().sum()])
    ranks.all_reduce_([sums])
    count = sums[0].clamp(min=1)
    mean, square = (sums[1:] / count).unbind()
    deviation = (square - mean.square()).clamp(min=1e-8).sqrt()
    return batch._replace(
        advantage=((advantage - mean) / deviation).float(),
        has_policy=(has_policy * (config.batch_size / count)).float(),
    )


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
