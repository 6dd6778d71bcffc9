"""Batches on their way to the device, in copies that nobody waits for."""

from typing import Any

import torch
from torch import Tensor

from vecchess.config import TrainConfig
from vecchess.train.data.samples import Samples
from vecchess.train.step.losses import DeviceBatch
from vecchess.train.step.policy_outputs import widest
from vecchess.train.step.step_metrics import AllReducer


class DeviceBatcher:
    """This rank's rows of a batch, on its device."""

    def __init__(self, config: TrainConfig, ranks: AllReducer) -> None:
        self._config, self._ranks = config, ranks

    def planes(self, samples: Samples[Tensor]) -> Tensor:
        """int64[B, P]: the positions."""
        return samples.planes.to(self._ranks.device, non_blocking=True)

    def rows(self, samples: Samples[Tensor]) -> DeviceBatch:
        """The other columns, without moves that no row has. All ranks call it together."""
        device, width = self._ranks.device, widest(samples.num_legal)
        columns: dict[str, Any] = {
            name: getattr(samples, name).to(device, non_blocking=True)
            for name in DeviceBatch._fields
        }
        columns["legal"] = columns["legal"][:, :width].long()
        columns["policy"] = columns["policy"][:, :width]
        rows = DeviceBatch(**columns)
        return self._normalised(rows) if self._config.is_on_policy else rows

    def _normalised(self, rows: DeviceBatch) -> DeviceBatch:
        """Advantages with mean 0 and spread 1 over the whole batch."""
        advantage = rows.advantage.double()
        if self._config.objective == "reinforce":
            advantage = rows.outcome.double() - (rows.value[:, 0] - rows.value[:, 2]).double()
        sums = torch.stack([advantage.sum(), advantage.square().sum()])
        self._ranks.all_reduce_([sums])
        mean, square = (sums / self._config.batch_size).unbind()
        spread = (square - mean.square()).clamp(min=1e-8).sqrt()
        return rows._replace(advantage=((advantage - mean) / spread).float())
