"""A module that a user brings, as the learner sees a network: T calls, with autograd through them.

There is one phase: nothing is folded, and what learns is what is published. Batch norm learns the
statistics of each micro-batch, and its running ones are averaged over ranks after an update.
"""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from vecchess.inference.playable_net import PlayableNet
from vecchess.networks.module_net import ModuleNet, as_module_net
from vecchess.networks.step_module import ModuleSizes, StepModule
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
        self._spec = net.spec
        self.module = cast(nn.Module, net.module())
        for name in ("policy_gain", "value_gain"):
            self.register_buffer(name, torch.tensor(1.0), persistent=False)

    @property
    def learns_as_it_plays(self) -> bool:
        """Whether the module computes the same in training as in play."""
        differing = _BatchNorm | _DropoutNd
        return not any(isinstance(one, differing) for one in self.module.modules())

    def forward(
        self, planes: Tensor, num_steps: int | None = None, legal: Tensor | None = None
    ) -> NetOutput:
        """``num_steps`` (T by default) steps; legal: int64[B, L], the actions that are wanted."""
        if not planes.is_floating_point():
            planes = unpack_bitboards(planes)
        boards = planes.permute(0, 3, 1, 2).contiguous()
        module = cast(StepModule, self.module)
        state = module.initial_state(len(boards))
        policies, outcomes = [], []
        for _ in range(num_steps or self.config.time_steps):
            policy, wdl, state = module.forward(boards, state)
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
