"""Networks of spikingjelly in step mode "s", as they are: memories as argument and result.

A ``MemoryModule`` keeps its state in ``_memories``, outside the state dict: a number, or None,
until its first input, then tensors of that input's shape, and again after ``reset``. So tensors are
put into the memories and taken from them, and ``functional.reset_net``, which a loop over time
calls before its first step or after its last, leaves them as they are.
"""

from copy import deepcopy
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn

from vecchess.errors import NetworkError
from vecchess.networks.hidden_state import HiddenStateNetwork
from vecchess.networks.state_nest import Nest


class SpikingjellyNetwork(HiddenStateNetwork):
    """A network of spikingjelly's modules that takes one time step a call."""

    def __init__(
        self, net: nn.Module, time_steps: int, *, loop: str = "T", **settings: Any
    ) -> None:
        """Wrap ``net``, see ``HiddenStateNetwork``; raises NetworkError for one without memories
        or with a module that computes all time steps at once or with a backend of its own."""
        super().__init__(net, time_steps, loop=loop, **settings)
        for module in net.modules():
            _require_stepwise(module)
        if not self._memory_modules():
            raise NetworkError(
                f"{type(net).__name__} has no spikingjelly module with a memory, such as LIFNode"
            )
        self._serve(is_served=True)

    def _serve(self, is_served: bool) -> None:
        super()._serve(is_served)
        for module in self._memory_modules():
            vars(module).pop("reset", None)
            if is_served:
                module.reset = MethodType(_keep_memories, module)

    def _is_neuron(self, module: nn.Module) -> bool:
        return module in self._memory_modules()

    def _memory_modules(self) -> list[Any]:
        """Modules with memories."""
        from spikingjelly.activation_based.base import MemoryModule

        found = [one for one in self.net.modules() if isinstance(one, MemoryModule)]
        return [module for module in found if module._memories]

    def _put(self, state: Nest) -> None:
        for module, tensors in zip(self._memory_modules(), state, strict=True):
            module._memories.update(tensors)

    def _take(self) -> Nest:
        return [
            {name: value for name, value in module._memories.items() if _is_state(value)}
            for module in self._memory_modules()
        ]

    def _clear(self) -> None:
        for module in self._memory_modules():
            for name, value in module._memories_rv.items():
                module._memories[name] = deepcopy(value)
            type(module).reset(module)  # results of the last step besides

    def _resting(self) -> Nest:
        for module in self._memory_modules():
            for name, value in module._memories.items():
                if not _is_state(value) and value != module._memories_rv[name]:
                    raise NetworkError(
                        f"{type(module).__name__} keeps a {type(value).__name__} for the whole "
                        f"batch ({name}): positions at different time steps cannot share it"
                    )
        return [
            {name: _at_rest(value, module._memories_rv[name]) for name, value in tensors.items()}
            for module, tensors in zip(self._memory_modules(), self._take(), strict=True)
        ]


def _is_state(value: Any) -> bool:
    return value is None or isinstance(value, Tensor)


def _at_rest(value: Tensor | None, reset_value: Any) -> Tensor | None:
    """What a memory that has become ``value`` begins with; modules make zeros of None."""
    if value is None:
        return None
    return torch.zeros_like(value) + (0 if reset_value is None else reset_value)


def _require_stepwise(module: nn.Module) -> None:
    """Raise NetworkError for a module of spikingjelly that does not compute one time step."""
    from spikingjelly.activation_based.base import MultiStepModule

    name = type(module).__name__
    if isinstance(module, MultiStepModule):
        raise NetworkError(f"{name} computes all time steps at once and cannot be served")
    if getattr(module, "step_mode", "s") != "s":
        raise NetworkError(
            f'{name} has step mode "{module.step_mode}" and computes all time steps at once: '
            'spikingjelly.activation_based.functional.set_step_mode(net, "s")'
        )
    if getattr(module, "backend", "torch") != "torch":
        raise NetworkError(
            f'{name} has the backend "{module.backend}": '
            'spikingjelly.activation_based.functional.set_backend(net, "torch")'
        )


def _keep_memories(_module: nn.Module) -> None:
    """Stands in for ``reset``, which the network may call in ``forward``."""
