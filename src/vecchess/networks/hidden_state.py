"""What adapters have in common: a library's modules hide their state, the contract shows it.

The wrapped network takes one time step a call, or has a loop over time of its own whose number of
steps is an attribute, which is set to 1. What slots compute is compared with what the network
computes as it is written, so that no other network than the user's is served (decision 307).
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from vecchess.chess.planes import NUM_PLANES
from vecchess.errors import NetworkError
from vecchess.networks.state_nest import Nest, leaves, map_nest, reset_slots
from vecchess.shapes import NUM_ACTIONS, NUM_OUTCOMES

ReadOutput = Callable[[Any], tuple[Tensor, Tensor]]
"""What a network gives in a time step -> policy [S, 4672] and wdl [S, 3]."""
COMPARED_STEPS = 4
"""Most time steps in which slots are compared with the network as it is written."""
LOUDNESS = (1.0, 10.0)
"""Matrices of weights are multiplied by these there: new ones hardly make a neuron spike."""
TOLERANCE = 1e-4
"""Part of the largest logit by which sums in another order may differ."""


def policy_and_wdl(output: Any) -> tuple[Tensor, Tensor]:
    """Policy and win/draw/loss in what a network gives for one time step.

    output: a pair [S, 4672] and [S, 3], or a tensor [S, 4675] that holds one behind the other,
    alone or first in a tuple; a first dimension of one time step is dropped. Raises NetworkError
    for anything else.
    """
    parts = list(output) if isinstance(output, tuple | list) else [output]
    found = [_of_one_step(part) for part in parts if isinstance(part, Tensor)]
    widths = [part.shape[-1] for part in found if part.dim() == 2]
    if widths[:2] == [NUM_ACTIONS, NUM_OUTCOMES]:
        return found[0], found[1]
    if widths[:1] == [NUM_ACTIONS + NUM_OUTCOMES]:
        return found[0][:, :NUM_ACTIONS], found[0][:, NUM_ACTIONS:]
    shapes = [list(part.shape) for part in parts if isinstance(part, Tensor)]
    advice = "give the adapter a function read that makes the pair"
    if any(part.dim() == 3 for part in found):
        advice = _LOOP_ADVICE
    raise NetworkError(
        f"the network gives {shapes or type(output).__name__} in a step, neither [S, 4672] and "
        f"[S, 3] nor [S, 4675]: {advice}"
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
        self._loop = loop if hasattr(net, loop) else None
        self._is_served = True
        self._set_loop(1)
        self.register_load_state_dict_post_hook(_forget_first)  # type: ignore[no-untyped-call]

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

    @torch.no_grad()
    def check_own_loop(self, planes: Tensor) -> None:
        """Raise NetworkError unless slots compute what the network does as it is written.

        planes: float32[S, P, 8, 8], S more than ``COMPARED_STEPS``. Both take some time steps of
        the same positions, with the weights as they are and with louder ones; slots in another
        order, half of them a step behind the others.
        """
        steps, name = min(self.time_steps, COMPARED_STEPS), type(self.net).__name__
        calls = self._calls_in_a_step(planes)
        if (count := self._steps_in_a_call(calls)) > 1:
            lengths = [key for key, value in vars(self.net).items() if value == count]
            advice = f'give the adapter loop="{lengths[0]}"' if len(lengths) == 1 else _LOOP_ADVICE
            raise NetworkError(f"{name} takes {count} time steps in a call: {advice}")
        late = torch.arange(len(planes)) % 2 == 1
        order = torch.arange(len(planes)).flip(0)
        for loudness in LOUDNESS:
            with self._louder(loudness):
                own = self._own_steps(planes, steps)
                if own is None or not bool(own.isfinite().all()):
                    continue
                served = self._served_steps(planes[order], steps, late)[:, order]
                if fault := self._fault(own, served):
                    causes = [*_totals(own, served), *self._causes(calls), _UNKNOWN_CAUSE]
                    raise NetworkError(
                        f"{name} would be served as another network: {fault}; {causes[0]}"
                    )

    @contextmanager
    def _louder(self, factor: float) -> Iterator[None]:
        """The network with its matrices of weights multiplied by ``factor`` meanwhile."""
        matrices = [] if factor == 1 else [one for one in self.net.parameters() if one.dim() > 1]
        kept = [matrix.clone() for matrix in matrices]
        try:
            for matrix in matrices:
                matrix.mul_(factor)
            self._rows = None
            yield
        finally:
            for matrix, before in zip(matrices, kept, strict=True):
                matrix.copy_(before)
            self._rows = None

    def _own_steps(self, planes: Tensor, steps: int) -> Tensor | None:
        """What the network gives as it is written: [T, S, 4675], or [S, 4675] where it gives one
        answer for all steps; None where it has no steps of its own."""
        self._clear()
        self._serve(is_served=False)
        self._set_loop(steps)
        try:
            if self.sequence or self._loop is not None:
                given = planes.expand(steps, *planes.shape) if self.sequence else planes
                output = self.net(given)
                parts = [_at_step(output, step, steps) for step in range(steps)]
                if steps == 1 or any(part is None for part in parts):
                    return torch.cat(self._read(output), dim=1)
                return torch.stack([torch.cat(self._read(part), dim=1) for part in parts])
            outputs = self._own_calls(planes, steps)
            if outputs is None:
                return None
            return torch.stack([torch.cat(self._read(one), dim=1) for one in outputs])
        finally:
            self._set_loop(1)
            self._serve(is_served=True)
            self._clear()

    def _own_calls(self, planes: Tensor, steps: int) -> list[Any] | None:
        """What the network gives in so many calls, as its user writes them; None where it would
        begin anew at each."""
        return [self.net(planes) for _ in range(steps)]

    def _served_steps(self, planes: Tensor, steps: int, late: Tensor) -> Tensor:
        """[T, S, 4675]: what slots answer of which those that are ``late: bool[S]`` begin anew
        after a step."""
        initial = state = self.initial_state(len(planes))
        outputs = []
        for step in range(steps + 1):
            if step == 1:
                state = reset_slots(state, initial, late)
            policy, wdl, state = self(planes, state)
            outputs.append(torch.cat([policy, wdl], dim=1))
        found = torch.stack(outputs)
        return torch.where(late[None, :, None], found[1:], found[:-1])

    def _fault(self, own: Tensor, served: Tensor) -> str:
        """What differs between the network's answers and those of slots; "" where nothing does."""
        what = "in step {}"
        if own.dim() == 2:
            is_last = self.readout == "last"
            what = "in the last step" if is_last else "in the mean of the steps"
            own, served = own[None], (served[-1] if is_last else served.mean(0))[None]
        # a sequence is computed as one batch, where a spike on the edge may turn over
        allowed = own.shape[1] // 4 if self.sequence else 0
        for step, (ours, theirs) in enumerate(zip(own, served, strict=True), 1):
            wrong = ~_agreeing(ours, theirs)
            if int(wrong.any(1).sum()) > allowed:
                is_wdl = bool(wrong[:, NUM_ACTIONS:].any())
                part = slice(NUM_ACTIONS, None) if is_wdl else slice(0, NUM_ACTIONS)
                apart = float((ours - theirs)[:, part].abs().max())
                return (
                    f"{'win/draw/loss' if is_wdl else 'policy'} differ by "
                    f"{apart:.3g} {what.format(step)} (logits up to "
                    f"{float(ours[:, part].abs().max()):.3g})"
                )
        return ""

    def _calls_in_a_step(self, planes: Tensor) -> list[tuple[str, nn.Module, int]]:
        """Neurons, and modules without parts, that are called in a step: name, module, calls."""
        counts: Counter[str] = Counter()

        def count(name: str, *_: Any) -> None:
            counts[name] += 1

        parts = {
            name: one
            for name, one in self.net.named_modules()
            if self._is_neuron(one) or not any(True for _ in one.children())
        }
        state = self.initial_state(len(planes))
        hooks = [one.register_forward_hook(partial(count, name)) for name, one in parts.items()]
        try:
            self(planes, state)
        finally:
            for hook in hooks:
                hook.remove()
        return [(name, parts[name], calls) for name, calls in counts.items()]

    def _steps_in_a_call(self, calls: list[tuple[str, nn.Module, int]]) -> int:
        """Steps that a loop of an unknown length takes in a call: how often the last layer and
        every neuron is called; else 1."""
        layers = [count for _, one, count in calls if any(True for _ in one.parameters())]
        neurons = [count for _, one, count in calls if self._is_neuron(one)]
        counts = {*layers[-1:], *neurons}
        return counts.pop() if len(counts) == 1 else 1

    def _causes(self, calls: list[tuple[str, nn.Module, int]]) -> list[str]:
        """What is likely the matter with a network that slots compute otherwise."""
        called = {id(one) for _, one, _ in calls}
        found = [
            f"{name} has a norm for each time step (BatchNormTT), and positions at different steps "
            "share a batch: take one norm for all steps"
            for name, one in self.net.named_modules()
            if isinstance(one, nn.ModuleList)
            and len([norm for norm in one if isinstance(norm, _BatchNorm)]) > 1
            and sum(id(norm) in called for norm in one) == 1
        ]
        for name, one, count in calls:
            if count > 1 and self._is_neuron(one):
                kind = type(one).__name__
                found.append(
                    f"{name} ({kind}) is called {count} times in a time step and would mix its "
                    "states: make one for each layer"
                )
        return found

    def _set_loop(self, steps: int) -> None:
        """Let the network's own loop take so many steps, where it has one."""
        if self._loop is not None:
            setattr(self.net, self._loop, steps)

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
        with torch.enable_grad():  # a first state that is learnt is seen by its gradient
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

    def _serve(self, is_served: bool) -> None:
        """Take the state from slots and give it to them, or let the network keep it as it does."""
        self._is_served = is_served

    @abstractmethod
    def _is_neuron(self, module: nn.Module) -> bool:
        """Whether a module has a state."""

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


_LOOP_ADVICE = (
    "vecchess takes them one by one, so the length of its loop has to be an attribute of the "
    'network, which loop="..." of the adapter names, as loop="num_steps"'
)
_UNKNOWN_CAUSE = (
    "what it keeps outside of its neurons, counts, or does differently from step to step cannot be "
    "in slots"
)


def _forget_first(network: HiddenStateNetwork, _keys: Any) -> None:
    """Have a network find its first state again: its weights are others now."""
    network._rows = None


def _totals(own: Tensor, served: Tensor) -> list[str]:
    """What one answer of a network for all steps is instead of their mean."""
    if own.dim() != 2:
        return []
    if _agreeing(own, served.sum(0)).all():
        return ["it gives the sum of its time steps, slots the mean: divide by their number"]
    if _agreeing(own, served[-1]).all():
        return ['it gives the last time step: readout="last" of the adapter']
    return []


def spread(first: Tensor, after: Tensor) -> Tensor:
    """A state's tensor before the first step, a number for all neurons perhaps, as after it.

    Raises NetworkError for one that is learnt: slots begin with copies, which pass no gradient on.
    """
    if first.requires_grad:
        raise NetworkError(
            "the state before the first step follows from parameters and would not be trained: "
            "make it a buffer, or call requires_grad_(False)"
        )
    return first.detach().to(after).expand_as(after).clone()


def _agreeing(ours: Tensor, theirs: Tensor) -> Tensor:
    """Where two answers differ by no more than sums in another order may, a bool for each logit."""
    return (ours - theirs).abs() <= TOLERANCE * ours.abs().max() + 1e-6


def _at_step(output: Any, step: int, steps: int) -> Any:
    """One time step of what a network gives for all; None where it has no steps."""
    if isinstance(output, Tensor):
        return output[step : step + 1] if output.dim() > 2 and len(output) == steps else None
    if isinstance(output, list) and len(output) == steps:
        return output[step : step + 1]
    if isinstance(output, tuple | list):
        parts = [_at_step(part, step, steps) for part in output]
        return None if all(part is None for part in parts) else tuple(parts)
    if isinstance(output, Mapping):
        named = {name: _at_step(part, step, steps) for name, part in output.items()}
        return None if all(part is None for part in named.values()) else named
    return None


def _of_one_step(output: Tensor) -> Tensor:
    """[S, N] of [S, N] or [1, S, N]."""
    return output[0] if output.dim() == 3 and len(output) == 1 else output
