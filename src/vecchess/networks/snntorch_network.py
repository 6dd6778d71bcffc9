"""Networks of snntorch, as they are: the neurons' hidden state as argument and result.

A neuron keeps its state in buffers that are no part of the state dict, whether it is made with
``init_hidden`` or is given its state by the caller, and makes zeros where an input has another
shape. So the state is put into the buffers and taken from them; ``init_leaky``, ``reset_mem`` and
their like, which a loop over time calls before its first step, give what is there.

A ``Leaky`` neuron as the tutorials make it takes its step in five passes over memory instead of
twelve, with gradients in seven, to the same bits (decision 273).

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
        """Wrap ``net``, see ``HiddenStateNetwork``; raises NetworkError without such neurons."""
        super().__init__(net, time_steps, **settings)
        if not self._neurons():
            raise NetworkError(
                f"{type(net).__name__} has no snntorch neuron with a state; LeakyParallel computes "
                "all time steps at once and cannot be served"
            )
        for neuron in self._neurons():
            neuron.reset_mem = MethodType(_present_state, neuron)
            if _is_plain_leaky(neuron):
                neuron.forward = MethodType(_leaky_step, neuron)

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


def _is_plain_leaky(neuron: Any) -> bool:
    """Whether ``_leaky_step`` computes what ``neuron`` does: a Leaky with the reset by subtraction
    and a surrogate of snntorch's, whose spike is 1 above the threshold; no option beyond that."""
    import snntorch

    if type(neuron) is not snntorch.Leaky or "forward" in vars(neuron):
        return False
    surrogate = getattr(neuron.spike_grad, "__module__", None) == "snntorch.surrogate"
    options = neuron.inhibition, neuron.state_quant, not getattr(neuron, "reset_delay", True)
    return (
        neuron.reset_mechanism == "subtract"
        and (surrogate or neuron.surrogate_disable)
        and not any(options)
        and neuron.beta.dtype == neuron.threshold.dtype == torch.float32
    )


def _leaky_step(neuron: Any, current: Tensor, mem: Tensor | None = None) -> Any:
    """Stands in for ``Leaky.forward``: the same sums and gradients, fewer tensors in between.

    current: float32[S, ...], or bfloat16; mem: float32[S, ...]. Returns spikes and membrane, or the
    spikes alone, as it does; the attribute ``reset`` is not set.
    """
    before = neuron.mem if mem is None else mem
    threshold, factor = neuron.threshold, neuron.graded_spikes_factor
    if (
        current.device.type != "cpu"
        or before.shape != current.shape
        or before.dtype != torch.float32
        or current.dtype not in (torch.float32, torch.bfloat16)
        or (neuron.init_hidden and mem is not None)
        or threshold.requires_grad
        or factor.requires_grad
    ):
        return type(neuron).forward(neuron, current, mem)
    reset = torch.gt(before.detach(), threshold, out=torch.empty_like(before))
    after = torch.mul(before, neuron.beta.clamp(0, 1)).add_(current)
    after.addcmul_(reset, threshold, value=-1)  # exact products: a fused one rounds the same
    if torch.is_grad_enabled():
        spikes = neuron.spike_grad(after - threshold)
    else:
        spikes = torch.gt(after, threshold, out=reset)
    if torch.compiler.is_compiling() or not bool((factor == 1).all()):
        spikes = spikes * factor  # a compiler fuses it, and cannot ask for a tensor's value
    neuron.mem = after
    return (spikes, after) if neuron.output or not neuron.init_hidden else spikes
