"""Networks of norse, as they are: cells that take and return a state, wherever that is kept.

A cell is called with a state, or with None before its first step; a ``SequentialState``, or a loop
over time in ``forward``, hands the state on. The network is called as before its first step, and
each cell is given the state of its slots instead; the state that it returns is the next one.
"""

from functools import partial
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from vecchess.errors import NetworkError
from vecchess.networks.hidden_state import HiddenStateNetwork, spread
from vecchess.networks.state_nest import Nest, leaves, map_nest


class NorseNetwork(HiddenStateNetwork):
    """A network of norse's cells that takes one time step a call."""

    def __init__(
        self, net: nn.Module, time_steps: int, *, loop: str = "seq_length", **settings: Any
    ) -> None:
        """Wrap ``net``, see ``HiddenStateNetwork``; raises NetworkError for one without cells, and
        for one with modules over sequences that does not take ``sequence``."""
        super().__init__(net, time_steps, loop=loop, **settings)
        cells = _cells(net)
        if not cells:
            raise NetworkError(
                f"{type(net).__name__} has no norse cell with a state, as LIFCell; a state of "
                "functions, as lif_step, goes from step to step in the contract's own state"
            )
        if not self.sequence:
            _require_cells(net)
        self._before: list[Nest] | None = None
        self._first: list[Nest] = [None] * len(cells)
        self._after: list[Nest] = [None] * len(cells)
        for index, cell in enumerate(cells):
            cell.register_forward_pre_hook(partial(self._give, index), with_kwargs=True)
            cell.register_forward_hook(partial(self._receive, index))

    def _give(self, index: int, cell: nn.Module, args: Any, kwargs: Any) -> Any:
        """Before a cell's step: its arguments with the state of its slots."""
        if not self._is_served:
            return None
        if self._after[index] is not None:
            raise NetworkError(
                f"{type(cell).__name__} is called twice in a time step and would mix its states: "
                "a network over sequences needs sequence=True, two layers a cell each"
            )
        if self._before is None:
            given = args[1] if len(args) > 1 else kwargs.get("state")
            fallback = getattr(cell, "state_fallback", None)
            self._first[index] = fallback(args[0]) if given is None and fallback else given
            return None
        return args[:1], kwargs | {"state": self._before[index]}

    def _receive(self, index: int, _cell: nn.Module, _args: Any, output: Any) -> None:
        """After a cell's step: (spikes or voltages, state)."""
        if self._is_served:
            self._after[index] = output[1]

    def _own_calls(self, planes: Tensor, steps: int) -> list[Any] | None:
        """Calls that hand a state on, as to and from a SequentialState; None without one."""
        if "state" not in signature(self.net.forward).parameters:
            return None
        outputs, state = [], None
        for _ in range(steps):
            output = self.net(planes) if state is None else self.net(planes, state=state)
            state = output[1]
            outputs.append(output)
        return outputs

    def _is_neuron(self, module: nn.Module) -> bool:
        return module in _cells(self.net)

    def _run(self, planes: Tensor) -> Any:
        """Run a time step; raises NetworkError at the first step of a network that
        returns a state which is none of its cells'."""
        output = super()._run(planes)
        returned = output[1] if isinstance(output, tuple) and len(output) == 2 else None
        if self._before is None and isinstance(returned, list | tuple | dict):
            known = {id(tensor) for tensor in leaves(self._after)}
            if any(id(tensor) not in known for tensor in leaves(returned)):
                raise NetworkError(
                    f"{type(self.net).__name__} returns a state that no cell of norse has "
                    "(RecurrentSequential, an RNN of torch): it cannot be served"
                )
        return output

    def _put(self, state: Nest) -> None:
        self._clear()
        self._before = list(state)

    def _take(self) -> Nest:
        return list(self._after)

    def _clear(self) -> None:
        self._before = None
        self._first, self._after = ([None] * len(self._after) for _ in range(2))

    def _resting(self) -> Nest:
        return [
            map_nest(torch.zeros_like, after) if first is None else map_nest(spread, first, after)
            for first, after in zip(self._first, self._after, strict=True)
        ]


def _cells(net: nn.Module) -> list[nn.Module]:
    """Modules whose ``forward`` takes a state, and that are made of no such modules."""
    takers = [
        one
        for one in net.modules()
        if "state" in signature(one.forward).parameters and not isinstance(one, nn.Sequential)
    ]
    return [one for one in takers if not any(part in takers for part in list(one.modules())[1:])]


def _require_cells(net: nn.Module) -> None:
    """Raise NetworkError for modules of norse that take a sequence."""
    from norse.torch.module.lift import Lift
    from norse.torch.module.snn import SNN, SNNRecurrent

    for module in net.modules():
        if isinstance(module, SNN | SNNRecurrent | Lift):
            name = type(module).__name__
            raise NetworkError(
                f"{name} takes a sequence of time steps: sequence=True gives the network "
                "[1, S, P, 8, 8], or take cells, as LIFCell in place of LIF"
            )
