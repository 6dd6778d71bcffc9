"""Copies of batches to the device, and of numbers back, that wait for the device once a step.

Reading a number from a GPU, or copying one there from pageable memory, waits until the GPU has
done all work queued before, and then finds it idle. So a step reads all its numbers in one copy
(decision 95).
"""

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import NamedTuple

import torch
from torch import Tensor

from vecchess.config import TrainConfig
from vecchess.shapes import MAX_MOVES
from vecchess.snn.modules.exact_sums import on_grid
from vecchess.train.data.batch_loader import blank_rows
from vecchess.train.data.samples import Samples
from vecchess.train.distributed.ranks import Ranks


def copy_batch(
    config: TrainConfig, ranks: Ranks, samples: Samples[Tensor], rows: int
) -> list[Samples[Tensor]]:
    """This rank's rows on its device, in parts of ``rows``, each without move columns that none of
    its rows uses; actions as int64.

    All ranks call it together. See ``normalise`` for the rest.
    """
    widths = [min(int(part.num_legal.max()), MAX_MOVES) for part in split_rows(samples, rows)]
    batch = samples.map(lambda column: column.to(ranks.device, non_blocking=True))
    parts = split_rows(normalise(config, ranks, batch), rows)
    return [_with_moves(part, width) for part, width in zip(parts, widths, strict=True)]


def made_up_row(num_planes: int, device: torch.device) -> Samples[Tensor]:
    """One row as ``copy_batch`` makes them: an empty board with one legal move."""
    row = blank_rows(1, num_planes)
    row.num_legal.fill_(1)
    row.steps.fill_(1)
    weighed = row._replace(has_policy=row.has_policy.float())
    return _with_moves(weighed.map(lambda column: column.to(device)), 1)


def _with_moves(part: Samples[Tensor], width: int) -> Samples[Tensor]:
    return part._replace(legal=part.legal[:, :width].long(), policy=part.policy[:, :width])


def split_rows(batch: Samples[Tensor], rows: int) -> list[Samples[Tensor]]:
    """``batch`` in parts of ``rows``; the last one may have fewer; no part without rows."""
    if not len(batch.planes):
        return []
    columns = (column.split(rows) for column in batch)
    return [Samples(*part) for part in zip(*columns, strict=True)]


def normalise(config: TrainConfig, ranks: Ranks, batch: Samples[Tensor]) -> Samples[Tensor]:
    """``batch`` with weights of its policies, and advantages of mean 0 and standard deviation 1.

    ``has_policy`` becomes float32: 0, or the size of the whole batch over its rows with a policy,
    so that sums over rows become means over these (decision 223). Advantages are those of rows with
    a policy. The bits do not depend on which rank has which rows.
    """
    has_policy = batch.has_policy.double()
    advantage = on_grid(batch.advantage.double() * has_policy)
    terms = torch.stack([has_policy, advantage, on_grid(advantage.square())])
    sums = terms.sum(1)
    ranks.all_reduce_([sums])
    count = sums[0].clamp(min=1)
    mean, square = (sums[1:] / count).unbind()
    deviation = (square - mean.square()).clamp(min=1e-8).sqrt()
    return batch._replace(
        advantage=((advantage - mean) / deviation).float(),
        has_policy=(has_policy * (config.batch_size / count)).float(),
    )


class Stopwatch:
    """Measures work on a device, without waiting for it."""

    def __init__(self, device: torch.device) -> None:
        """Not started."""
        on_gpu = device.type == "cuda"
        self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2 * on_gpu)]
        self._times = [0.0, 0.0]

    def start(self) -> None:
        """Work begins."""
        self._mark(0)

    def stop(self) -> None:
        """All of it is queued."""
        self._mark(1)

    @property
    def seconds(self) -> float:
        """Time of the work; on a GPU to be read once something queued after it was read."""
        if self._events:
            return float(self._events[0].elapsed_time(self._events[1])) / 1e3
        return self._times[1] - self._times[0]

    def _mark(self, index: int) -> None:
        if self._events:
            self._events[index].record()
        self._times[index] = perf_counter()


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
