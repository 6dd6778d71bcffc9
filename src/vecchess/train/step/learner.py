"""The learner: from batches to better weights, on every rank in lockstep.

A batch is given in total and split over the ranks; each rank works through its rows in
micro-batches and adds up gradients, which are summed over all ranks before one step of AdamW.
Losses are sums over rows divided by the size of the whole batch, so the split changes nothing but
the order of float32 additions.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import isfinite
from typing import Any

import torch
from torch import Tensor

from vecchess.config import TrainConfig
from vecchess.errors import DeviceError
from vecchess.rng import random_word
from vecchess.snn.modules.network import SpikingNet, unpack_bitboards
from vecchess.snn.topology import neuron_layers
from vecchess.snn.torch_integer import exported, from_integers
from vecchess.train.data.samples import Samples
from vecchess.train.step.losses import OBJECTIVES, DeviceBatch, Losses
from vecchess.train.step.optimiser import make_optimiser, rate_at
from vecchess.train.step.policy_outputs import StepOutputs, step_outputs
from vecchess.train.step.step_metrics import (
    AllReducer,
    StepMetrics,
    as_numbers,
    in_float64,
    on_device,
)
from vecchess.train.step.to_device import DeviceBatcher

MICRO_BATCH = 256
_STEPS_STREAM = 0x7357
_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass
class Progress:
    """How far a run has learnt."""

    steps: int = 0
    """Updates of the weights."""
    samples: int = 0
    """Samples they took."""


class Learner:
    """The network in training, its optimiser, and one update after the other."""

    def __init__(self, config: TrainConfig, net: SpikingNet, ranks: AllReducer) -> None:
        """``net`` is on the rank's device, with the same weights on every rank."""
        self.config = config
        self.net = net
        self.ranks = ranks
        self._intake = DeviceBatcher(config, ranks)
        self.progress = Progress()
        self.optimiser = make_optimiser(net, config.optimiser)
        self.micro_batch = min(config.micro_batch or MICRO_BATCH, self.rows_a_rank)
        self.rates: list[float] = []
        """Spike rate of each neuron layer in the last update."""
        is_fp16 = config.precision == "fp16" and ranks.device.type == "cuda"
        self.scaler = torch.amp.GradScaler(ranks.device.type, enabled=is_fp16)

    @property
    def rows_a_rank(self) -> int:
        """DeviceBatch of a batch that are this rank's."""
        return self.config.batch_size // self.ranks.world_size

    def fold(self) -> None:
        """Enter the second phase: what is trained from now on is what is deployed.

        Weights change their meaning, so the optimiser starts anew; the moments of the first phase
        belong to weights before batch norm.
        """
        if not self.net.folded:
            self.net.fold()
            self.optimiser = make_optimiser(self.net, self.config.optimiser)

    def step(self, samples: Samples[Tensor], share_done: float, notes: list[float]) -> StepMetrics:
        """One update from this rank's rows; returns what there is to tell, over all ranks.

        ``share_done``: how much of the run lies behind, 0 to 1, for the learning rate. ``notes``
        travel with the sums and come back added up over ranks. Raises DeviceError where a single
        row does not fit the memory, or a gradient is not finite.
        """
        rows, planes = self._intake.rows(samples), self._intake.planes(samples)
        self.net.train()
        totals = self._gradients(rows, planes, notes)
        told = self._told(totals | self._clipped())
        told.means["lr"] = self._move(share_done)
        self.progress.steps += 1
        self.progress.samples += self.config.batch_size
        return told

    def _gradients(
        self, rows: DeviceBatch, planes: Tensor, notes: list[float]
    ) -> dict[str, Tensor]:
        """Gradients of the whole batch on every rank; micro-batches halve where memory ends."""
        while True:
            try:
                return self._summed(self._accumulate(rows, planes), notes)
            except torch.OutOfMemoryError as error:
                self.optimiser.zero_grad()
                if self.micro_batch == 1:
                    raise DeviceError(f"out of memory for one sample: {error}", True) from None
                self.micro_batch = max(1, self.micro_batch // 2)
                torch.cuda.empty_cache()

    def _accumulate(self, rows: DeviceBatch, planes: Tensor) -> dict[str, Tensor]:
        """Gradients of this rank's rows, in ``grad``; sums of what is to be told."""
        self.optimiser.zero_grad()
        self.net.forget_statistics()
        num_steps, prices = self._num_steps(), self._prices()
        sums: dict[str, Tensor] = {}
        for first in range(0, len(planes), self.micro_batch):
            part = slice(first, first + self.micro_batch)
            some = DeviceBatch(*(column[part] for column in rows))
            told = self._backward(some, planes[part], num_steps, prices)
            for name, value in told.items():
                sums[name] = sums.get(name, 0.0) + value
        return sums

    def _backward(
        self, rows: DeviceBatch, planes: Tensor, num_steps: int, prices: Tensor
    ) -> dict[str, Tensor]:
        with self._autocast():
            output = self.net(unpack_bitboards(planes), num_steps)
        outlook = step_outputs(self.net, output, rows.legal, rows.num_legal)
        losses = OBJECTIVES[self.config.objective](outlook, rows, self.config.loss)
        share = len(planes) / self.config.batch_size
        rates = torch.stack(output.rates)
        spikes = (rates * prices).sum() * share
        loss = self._total(losses) / self.config.batch_size + spikes
        self.scaler.scale(loss).backward()
        told = {name: value.sum() for name, value in losses.told.items()}
        return told | {
            "loss": loss.detach() * self.config.batch_size,
            "loss_policy": losses.policy.detach().sum(),
            "loss_value": losses.value.detach().sum(),
            "rates": rates.detach() * len(planes),
        }

    def _total(self, losses: Losses) -> Tensor:
        return (losses.policy + self.config.loss.value_weight * losses.value).sum()

    def _prices(self) -> Tensor:
        """float32[layers]: what a spike costs where the last update saw too many.

        Linear in the rates of this batch, so that its split over ranks does not matter. The
        activations of a network without spikes cost nothing.
        """
        loss = self.config.loss
        price = loss.spike_penalty if self.net.config.neuron == "lif" else 0.0
        before = self.rates or [0.0] * len(neuron_layers(self.net.config))
        rates = on_device(before, torch.float32, self.ranks.device)
        return price * (rates > loss.spike_target).float()

    def _summed(self, sums: dict[str, Tensor], notes: list[float]) -> dict[str, Tensor]:
        """Add gradients and sums up over ranks; the sums, flat and in float64."""
        gradients = [p.grad for p in self.net.parameters() if p.grad is not None]
        sums["notes"] = on_device(notes, torch.float64, self.ranks.device)
        totals = in_float64(sums)
        self.ranks.all_reduce_([*gradients, *totals.values()])
        return totals

    def _clipped(self) -> dict[str, Tensor]:
        """Cut gradients to the largest norm there may be; the norm they had."""
        self.scaler.unscale_(self.optimiser)
        highest = self.config.optimiser.clip_norm
        if not highest:
            return {}
        norm = torch.nn.utils.clip_grad_norm_(self.net.parameters(), highest)
        return in_float64({"norm": norm})

    def _told(self, totals: dict[str, Tensor]) -> StepMetrics:
        """Means over the batch, as numbers."""
        told = as_numbers(totals)
        (norm,) = told.pop("norm", [0.0])
        if not isfinite(norm) and not self.scaler.is_enabled():
            raise DeviceError("the gradient is not finite: lower --lr")
        notes = told.pop("notes")
        self.rates = [rate / self.config.batch_size for rate in told.pop("rates")]
        means = {name: value[0] / self.config.batch_size for name, value in told.items()}
        if has_policy := means.pop("has_policy", 0.0):
            means |= {name: means[name] / has_policy for name in ("cross_entropy", "top1")}
        return StepMetrics(means | {"spike_rate": sum(self.rates) / len(self.rates)}, notes)

    def _move(self, share_done: float) -> float:
        """AdamW, then what keeps the network deployable; returns the learning rate."""
        config = self.config.optimiser
        rate = rate_at(config, self.progress.samples, share_done)
        for group in self.optimiser.param_groups:
            group["lr"] = group["height"] * rate
        self.scaler.step(self.optimiser)
        self.scaler.update()
        if self.net.folded:
            self.net.settle_grid()
        else:
            self.net.absorb_statistics(self.ranks.all_reduce_)
        return config.lr * rate

    def _num_steps(self) -> int:
        most = self.net.config.time_steps
        if not self.config.loss.random_steps:
            return most
        return 1 + random_word(self.config.seed, _STEPS_STREAM, self.progress.steps) % most

    def _autocast(self) -> AbstractContextManager[Any]:
        dtype = _DTYPES[self.config.precision]
        return torch.autocast(
            self.ranks.device.type, dtype=dtype, enabled=dtype is not torch.float32
        )

    @torch.no_grad()
    def examine(self, batches: Iterable[Samples[Tensor]]) -> dict[str, Any]:
        """How the network would do if it were deployed now, on positions it does not learn from.

        Means over all ranks' rows, a figure for each time step: cross-entropy and top-1 against
        the target policy, and the value error (P(win) - P(loss) - outcome)^2.
        """
        deployed = from_integers(exported(self.net)).to(self.ranks.device).eval()
        shape, kind = (3, deployed.config.time_steps), torch.float64
        sums, num_rows = torch.zeros(shape, dtype=kind, device=self.ranks.device), 0
        for samples in batches:
            rows, planes = self._intake.rows(samples), self._intake.planes(samples)
            output = deployed(unpack_bitboards(planes))
            outlook = step_outputs(deployed, output, rows.legal, rows.num_legal)
            sums += _marks(outlook, rows)
            num_rows += len(planes)
        parts = [sums, on_device([num_rows], kind, self.ranks.device)]
        self.ranks.all_reduce_(parts)
        means = (parts[0] / parts[1]).tolist()
        names = ("cross_entropy", "top1", "value_error")
        return {"rows": int(parts[1])} | dict(zip(names, means, strict=True))

    def rates_by_layer(self) -> dict[str, float]:
        """Spike rate of each layer of neurons in the last update, from the input on; empty before
        the first."""
        return dict(zip(neuron_layers(self.net.config), self.rates, strict=False))

    def alarms(self) -> list[str]:
        """A line for each layer of neurons that is as good as dead, or spikes that never rest."""
        most = SATURATED if self.net.config.neuron == "lif" else 1.0
        return [
            f"layer {name} {'is nearly dead' if rate < DEAD else 'hardly rests'}: "
            f"{rate:.1%} spikes a neuron and step"
            for name, rate in self.rates_by_layer().items()
            if not DEAD <= rate <= most
        ]


def _marks(outlook: StepOutputs, rows: DeviceBatch) -> Tensor:
    """float64[3, T]: sums over rows of cross-entropy, top-1 and value error."""
    cross_entropy = -(rows.policy * outlook.log_policy).sum(-1)
    top1 = outlook.log_policy.argmax(-1) == rows.policy.argmax(-1)
    wdl = outlook.log_wdl.exp()
    error = (wdl[..., 0] - wdl[..., 2] - rows.outcome).square()
    return torch.stack([mark.double().sum(1) for mark in (cross_entropy, top1, error)])


DEAD, SATURATED = 0.002, 0.6
"""Spike rates beyond which a layer tells little."""
