"""The learner: from batches to better weights, on every rank in lockstep.

A batch is given in total and split over the ranks; each rank works through its rows in
micro-batches and adds up gradients, which are summed over all ranks before one step of AdamW.
Losses are sums over rows divided by the size of the whole batch, so the split changes nothing but
the order of float32 additions.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from vecchess.config import TrainConfig
from vecchess.errors import DeviceError
from vecchess.learn.objectives import OBJECTIVES, Losses, Rows
from vecchess.learn.optimiser import make_optimiser, rate_at
from vecchess.learn.outlook import Outlook, outlook_of, widest
from vecchess.learn.samples import Samples
from vecchess.rng import random_word
from vecchess.snn.convert import exported, from_integers
from vecchess.snn.network import SpikingNet, unpack_bitboards
from vecchess.snn.topology import neuron_layers

MICRO_BATCH = 256
_STEPS_STREAM = 0x7357
_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Summing(Protocol):
    """What a learner needs of ``ranks.Ranks``."""

    rank: int
    world_size: int
    device: torch.device

    def sum_(self, tensors: list[Tensor]) -> None:
        """Add up over ranks, in place."""


@dataclass
class Progress:
    """How far a run has learnt."""

    steps: int = 0
    """Updates of the weights."""
    samples: int = 0
    """Samples they took."""


class Told(NamedTuple):
    """What one update has to tell."""

    means: dict[str, float]
    """Losses and the like, a sample."""
    notes: list[float]
    """The notes of all ranks, added up."""


class Learner:
    """The network in training, its optimiser, and one update after the other."""

    def __init__(self, config: TrainConfig, net: SpikingNet, ranks: Summing) -> None:
        """``net`` is on the rank's device, with the same weights on every rank."""
        self.config = config
        self.net = net
        self.ranks = ranks
        self.progress = Progress()
        self.optimiser = make_optimiser(net, config.optimiser)
        self.micro_batch = min(config.micro_batch or MICRO_BATCH, self.rows_a_rank)
        self.rates: list[float] = []
        """Spike rate of each neuron layer in the last update."""
        is_fp16 = config.precision == "fp16" and ranks.device.type == "cuda"
        self.scaler = torch.amp.GradScaler(ranks.device.type, enabled=is_fp16)

    @property
    def rows_a_rank(self) -> int:
        """Rows of a batch that are this rank's."""
        return self.config.batch_size // self.ranks.world_size

    def fold(self) -> None:
        """Enter the second phase: what is trained from now on is what is deployed.

        Weights change their meaning, so the optimiser starts anew; the moments of the first phase
        belong to weights before batch norm.
        """
        if not self.net.folded:
            self.net.fold()
            self.optimiser = make_optimiser(self.net, self.config.optimiser)

    def step(self, samples: Samples[Tensor], share_done: float, notes: list[float]) -> Told:
        """One update from this rank's rows; returns what there is to tell, over all ranks.

        ``share_done``: how much of the run lies behind, 0 to 1, for the learning rate. ``notes``
        travel with the sums and come back added up over ranks. Raises DeviceError where a single
        row does not fit the memory, or a gradient is not finite.
        """
        rows, planes = self._rows(samples), samples.planes.to(self.ranks.device)
        self.net.train()
        told = self._gradients(rows, planes, notes)
        told.means["lr"] = self._move(share_done)
        self.progress.steps += 1
        self.progress.samples += self.config.batch_size
        return told

    def _gradients(self, rows: Rows, planes: Tensor, notes: list[float]) -> Told:
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

    def _accumulate(self, rows: Rows, planes: Tensor) -> dict[str, Tensor]:
        """Gradients of this rank's rows, in ``grad``; sums of what is to be told."""
        self.optimiser.zero_grad()
        self.net.forget_statistics()
        num_steps = self._num_steps()
        sums: dict[str, Tensor] = {}
        for first in range(0, len(planes), self.micro_batch):
            part = slice(first, first + self.micro_batch)
            told = self._backward(Rows(*(column[part] for column in rows)), planes[part], num_steps)
            for name, value in told.items():
                sums[name] = sums.get(name, 0.0) + value
        return sums

    def _backward(self, rows: Rows, planes: Tensor, num_steps: int) -> dict[str, Tensor]:
        with self._autocast():
            output = self.net(unpack_bitboards(planes), num_steps)
        outlook = outlook_of(self.net, output, rows.legal, rows.num_legal)
        losses = OBJECTIVES[self.config.objective](outlook, rows, self.config.loss)
        share = len(planes) / self.config.batch_size
        rates = torch.stack(output.rates)
        spikes = (rates * self._rate_weights(rates)).sum() * share
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

    def _rate_weights(self, rates: Tensor) -> Tensor:
        """float32[layers]: what a spike costs where the last update saw too many.

        Linear in the rates of this batch, so that its split over ranks does not matter.
        """
        loss = self.config.loss
        if not self.rates:
            return torch.zeros_like(rates)
        before = torch.tensor(self.rates, device=rates.device)
        return loss.spike_penalty * (before > loss.spike_target).float()

    def _summed(self, sums: dict[str, Tensor], notes: list[float]) -> Told:
        """Add gradients and sums up over ranks; means over the batch, as numbers."""
        gradients = [p.grad for p in self.net.parameters() if p.grad is not None]
        sums["notes"] = torch.tensor(notes, dtype=torch.float64, device=self.ranks.device)
        totals = [value.double().reshape(-1) for value in sums.values()]
        self.ranks.sum_([*gradients, *totals])
        told = {name: total.tolist() for name, total in zip(sums, totals, strict=True)}
        notes = told.pop("notes")
        self.rates = [rate / self.config.batch_size for rate in told.pop("rates")]
        means = {name: value[0] / self.config.batch_size for name, value in told.items()}
        if has_policy := means.pop("has_policy", 0.0):
            means |= {name: means[name] / has_policy for name in ("cross_entropy", "top1")}
        return Told(means | {"spike_rate": sum(self.rates) / len(self.rates)}, notes)

    def _move(self, share_done: float) -> float:
        """AdamW, then what keeps the network deployable; returns the learning rate."""
        config = self.config.optimiser
        rate = rate_at(config, self.progress.samples, share_done)
        for group in self.optimiser.param_groups:
            group["lr"] = group["height"] * rate
        self.scaler.unscale_(self.optimiser)
        if config.clip_norm:
            norm = torch.nn.utils.clip_grad_norm_(self.net.parameters(), config.clip_norm)
            if not torch.isfinite(norm) and not self.scaler.is_enabled():
                raise DeviceError("the gradient is not finite: lower --lr")
        self.scaler.step(self.optimiser)
        self.scaler.update()
        if self.net.folded:
            self.net.settle_grid()
        else:
            self.net.absorb_statistics(self.ranks.sum_)
        return config.lr * rate

    def _rows(self, samples: Samples[Tensor]) -> Rows:
        """The columns on the device, without moves that no row has."""
        device, width = self.ranks.device, widest(samples.num_legal)
        columns: dict[str, Any] = {
            name: getattr(samples, name).to(device, non_blocking=True) for name in Rows._fields
        }
        columns["legal"] = columns["legal"][:, :width].long()
        columns["policy"] = columns["policy"][:, :width]
        rows = Rows(**columns)
        return self._normalised(rows) if self.config.is_on_policy else rows

    def _normalised(self, rows: Rows) -> Rows:
        """Advantages with mean 0 and spread 1 over the whole batch."""
        advantage = rows.advantage.double()
        if self.config.objective == "reinforce":
            advantage = rows.outcome.double() - (rows.value[:, 0] - rows.value[:, 2]).double()
        sums = torch.stack([advantage.sum(), advantage.square().sum()])
        self.ranks.sum_([sums])
        mean, square = (sums / self.config.batch_size).tolist()
        spread = max(square - mean**2, 1e-8) ** 0.5
        return rows._replace(advantage=((advantage - mean) / spread).float())

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
        sums = torch.zeros(3, deployed.config.time_steps, dtype=torch.float64)
        num_rows = torch.zeros(1, dtype=torch.float64)
        for samples in batches:
            rows, planes = self._rows(samples), samples.planes.to(self.ranks.device)
            output = deployed(unpack_bitboards(planes))
            outlook = outlook_of(deployed, output, rows.legal, rows.num_legal)
            sums += _marks(outlook, rows).cpu()
            num_rows += len(planes)
        parts = [sums.to(self.ranks.device), num_rows.to(self.ranks.device)]
        self.ranks.sum_(parts)
        means = (parts[0] / parts[1]).tolist()
        names = ("cross_entropy", "top1", "value_error")
        return {"rows": int(parts[1])} | dict(zip(names, means, strict=True))

    def alarms(self) -> list[str]:
        """A line for each layer of neurons that is as good as dead, or never rests."""
        return [
            f"layer {name} {'is nearly dead' if rate < DEAD else 'hardly rests'}: "
            f"{rate:.1%} spikes a neuron and step"
            for name, rate in zip(neuron_layers(self.net.config), self.rates, strict=True)
            if not DEAD <= rate <= SATURATED
        ]


def _marks(outlook: Outlook, rows: Rows) -> Tensor:
    """float64[3, T]: sums over rows of cross-entropy, top-1 and value error."""
    cross_entropy = -(rows.policy * outlook.log_policy).sum(-1)
    top1 = outlook.log_policy.argmax(-1) == rows.policy.argmax(-1)
    wdl = outlook.log_wdl.exp()
    error = (wdl[..., 0] - wdl[..., 2] - rows.outcome).square()
    return torch.stack([mark.double().sum(1) for mark in (cross_entropy, top1, error)])


DEAD, SATURATED = 0.002, 0.6
"""Spike rates beyond which a layer tells little."""
