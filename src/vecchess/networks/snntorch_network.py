"""Networks of snntorch, as they are: the neurons' hidden state as argument and result.

A neuron keeps its state in buffers that are no part of the state dict, whether it is made with
``init_hidden`` or is given its state by the caller, and makes zeros where an input has another
shape. So the state is put into the buffers and taken from them; ``init_leaky``, ``reset_mem`` and
their like, which a loop over time calls before its first step, give what is there.

The classes' ``reset_hidden``, and ``snntorch.utils.reset``, clear all neurons of the process: a
network may not call them in ``forward``.
"""

from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn

from vecchess.errors import NetworkError
from vecchess.networks.hidden_state import HiddenStateNetwork
from vecchess.networks.state_nest import Nest


class SnntorchNetwork(HiddenStateNetwork):
    """A network of snntorch's neurons, in which time runs step by step."""

    def __init__(self, net: nn.Module, time_steps: int, **settings: Any) -> None:
        """As ``HiddenStateNetwork``; raises NetworkError for a network without such neurons."""
        super().__init__(net, time_steps, **settings)
        if not self._neurons():
            raise NetworkError(
                f"{type(net).__name__} has no snntorch neuron with a state; LeakyParallel computes "
                "all time steps at once and cannot be served"
            )
        for neuron in self._neurons():
            neuron.reset_mem = MethodType(_present_state, neuron)

    def _neurons(self) -> list[Any]:
        import snntorch

        found = [one for one in self.net.modules() if isinstance(one, snntorch.SpikingNeuron)]
        return [neuron for neuron in found if state_names(neuron)]

    def _put(self, state: Nest) -> None:
        for neuron, tensors in zip(self._neurons(), state, strict=True):
            for name, tensor in zip(state_names(neuron), tensors, strict=True):
                setattr(neuron, name, tensor)

    def _take(self) -> Nest:
        return [
            tuple(getattr(neuron, name) for name in state_names(neuron))
            for neuron in self._neurons()
        ]

    def _clear(self) -> None:
        for neuron in self._neurons():
            for name in state_names(neuron):
                setattr(neuron, name, torch.zeros(0, device=getattr(neuron, name).device))
            for name, value in list(vars(neuron).items()):  # results of the last step
                if isinstance(value, Tensor):
                    delattr(neuron, name)

    def _resting(self) -> Nest:
        return [tuple(map(torch.zeros_like, tensors)) for tensors in self._take()]


def state_names(neuron: nn.Module) -> list[str]:
    """The buffers that hold a neuron's state, in the order in which its methods return them."""
    return [name for name in neuron._buffers if name in neuron._non_persistent_buffers_set]


def _present_state(neuron: nn.Module) -> Any:
    """Stands in for ``reset_mem``: the state as it is."""
    tensors = tuple(getattr(neuron, name) for name in state_names(neuron))
    return tensors if len(tensors) > 1 else tensors[0]
