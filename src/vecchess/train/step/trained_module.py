"""A module that a user brings, as the learner sees a network: T calls, with autograd through them.

There is one phase: nothing is folded, and what learns is what is published. Batch norm learns the
statistics of each micro-batch, and its running ones are averaged over ranks after an update.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from copy import deepcopy
from typing import Self, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
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
        with self.users_code("a time step"):
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
        """For what runs code of the module, which messages call so."""
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
        """Batch norm has taken them already: they stay."""

    def absorb_statistics(self, sum_over_ranks: Callable[[list[Tensor]], None]) -> None:
        """Average the running statistics of batch norm over ranks."""
        running = [
            tensor
            for norm in self.module.modules()
            if isinstance(norm, _BatchNorm) and norm.track_running_stats
            for tensor in (norm.running_mean, norm.running_var)
            if tensor is not None
        ]
        if not running:
            return
        device = running[0].device
        sums = [tensor.double() for tensor in running]
        count = torch.ones(1, dtype=torch.float64, device=device)
        sum_over_ranks([*sums, count])
        for tensor, total in zip(running, sums, strict=True):
            tensor.copy_(total / count)


LearnedNet = SpikingNet | TrainedModule
"""The networks that a learner takes."""


def exported_net(net: LearnedNet) -> PlayableNet:
    """The network with the weights that ``net`` has now, as it is published."""
    return net.exported() if isinstance(net, TrainedModule) else exported(net)
