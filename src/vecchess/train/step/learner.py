"""The learner: updates of the weights from batches, on every rank in lockstep.

A batch is divided into parts, and the parts among the ranks by their speed. Each rank works through
its parts one by one; gradients are summed exactly over all parts and ranks before one step of
AdamW. So the weights have the same bits whoever computes a part (decision 229), as long as no
device runs out of memory. Losses are sums over rows divided by the size of the whole batch
(decision 87). An update whose gradient is not finite is skipped, on all ranks alike.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from math import inf, isfinite
from typing import Any

import torch
from torch import Tensor

from vecchess.config import TrainConfig
from vecchess.errors import DeviceError
from vecchess.inference.playable_net import PlayableNet
from vecchess.networks.module_net import seeded
from vecchess.rng import random_word
from vecchess.runtime.freed_memory import keep_freed_memory
from vecchess.snn.modules.exact_sums import on_grid
from vecchess.snn.torch_integer import exported, from_integers
from vecchess.train.data.batch_spec import BatchShares, part_rows
from vecchess.train.data.samples import Samples
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.step.device_batcher import (
    StepMetrics,
    Stopwatch,
    copy_batch,
    copy_numbers,
    flat_float64,
    made_up_row,
    read_numbers,
    split_rows,
)
from vecchess.train.step.losses import OBJECTIVES, StepOutputs, step_outputs
from vecchess.train.step.optimiser import GradientSum, Schedule, WeightAverage, make_optimiser
from vecchess.train.step.trained_module import LearnedNet, TrainedModule, exported_net

MOST_SKIPPED = 20
"""Updates skipped in a row that end a run; fp16 takes 16 to get from its first scale to 1."""
DEAD_RATE, SATURATED_RATE = 0.002, 0.6
"""Spikes a neuron and step beyond which a layer carries little information."""
_STEPS_STREAM = 0x7357
_MASKS_STREAM = 0x6D61736B
_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Learner:
    """The network in training and its optimiser."""

    def __init__(self, config: TrainConfig, net: LearnedNet, ranks: Ranks) -> None:
        """``net`` is on the rank's device, with the same weights on every rank."""
        self.config = config
        self.net = net
        self.ranks = ranks
        self.steps = 0
        """Updates of the weights so far."""
        self.samples = 0
        """Samples of these updates."""
        self.done = 0.0
        """Iterations of the run that are done, the current one in part."""
        self.skipped = 0
        """The newest updates that were skipped in a row."""
        self.schedule = Schedule.of_run(config.optimiser, config.iterations)
        self.optimiser = make_optimiser(net, config.optimiser)
        decay = config.optimiser.ema
        self.average = WeightAverage(net, decay) if decay else None
        if ranks.device.type == "cpu":
            keep_freed_memory()
        self.shares = BatchShares(config, ranks.world_size)
        self._part_rows = part_rows(config)
        self.micro_batch = self._part_rows
        """Rows computed at a time: a part, or less where memory is short."""
        self._stopwatch = Stopwatch(ranks.device)
        self.old: LearnedNet | None = None
        """PPO before the fold: the network as it was when the generation began."""
        self.rates: list[float] = []
        """Spike rate of each neuron layer in the last update."""
        is_fp16 = config.precision == "fp16" and ranks.device.type == "cuda"
        self.scaler = torch.amp.GradScaler(ranks.device.type, enabled=is_fp16)

    def seconds_a_part(self, samples: Samples[Tensor], waited_s: float) -> float:
        """Time a part that this rank has waited for ``samples``, the rows of the last update, and
        computed their gradients; 0 without rows."""
        num_parts = -(-len(samples.planes) // self._part_rows)
        if not num_parts:
            return 0.0
        return (waited_s + self._stopwatch.seconds) / num_parts

    @property
    def played(self) -> LearnedNet:
        """The network that plays, is evaluated and published: the average where there is one."""
        return self.net if self.average is None else self.average.net

    def weights(self) -> list[Tensor]:
        """All that a rank must have in common with the others, the average included."""
        nets = [self.net] if self.average is None else [self.net, self.average.net]
        return [tensor for net in nets for tensor in net.state_dict().values()]

    def begin_generation(self) -> None:
        """Let PPO's ratios compare with the network as it is now."""
        if self.config.objective == "ppo" and not self.net.learns_as_it_plays:
            self.old = deepcopy(self.net).train()

    def fold(self) -> None:
        """Enter the second phase, if not yet: fold batch norm, train the deployed network.

        It begins with the average of the weights where there is one. Weights change their meaning,
        so the optimiser starts anew, with a warm-up (decision 92).
        """
        if self.net.folded:
            return
        if self.average is not None:
            self.net.load_state_dict(self.average.net.state_dict())
            self.average.net.fold()
        self.net.fold()
        self.old = None
        self.optimiser = make_optimiser(self.net, self.config.optimiser)
        self.schedule = self.schedule.warmed_up_again(self.config.optimiser, self.done)

    def step(
        self, samples: Samples[Tensor], done: float, rank_values: list[float], first_row: int = 0
    ) -> StepMetrics:
        """One update from this rank's rows, whole parts; returns its metrics, over all ranks.

        ``first_row`` is their first one's row in the batch. ``done``: iterations done after it, the
        current one in part, for the learning rate. ``rank_values`` are summed over ranks into
        ``rank_sums``. Raises DeviceError where a single row does not fit into memory, or too many
        gradients in a row are not finite.
        """
        parts = copy_batch(self.config, self.ranks, samples, self._part_rows)
        self.net.train()
        totals = self._compute_gradients(parts, rank_values, first_row)
        metrics = self._metrics(totals)
        if metrics.means["skipped"]:
            self._skip(parts)
        else:
            metrics.means["lr"] = self._update_weights(done)
        self.done = done
        self.steps += 1
        self.samples += self.config.batch_size
        return metrics

    def _skip(self, parts: list[Samples[Tensor]]) -> None:
        """Leave the weights as they are; raises DeviceError where that happens too often, and
        NetworkError for a module whose answers to ``parts`` are no numbers."""
        if isinstance(self.net, TrainedModule) and not self.scaler.is_enabled():
            for part in parts:
                self.net.require_finite(part.planes)
        self.scaler.update()
        self.net.forget_statistics()
        self.skipped += 1
        if self.skipped == MOST_SKIPPED:
            raise DeviceError(
                f"the gradients of {MOST_SKIPPED} updates in a row are not finite: lower --lr"
            )

    def _compute_gradients(
        self, parts: list[Samples[Tensor]], rank_values: list[float], first_row: int
    ) -> dict[str, Tensor]:
        """Gradients of the whole batch on every rank, not longer than ``clip_norm``; sums of the
        metrics over all ranks, and the norm that the gradient had.

        Out of memory the micro-batch is halved and the pass repeated.
        """
        while True:
            try:
                self._stopwatch.start()
                gradients, sums = self._accumulate_gradients(parts, first_row)
                self._stopwatch.stop()
                break
            except (torch.OutOfMemoryError, DeviceError) as error:
                if isinstance(error, DeviceError) and not error.out_of_memory:
                    raise
                self.optimiser.zero_grad()
                if self.micro_batch == 1:
                    raise DeviceError(f"out of memory for one sample: {error}", True) from None
                self.micro_batch = max(1, self.micro_batch // 2)
                torch.cuda.empty_cache()
        totals = self._all_reduce(gradients, sums, rank_values)
        return totals | self._clip_gradients(gradients)

    def _accumulate_gradients(
        self, parts: list[Samples[Tensor]], first_row: int
    ) -> tuple[GradientSum, dict[str, Tensor]]:
        """The gradient of this rank's rows, and sums of their metrics, both exact.

        A rank without rows computes a made-up one: zeros of the shapes that others have.
        """
        self.optimiser.zero_grad()
        self.net.forget_statistics()
        num_steps, prices = self._draw_time_steps(), self._spike_prices()
        gradients = GradientSum(self.net, self.scaler.scale(prices.new_ones(())))
        sums: dict[str, Tensor] = {}
        for part in parts or [made_up_row(self.net.config.num_planes, self.ranks.device)]:
            for rows in split_rows(part, self.micro_batch):
                with self._random_numbers_of(first_row):
                    found = self._backward(rows, num_steps, prices, first_row)
                for name, value in found.items():
                    sums[name] = sums.get(name, 0.0) + on_grid(value)
                gradients.add()
                first_row += len(rows.planes)
        if not parts:
            gradients.units.zero_()
            sums = {name: torch.zeros_like(value) for name, value in sums.items()}
            self.net.forget_statistics()
        return gradients, sums

    def _random_numbers_of(self, first_row: int) -> AbstractContextManager[None]:
        """Dropout and its like in a user's module draw by the run's seed, the update and the rows
        of the batch, whichever rank has them (decision 309)."""
        if not isinstance(self.net, TrainedModule):
            return nullcontext()
        seed = random_word(self.config.seed ^ _MASKS_STREAM, self.steps, first_row)
        return seeded(seed, self.ranks.device)

    def _backward(
        self, rows: Samples[Tensor], num_steps: int, prices: Tensor, first_row: int
    ) -> dict[str, Tensor]:
        """Forward and backward pass of a micro-batch, the rows of the batch from ``first_row`` on;
        sums of its metrics."""
        with self._autocast():
            output = self.net(rows.planes, num_steps, rows.legal)
        outputs = step_outputs(self.net, output, rows.legal, rows.num_legal)
        outputs = outputs._replace(old=self._answers_of_old(rows, num_steps, first_row))
        losses = OBJECTIVES[self.config.objective](outputs, rows, self.config.loss)
        share = len(rows.planes) / self.config.batch_size
        rates = torch.stack(output.rates) if output.rates else prices
        spikes = (rates * prices).sum() * share
        total = (losses.policy + self.config.loss.value_weight * losses.value).sum()
        loss = total / self.config.batch_size + spikes
        net = self.net
        with net.users_code("its gradient") if isinstance(net, TrainedModule) else nullcontext():
            self.scaler.scale(loss).backward()
        sums = {name: value.sum() for name, value in losses.metrics.items()}
        return sums | {
            "loss": loss.detach() * self.config.batch_size,
            "loss_policy": losses.policy.detach().sum(),
            "loss_value": losses.value.detach().sum(),
            "rates": rates.detach() * len(rows.planes),
        }

    @torch.no_grad()
    def _answers_of_old(
        self, rows: Samples[Tensor], num_steps: int, first_row: int
    ) -> StepOutputs | None:
        """Answers of ``old``, with the statistics and the random numbers of the same rows: the bits
        that the learner gave then."""
        if self.old is None:
            return None
        with self._autocast(), self._random_numbers_of(first_row):
            output = self.old(rows.planes, num_steps, rows.legal)
        self.old.forget_statistics()
        return step_outputs(self.old, output, rows.legal, rows.num_legal)

    def _spike_prices(self) -> Tensor:
        """float32[layers]: the price of a spike, 0 where the last update's rate was on target.

        The penalty is linear in the rates of this batch, so its split over ranks does not matter
        (decision 87). Activations of clipped ReLUs cost nothing.
        """
        loss, names = self.config.loss, self.net.neuron_names
        before = zip(names, self.rates or [0.0] * len(names), strict=True)
        spiking = [0.0 if self.net.is_graded(name) else rate for name, rate in before]
        rates = copy_numbers(spiking, torch.float32, self.ranks.device)
        return loss.spike_penalty * (rates > loss.spike_target).float()

    def _all_reduce(
        self, gradients: GradientSum, sums: dict[str, Tensor], rank_values: list[float]
    ) -> dict[str, Tensor]:
        """Sum gradients and ``sums`` over ranks; returns the sums, flat and in float64."""
        sums["rank_sums"] = copy_numbers(rank_values, torch.float64, self.ranks.device)
        totals = flat_float64(sums)
        self.ranks.all_reduce_([gradients.units, *totals.values()])
        return totals

    def _clip_gradients(self, gradients: GradientSum) -> dict[str, Tensor]:
        """Give the parameters their gradient, shortened to ``clip_norm``; returns the norm it
        had."""
        gradients.write()
        self.scaler.unscale_(self.optimiser)
        norm = gradients.norm()
        highest = self.config.optimiser.clip_norm or inf
        torch.nn.utils.clip_grads_with_norm_(self.net.parameters(), highest, norm.float())
        return flat_float64({"norm": norm})

    def _metrics(self, totals: dict[str, Tensor]) -> StepMetrics:
        """Means over the batch, read from the device; "skipped" alone for a bad gradient."""
        sums = read_numbers(totals)
        rank_sums, (norm,) = sums.pop("rank_sums"), sums.pop("norm")
        if not isfinite(norm):
            return StepMetrics({"skipped": 1.0}, rank_sums)
        self.rates = [rate / self.config.batch_size for rate in sums.pop("rates")]
        means = {name: value[0] / self.config.batch_size for name, value in sums.items()}
        if self.rates:
            means["spike_rate"] = sum(self.rates) / len(self.rates)
        return StepMetrics(means | {"skipped": 0.0}, rank_sums)

    def _update_weights(self, done: float) -> float:
        """A step of AdamW, then the network's own statistics or grids, and the average; returns
        the learning rate."""
        config = self.config.optimiser
        rate = self.schedule.rate(config, done)
        for group in self.optimiser.param_groups:
            group["lr"] = group["height"] * rate
        self.scaler.step(self.optimiser)
        self.scaler.update()
        self.net.settle_grid()
        self.net.absorb_statistics(self.ranks.all_reduce_)
        if self.average is not None:
            self.average.update(self.net, self.steps)
        self.skipped = 0
        return config.lr * rate

    def _draw_time_steps(self) -> int:
        most = self.net.config.time_steps
        if self.done >= self.config.loss.random_steps * self.config.iterations:
            return most
        return 1 + random_word(self.config.seed, _STEPS_STREAM, self.steps) % most

    def _autocast(self) -> AbstractContextManager[Any]:
        dtype = _DTYPES[self.config.precision]
        return torch.autocast(
            self.ranks.device.type, dtype=dtype, enabled=dtype is not torch.float32
        )

    @torch.no_grad()
    def evaluate(self, batches: Iterable[Samples[Tensor]]) -> dict[str, Any]:
        """Means of the network's errors, as it would be deployed, on held-out positions.

        Over all ranks' rows, one figure for each time step: cross-entropy and top-1 against the
        target policy, over ``policy_rows`` that have one, and over all ``rows`` the value error
        (P(win) - P(loss) - outcome)^2 (decision 19).
        """
        deployed = self._deployed().to(self.ranks.device).eval()
        shape, kind = (3, deployed.config.time_steps), torch.float64
        sums = torch.zeros(shape, dtype=kind, device=self.ranks.device)
        counts = torch.zeros(2, dtype=kind, device=self.ranks.device)
        for samples in batches:
            for part in copy_batch(self.config, self.ranks, samples, self._part_rows):
                output = deployed(part.planes, legal=part.legal)
                outputs = step_outputs(deployed, output, part.legal, part.num_legal)
                has_policy = (part.has_policy > 0).double()
                sums += on_grid(_error_sums(outputs, part, has_policy))
                counts += torch.stack([has_policy.sum(), torch.ones_like(has_policy).sum()])
        self.ranks.all_reduce_([sums, counts])
        with_policy, rows = (int(count) for count in counts.tolist())
        cross_entropy, top1 = (sums[:2] / max(with_policy, 1)).tolist()
        policy = {"cross_entropy": cross_entropy, "top1": top1} if with_policy else {}
        value_error = (sums[2] / rows).tolist()
        return {"rows": rows, "policy_rows": with_policy, **policy, "value_error": value_error}

    def exported(self) -> PlayableNet:
        """The network that plays, as it is published."""
        return exported_net(self.played)

    def _deployed(self) -> LearnedNet:
        """The network that plays, computing what a server computes of it."""
        net = self.played
        return deepcopy(net) if isinstance(net, TrainedModule) else from_integers(exported(net))

    def rates_by_layer(self) -> dict[str, float]:
        """Spike rate of each neuron layer in the last update; empty before the first."""
        return dict(zip(self.net.neuron_names, self.rates, strict=False))

    def spike_warnings(self) -> list[str]:
        """A line for each neuron layer that hardly spikes, or spikes nearly always."""
        most = {
            name: 1.0 if self.net.is_graded(name) else SATURATED_RATE
            for name in self.net.neuron_names
        }
        return [
            f"layer {name} {'is nearly dead' if rate < DEAD_RATE else 'is nearly saturated'}: "
            f"{rate:.1%} spikes a neuron and step"
            for name, rate in self.rates_by_layer().items()
            if not DEAD_RATE <= rate <= most[name]
        ]


def _error_sums(outputs: StepOutputs, batch: Samples[Tensor], has_policy: Tensor) -> Tensor:
    """float64[3, T]: sums of cross-entropy and top-1 over rows with a policy, of value error over
    all. ``has_policy``: float64[B], 0 or 1."""
    cross_entropy = -(batch.policy * outputs.log_policy).sum(-1)
    top1 = outputs.log_policy.argmax(-1) == batch.policy.argmax(-1)
    wdl = outputs.log_wdl.exp()
    error = (wdl[..., 0] - wdl[..., 2] - batch.outcome).square()
    rows = torch.ones_like(has_policy)
    figures = ((cross_entropy, has_policy), (top1, has_policy), (error, rows))
    return torch.stack([figure.double() @ weight for figure, weight in figures])
