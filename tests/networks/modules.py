"""Factories of modules that tests name as ``module:tests.networks.modules:...``."""

from typing import Any

import torch
from torch import Tensor, nn

WIDTH = 4


class Leaking(nn.Module):
    """One layer of neurons that leak and fire, its state in a dictionary."""

    time_steps = 4

    def __init__(self) -> None:
        super().__init__()
        self.current = nn.Conv2d(25, WIDTH, 3, padding=1)
        self.policy, self.wdl = nn.Linear(64 * WIDTH, 4672), nn.Linear(64 * WIDTH, 3)

    def initial_state(self, num_slots: int) -> Any:
        return {"membrane": torch.zeros(num_slots, WIDTH, 8, 8, device=self.wdl.weight.device)}

    def forward(self, planes: Tensor, state: Any) -> tuple[Tensor, Tensor, Any]:
        membrane = 0.5 * state["membrane"] + self.current(planes)
        spikes = (membrane > 0.3).float()
        fired = spikes.flatten(1)
        return self.policy(fired), self.wdl(fired), {"membrane": membrane - spikes}


class Counting(nn.Module):
    """Policy and value are the number of the step, 1 to 5, times a weight of 0.25."""

    time_steps = 5

    def __init__(self, readout: str) -> None:
        super().__init__()
        self.readout, self.weight = readout, nn.Parameter(torch.tensor(0.25))

    def initial_state(self, num_slots: int) -> Any:
        return torch.zeros(num_slots, 1)

    def forward(self, planes: Tensor, state: Any) -> tuple[Tensor, Tensor, Any]:
        step = state + 1
        return self.weight * step.expand(-1, 4672), self.weight * step.expand(-1, 3), step


def leaking(least: str = "") -> nn.Module:
    module = Leaking()
    if least:
        module.exit_rule = {"min_steps": int(least)}  # type: ignore[assignment]
    return module


class Learning(Leaking):
    """Without a threshold, so that gradients flow."""

    def forward(self, planes: Tensor, state: Any) -> tuple[Tensor, Tensor, Any]:
        membrane = 0.5 * state["membrane"] + self.current(planes)
        fired = membrane.relu().flatten(1)
        return self.policy(fired), self.wdl(fired), {"membrane": membrane}


def learning() -> nn.Module:
    return Learning()


def normalised() -> nn.Module:
    """Has batch norm in front of its membranes."""
    module = Learning()
    module.current = nn.Sequential(module.current, nn.BatchNorm2d(WIDTH))  # type: ignore[assignment]
    return module


def counting(readout: str = "mean") -> nn.Module:
    return Counting(readout)


def strict() -> nn.Module:
    """Fails at a step after the last."""

    class Strict(Counting):
        def forward(self, planes: Tensor, state: Any) -> tuple[Tensor, Tensor, Any]:
            assert (state < self.time_steps).all()
            return super().forward(planes, state)

    return Strict("mean")


def random() -> nn.Module:
    """Draws a random number a step."""

    class Random(Leaking):
        def forward(self, planes: Tensor, state: Any) -> tuple[Tensor, Tensor, Any]:
            return super().forward(planes + torch.rand(()), state)

    return Random()


def mixing() -> nn.Module:
    """A row's answer holds the sum of the rows before it."""

    class Mixing(Leaking):
        def forward(self, planes: Tensor, state: Any) -> tuple[Tensor, Tensor, Any]:
            policy, wdl, state = super().forward(planes, state)
            return policy.cumsum(0), wdl, state

    return Mixing()


def narrow() -> nn.Module:
    """Its policy has too few columns."""

    class Narrow(Leaking):
        def forward(self, planes: Tensor, state: Any) -> tuple[Tensor, Tensor, Any]:
            policy, wdl, state = super().forward(planes, state)
            return policy[:, :100], wdl, state

    return Narrow()


def growing() -> nn.Module:
    """Its state has another shape after a step."""

    class Growing(Leaking):
        def forward(self, planes: Tensor, state: Any) -> tuple[Tensor, Tensor, Any]:
            policy, wdl, state = super().forward(planes, state)
            return policy, wdl, {"membrane": state["membrane"][:, :, :4]}

    return Growing()


def slotless() -> nn.Module:
    """The first dimension of its state is not the slot."""

    class Slotless(Leaking):
        def initial_state(self, num_slots: int) -> Any:
            return {"membrane": torch.zeros(1, WIDTH, 8, 8)}

    return Slotless()


def endless() -> nn.Module:
    module = Leaking()
    module.time_steps = 1000
    return module


def remembering() -> nn.Module:
    """Its state is what a convolution gave in the last step."""

    class Remembering(Leaking):
        def forward(self, planes: Tensor, state: Any) -> tuple[Tensor, Tensor, Any]:
            policy, wdl, _ = super().forward(planes, state)
            return policy, wdl, {"membrane": self.current(planes)}

    return Remembering()


def stateless() -> nn.Module:
    """Lacks what the contract asks for."""
    return nn.Linear(2, 2)


def no_module() -> Any:
    return 3


def failing() -> Any:
    raise RuntimeError("no luck")


def dropping(kind: str = "layer") -> nn.Module:
    """Draws random numbers in training: by a layer, or in ``forward`` of torch, numpy or Python."""
    import random as of_python

    import numpy as np

    class Dropping(Learning):
        def forward(self, planes: Tensor, state: Any) -> tuple[Tensor, Tensor, Any]:
            policy, wdl, state = super().forward(planes, state)
            if kind == "layer":
                dropped = (nn.functional.dropout(one, 0.5, self.training) for one in (policy, wdl))
                return *dropped, state  # type: ignore[return-value]
            if self.training:
                drawn = {
                    "torch": lambda: torch.rand(len(wdl), 1),
                    "numpy": lambda: float(np.random.rand()),
                    "python": lambda: of_python.random(),
                }[kind]()
                policy, wdl = policy * drawn, wdl * drawn
            return policy, wdl, state

    return Dropping()
