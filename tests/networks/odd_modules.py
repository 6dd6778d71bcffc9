"""Modules as tutorials and users write them, of which some cannot be served."""

import sys
from typing import Any

import torch
from torch import Tensor, nn


class Odd(nn.Module):
    """One hidden layer without a state."""

    time_steps = 1

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(1600, 8), nn.ReLU())
        self.policy = nn.LazyLinear(4672) if kind == "lazy" else nn.Linear(8, 4672)
        self.value = nn.Linear(8, 3)
        if kind == "tied":
            self.other = nn.Linear(8, 4672)
            self.other.weight = self.policy.weight
        if kind == "complex":
            self.phase = nn.Parameter(torch.ones(3, dtype=torch.complex64))
        if kind == "frozen":
            self.requires_grad_(False)

    def initial_state(self, num_slots: int) -> Any:
        return None

    def forward(self, planes: Tensor, state: Any) -> tuple[Tensor, Tensor, Any]:
        hidden = self.body(planes)
        policy = self.other(hidden) if self.kind == "tied" else self.policy(hidden)
        return policy, self.value(hidden), None


class Remembering(Odd):
    def get_extra_state(self) -> dict[str, int]:
        return {"version": 1}

    def set_extra_state(self, state: Any) -> None:
        pass


class Answering(Odd):
    """Answers in another form than the contract's."""

    def forward(self, planes: Tensor, state: Any) -> Any:
        policy, value, _ = super().forward(planes, state)
        return {
            "pair": lambda: (policy, value),
            "dictionary": lambda: {"policy": policy, "value": value},
            "alone": lambda: policy,
            "swapped": lambda: (value, policy, None),
            "infinite": lambda: (policy.masked_fill(policy > 0, -torch.inf), value, None),
        }[self.kind]()


def make(kind: str = "plain") -> nn.Module:
    print("making a module of kind", kind)
    if kind == "exits":
        sys.exit(3)
    if kind in ("pair", "dictionary", "alone", "swapped", "infinite"):
        return Answering(kind)
    module = Remembering(kind) if kind == "extra" else Odd(kind)
    if kind == "text":
        module.time_steps = "4"  # type: ignore[assignment]
    return module
