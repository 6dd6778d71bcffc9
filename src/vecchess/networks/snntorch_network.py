"""Networks of snntorch, as they are: the neurons' hidden state as argument and result.

A neuron that is made with ``init_hidden`` keeps its state in buffers that are no part of the state
dict: it is put there and taken from there, and ``reset_mem`` and ``init_leaky``, which a loop over
time calls before its first step, leave it. To another neuron the caller gives its state: the first
call gets that of its slots instead, whatever the loop begins with. A neuron that a step calls for
several layers, each with a membrane of its own, has the states of all these calls.

A ``Leaky`` neuron as the tutorials make it takes its step in five passes over memory instead of
twelve, with gradients in seven, to the same bits (decision 273).
"""

from functools import partial
from itertools import zip_longest
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn

from vecchess.errors import NetworkError
from vecchess.networks.hidden_state import HiddenStateNetwork, spread
from vecchess.networks.state_nest import Nest

Call = tuple[Tensor, ...]
"""The state of a neuron at one of its calls in a step, in the order of ``state_names``."""


class SnntorchNetwork(HiddenStateNetwork):
    """A network of snntorch's neurons, in which time runs step by step."""

    def __init__(self, net: nn.Module, time_steps: int, **settings: Any) -> None:
        """Wrap ``net``, see ``HiddenStateNetwork``; raises NetworkError without such neurons."""
        super().__init__(net, time_steps, **settings)
        self._neurons = neurons = _neurons(net)
        if not neurons:
            raise NetworkError(
                f"{type(net).__name__} has no snntorch neuron with a state; LeakyParallel computes "
                "all time steps at once and cannot be served"
            )
        self._before: list[list[Call]] | None = None
        """States of slots, of each neuron's calls in a step; None: the network begins anew."""
        self._first: list[list[Call]] = [[] for _ in neurons]
        """What the calls of the step were given by the network itself."""
        self._after: list[list[Call]] = [[] for _ in neurons]
        self._call = [0] * len(neurons)
        """Which of its calls in a step a neuron is at."""
        _leave_to_slots(neurons)
        for index, neuron in enumerate(neurons):
            if _is_plain_leaky(neuron):
                neuron.forward = MethodType(_leaky_step, neuron)
            if not neuron.init_hidden:
                neuron.register_forward_pre_hook(partial(self._give, index), with_kwargs=True)
                neuron.register_forward_hook(partial(self._receive, index))
        self._serve(is_served=True)

    def _serve(self, is_served: bool) -> None:
        super()._serve(is_served)
        for neuron in self._neurons:
            vars(neuron).pop("reset_mem", None)
            if is_served:
                neuron.reset_mem = MethodType(_present_state, neuron)

    def _is_neuron(self, module: nn.Module) -> bool:
        return module in self._neurons

    def _give(self, index: int, neuron: nn.Module, args: Any, kwargs: Any) -> Any:
        """Before a neuron's step: its arguments with the state of its slots."""
        if not self._is_served:
            return None
        names, after = state_names(neuron), self._after[index]
        given = (*args[1:], *(kwargs[name] for name in names if name in kwargs))
        call = _continued(given, after)
        self._call[index] = call
        if call < len(after):
            return None
        if self._before is None:
            self._first[index].append(tuple(one for one in given if isinstance(one, Tensor)))
            return None
        if call >= len(self._before[index]):
            raise NetworkError(
                f"{type(neuron).__name__} is called more often in this time step than in the first"
            )
        return args[:1], kwargs | dict(zip(names, self._before[index][call], strict=True))

    def _receive(self, index: int, neuron: nn.Module, _args: Any, _output: Any) -> None:
        """After a neuron's step: its state is in its buffers."""
        if self._is_served:
            state = tuple(getattr(neuron, name) for name in state_names(neuron))
            call = self._call[index]
            self._after[index][call : call + 1] = [state]

    def _put(self, state: Nest) -> None:
        self._begin(state)
        for neuron, calls in zip(self._neurons, state, strict=True):
            if neuron.init_hidden:
                for name, tensor in zip(state_names(neuron), calls[0], strict=True):
                    setattr(neuron, name, tensor)

    def _take(self) -> Nest:
        return [
            [tuple(getattr(neuron, name) for name in state_names(neuron))]
            if neuron.init_hidden
            else list(after)
            for neuron, after in zip(self._neurons, self._after, strict=True)
        ]

    def _begin(self, before: list[list[Call]] | None) -> None:
        self._before = before
        self._first = [[] for _ in self._neurons]
        self._after = [[] for _ in self._neurons]

    def _clear(self) -> None:
        self._begin(None)
        for neuron in self._neurons:
            for name in state_names(neuron):
                setattr(neuron, name, torch.zeros(0, device=getattr(neuron, name).device))
            for name, value in list(vars(neuron).items()):  # results of the last step
                if isinstance(value, Tensor):
                    delattr(neuron, name)

    def _resting(self) -> Nest:
        """Zeros, or what the network gave its neurons itself in the shape of their state."""
        return [
            [_begun(call, first) for call, first in zip_longest(calls, firsts, fillvalue=())]
            for calls, firsts in zip(self._take(), self._first, strict=True)
        ]


def _continued(given: Call, after: list[Call]) -> int:
    """Which of a neuron's earlier calls in a step a call goes on with; their number for none."""
    for call, state in enumerate(after):
        if not given or any(one is other for one in given for other in state):
            return call
    return len(after)


def _begun(after: Call, first: Call) -> Call:
    """The state before the step that left ``after``; snntorch begins with zeros where what it is
    given has another shape than the input."""
    if [one.shape for one in first] != [one.shape for one in after]:
        return tuple(map(torch.zeros_like, after))
    return tuple(map(spread, first, after))


def _leave_to_slots(neurons: list[Any]) -> None:
    """Take the neurons from the list of all of the process, whose states ``snntorch.utils.reset``
    and ``reset_hidden`` clear, also in ``forward``."""
    from snntorch import SpikingNeuron

    served = {id(neuron) for neuron in neurons}
    SpikingNeuron.instances[:] = [one for one in SpikingNeuron.instances if id(one) not in served]


def _neurons(net: nn.Module) -> list[Any]:
    """The neurons of ``net`` that have a state."""
    import snntorch

    found = [one for one in net.modules() if isinstance(one, snntorch.SpikingNeuron)]
    return [neuron for neuron in found if state_names(neuron)]


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
