"""What adapters have in common: a library's modules hide their state, the contract shows it.

The wrapped network takes one time step a call, or has a loop over time of its own whose number of
steps is an attribute, which is set to 1.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from vecchess.chess.planes import NUM_PLANES
from vecchess.errors import NetworkError
from vecchess.networks.state_nest import Nest, leaves, map_nest
from vecchess.shapes import NUM_ACTIONS, NUM_OUTCOMES

ReadOutput = Callable[[Any], tuple[Tensor, Tensor]]
"""What a network gives in a time step -> policy [S, 4672] and wdl [S, 3]."""


def policy_and_wdl(output: Any) -> tuple[Tensor, Tensor]:
    """Policy and win/draw/loss in what a network gives for one time step.

    output: a pair [S, 4672] and [S, 3], or a tensor [S, 4675] that holds one behind the other,
    alone or first in a tuple; a first dimension of one time step is dropped. Raises NetworkError
    for anything else.
    """
    parts = list(output) if isinstance(output, tuple | list) else [output]
    found = [_of_one_step(part) for part in parts if isinstance(part, Tensor)]
    widths = [part.shape[-1] for part in found]
    if widths[:2] == [NUM_ACTIONS, NUM_OUTCOMES]:
        return found[0], found[1]
    if widths[:1] == [NUM_ACTIONS + NUM_OUTCOMES]:
        return found[0][:, :NUM_ACTIONS], found[0][:, NUM_ACTIONS:]
    shapes = [list(part.shape) for part in parts if isinstance(part, Tensor)]
    raise NetworkError(
        f"the network gives {shapes or type(output).__name__} in a step, neither [S, 4672] and "
        "[S, 3] nor [S, 4675]: give the adapter a function read that makes the pair"
    )


class HiddenStateNetwork(nn.Module, ABC):
    """A network of a library that meets ``networks.step_module.StepModule``; it is not changed."""

    exit_rule: Mapping[str, Any] | None
    _rows: Nest
    """The state of one slot before its first step, once it is known."""

    def __init__(
        self,
        net: nn.Module,
        time_steps: int,
        *,
        num_planes: int = NUM_PLANES,
        readout: str = "mean",
        exit_rule: Mapping[str, Any] | None = None,
        loop: str = "num_steps",
        sequence: bool = False,
        read: ReadOutput = policy_and_wdl,
    ) -> None:
        """``net``: planes float32[S, P, 8, 8] -> what ``read`` makes policy and wdl of.

        loop: the attribute of ``net`` that holds the number of steps of its own loop, where it has
        one. sequence: ``net`` takes float32[T, S, P, 8, 8]; it is given one step. The rest as in
        ``StepModule``. Raises NetworkError where there is no state to show.
        """
        super().__init__()
        self.net, self.time_steps, self.num_planes = net, time_steps, num_planes
        self.readout, self.exit_rule, self._read = readout, exit_rule, read
        self.sequence, self._rows = sequence, None
        if hasattr(net, loop):
            setattr(net, loop, 1)

    def initial_state(self, num_slots: int) -> Nest:
        """The state of ``num_slots`` positions before their first step."""
        device = next((tensor.device for tensor in self.parameters()), torch.device("cpu"))
        if self._rows is None:
            self._rows = map_nest(lambda tensor: tensor[:1].clone(), self._first_state(device))
        return map_nest(
            lambda row: row.to(device).expand(num_slots, *row.shape[1:]).clone(), self._rows
        )

    def forward(self, planes: Tensor, state: Nest) -> tuple[Tensor, Tensor, Nest]:
        """One time step: policy [S, 4672], wdl [S, 3] and the state after it."""
        self._put(state)
        policy, wdl = self._read(self._run(planes))
        after = self._take()
        self._clear()
        return policy, wdl, after

    def _run(self, planes: Tensor) -> Any:
        """What the network gives in one time step."""
        return self.net(planes[None] if self.sequence else planes)

    @torch.no_grad()
    def _first_state(self, device: torch.device) -> Nest:
        """The state of one slot before its first step. Libraries make it at the first input, so
        the network takes a step; as when it plays, so that nothing is learnt of it."""
        was_training = self.net.training
        self.net.eval()
        planes = torch.ones(1, self.num_planes, 8, 8, device=device)
        self._clear()
        self._run(planes)
        expected, first = self._take(), self._resting()
        self._put(first)
        self._run(planes)
        found = self._take()
        self._clear()
        self.net.train(was_training)
        if not all(map(torch.equal, leaves(expected), leaves(found))):
            raise NetworkError(
                f"{type(self.net).__name__}: from the state that it seems to begin with it does "
                "not take its first step again: random numbers, or a state of another kind"
            )
        return first

    @abstractmethod
    def _put(self, state: Nest) -> None:
        """Let the network go on from ``state``."""

    @abstractmethod
    def _take(self) -> Nest:
        """The state that the network is in."""

    @abstractmethod
    def _clear(self) -> None:
        """Let the network begin anew; it holds no tensor of the last step then."""

    @abstractmethod
    def _resting(self) -> Nest:
        """After a step: the state in which the network begins, with as many rows."""


def _of_one_step(output: Tensor) -> Tensor:
    """[S, N] of [S, N] or [1, S, N]."""
    return output[0] if output.dim() == 3 and len(output) == 1 else output
