"""A module that a user brings, as the learner sees a network: T calls, with autograd through them.

There is one phase: nothing is folded, and what learns is what is published. Batch norm learns the
statistics of each micro-batch, and its running ones move once an update, to the mean over the rows
of the batch of where each micro-batch would have moved them: whichever rank has it (decision 315).
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import deepcopy
from typing import Self, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.dropout import _DropoutNd

from vecchess.errors import NetworkError
from vecchess.inference.playable_net import PlayableNet
from vecchess.networks.module_net import ModuleNet, as_module_net, seeded
from vecchess.networks.step_module import (
    ModuleSizes,
    StepModule,
    answer_of,
    example_planes,
    placement,
)
from vecchess.runtime.plugin import users_code
from vecchess.snn.modules.exact_sums import on_grid
from vecchess.snn.modules.network import NetOutput, SpikingNet, unpack_bitboards
from vecchess.snn.torch_integer import exported


class TrainedModule(nn.Module):
    """planes float32[B, 8, 8, P] of 0 and 1, or int64[B, P] -> policy and win/draw/loss after each
    step, as accumulators whose gain is 1."""

    folded = True
    """A module has nothing to fold."""
    policy_gain: Tensor
    value_gain: Tensor
    neuron_names: tuple[str, ...] = ()
    """Layers whose spikes are counted: none is known."""

    def __init__(self, net: ModuleNet) -> None:
        """The module of ``net`` with its weights, on the CPU."""
        super().__init__()
        self.config: ModuleSizes = net.config
        self._spec, self._name = net.spec, net.config.module
        self.module = cast(nn.Module, net.module())
        for name in ("policy_gain", "value_gain"):
            self.register_buffer(name, torch.tensor(1.0), persistent=False)
        self._statistics = RunningStatistics(self.module)
        self.learns_as_it_plays = self._learns_as_it_plays()
        """Whether the module computes the same in training as in play."""

    @torch.no_grad()
    def _learns_as_it_plays(self) -> bool:
        """Looks for layers that compute otherwise in training, and at what the module computes."""
        if any(isinstance(one, _BatchNorm | _DropoutNd) for one in self.module.modules()):
            return False
        planes = example_planes(self.config.num_planes).permute(0, 2, 3, 1)
        found = []
        for trains in (False, True):
            with self.users_code("a copy of it"):
                other = deepcopy(self).train(trains)
            with seeded(0):
                found.append(other(planes))
        return all(
            torch.equal(ours, theirs)
            for ours, theirs in zip(found[0][:2], found[1][:2], strict=True)
        )

    def forward(
        self, planes: Tensor, num_steps: int | None = None, legal: Tensor | None = None
    ) -> NetOutput:
        """``num_steps`` (T by default) steps; legal: int64[B, L], the actions that are wanted."""
        if not planes.is_floating_point():
            planes = unpack_bitboards(planes)
        boards = planes.permute(0, 3, 1, 2).contiguous()
        module = cast(StepModule, self.module)
        policies, outcomes = [], []
        statistics = self._statistics.moved_by(len(boards)) if self.training else nullcontext()
        with self.users_code("a time step"), statistics:
            state = module.initial_state(len(boards))
            for _ in range(num_steps or self.config.time_steps):
                output = module.forward(boards, state)
                policy, wdl, state = answer_of(output, len(boards), self._name)
                policies.append(policy if legal is None else policy.gather(1, legal))
                outcomes.append(wdl)
        answers = self._accumulated(policies), self._accumulated(outcomes)
        return NetOutput(*answers, membranes=[], rates=[])

    def _accumulated(self, outputs: list[Tensor]) -> Tensor:
        """[T, B, N]: what ``step_outputs`` divides by the number of the step."""
        stacked = torch.stack(outputs).float()
        if self.config.readout == "mean":
            return stacked.cumsum(0)
        steps = torch.arange(1, len(outputs) + 1, device=stacked.device)
        return stacked * steps[:, None, None]

    def users_code(self, what: str) -> AbstractContextManager[None]:
        """A block that runs code of the module; messages call it ``what``."""
        return users_code(self._name, what)

    def train(self, mode: bool = True) -> Self:
        """Go into training, or into play."""
        with self.users_code("train" if mode else "eval"):
            return super().train(mode)

    @torch.no_grad()
    def require_finite(self, planes: Tensor) -> None:
        """Raise NetworkError where the module gives a number that is none: what and where.

        planes: int64[B, P]; nothing of the module changes.
        """
        output = deepcopy(self)(planes)
        for name, answers in (("policy", output.policy), ("win/draw/loss", output.wdl)):
            bad = answers.isfinite().logical_not().nonzero()
            if len(bad):
                step, row, column = bad[0].tolist()
                board = placement(planes[row].cpu().numpy().view(np.uint64))
                raise NetworkError(
                    f"{self._name}: {name} is {float(answers[step, row, column])} in step "
                    f"{step + 1} of {board}, in training; if weights have grown too large, lower "
                    "--lr"
                )

    def exported(self) -> ModuleNet:
        """The network with the weights that it has now."""
        return as_module_net(self.module, self._spec)

    def is_graded(self, name: str) -> bool:
        """Never: no layer is known."""
        return False

    def fold(self) -> None:
        """A module has nothing to fold."""

    def settle_grid(self) -> None:
        """A module has no grid."""

    def forget_statistics(self) -> None:
        """Let the running statistics be as they were after the last update."""
        self._statistics.forget()

    def absorb_statistics(self, sum_over_ranks: Callable[[list[Tensor]], None]) -> None:
        """Move the running statistics; called once an update on every rank, as that of
        ``SpikingNet``."""
        self._statistics.absorb(sum_over_ranks)


class RunningStatistics:
    """Running statistics of a module's normalising layers, the same for any shares of a batch.

    Every forward of an update begins with those after the last update; what it makes of them is
    averaged over the rows of the batch.
    """

    def __init__(self, module: nn.Module) -> None:
        """The layers of ``module``."""
        self._module = module
        self._before: list[Tensor] = []
        """The statistics after the last update; empty where no forward moved them."""
        self._sums: list[Tensor] = []
        """float64 each: sums over rows of what their forward made of them, and their number."""

    @contextmanager
    def moved_by(self, num_rows: int) -> Iterator[None]:
        """Let a forward of so many rows move them within the block."""
        self._restore()
        self._before = self._before or [tensor.clone() for tensor in self._tensors()]
        self._sums = self._sums or self._zeros()
        yield
        moved = [tensor.double() for tensor in self._tensors()]
        for total, value in zip(self._sums[:-1], moved, strict=True):
            total += on_grid(value * num_rows)
        self._sums[-1] += num_rows

    def forget(self) -> None:
        """Let them be as they were after the last update."""
        self._restore()
        self._before, self._sums = [], []

    def absorb(self, sum_over_ranks: Callable[[list[Tensor]], None]) -> None:
        """Move them to the mean over all rows; ``sum_over_ranks`` adds those of other ranks."""
        *sums, num_rows = self._sums or self._zeros()
        if sums:
            sum_over_ranks([*sums, num_rows])
        for tensor, total in zip(self._tensors(), sums, strict=True):
            tensor.copy_(total / num_rows)
        self._before, self._sums = [], []

    def _restore(self) -> None:
        for tensor, before in zip(self._tensors(), self._before, strict=False):
            tensor.copy_(before)

    def _zeros(self) -> list[Tensor]:
        tensors = [torch.zeros_like(tensor, dtype=torch.float64) for tensor in self._tensors()]
        device = tensors[0].device if tensors else None
        return [*tensors, torch.zeros((), dtype=torch.float64, device=device)]

    def _tensors(self) -> list[Tensor]:
        return [
            tensor
            for norm in self._module.modules()
            if isinstance(norm, _NormBase) and norm.track_running_stats
            for tensor in (norm.running_mean, norm.running_var, norm.num_batches_tracked)
            if tensor is not None
        ]


LearnedNet = SpikingNet | TrainedModule
"""The networks that a learner takes."""


def exported_net(net: LearnedNet) -> PlayableNet:
    """The network with the weights that ``net`` has now, as it is published."""
    return net.exported() if isinstance(net, TrainedModule) else exported(net)
