"""A module that fails where and how it is told to."""

import os
import sys
from typing import Any

import torch
from torch import Tensor, nn

PLACES = (
    "make", "initial_state", "forward", "later", "state_dict", "load_state_dict", "train",
    "time_steps", "deepcopy",
)  # fmt: skip
LATER = 12
"""Calls of ``forward`` before it fails "later": more than opening makes."""


class Odd(BaseException):
    """No exception that code usually catches."""


def fail(how: str) -> None:
    """Raise, or end the process."""
    print("something printed", flush=True)
    os.write(1, b"something written\n") if how == "writes" else None
    if how == "value":
        raise ValueError("no luck")
    if how == "assert":
        assert how == "none"
    if how == "exit":
        sys.exit(3)
    if how == "os_exit":
        os._exit(3)
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "base":
        raise Odd("no luck")


class Failing(nn.Module):
    """One layer without a state, which fails at one of ``PLACES``."""

    def __init__(self, at: str, how: str) -> None:
        super().__init__()
        self.at, self.how, self.calls = at, how, 0
        self.policy, self.wdl = nn.Linear(1600, 4672), nn.Linear(1600, 3)

    def _reach(self, place: str) -> None:
        if self.at == place:
            fail(self.how)

    @property
    def time_steps(self) -> int:
        self._reach("time_steps")
        return 1

    def initial_state(self, num_slots: int) -> Any:
        self._reach("initial_state")

    def forward(self, planes: Tensor, state: Any) -> tuple[Tensor, Tensor, Any]:
        self._reach("forward")
        self.calls += 1
        if self.calls > LATER:
            self._reach("later")
        flat = planes.flatten(1)
        if torch.is_grad_enabled() and self.at == "backward":
            flat.requires_grad_()
            flat.register_hook(lambda _: fail(self.how))
        return self.policy(flat), self.wdl(flat), None

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        self._reach("state_dict")
        return super().state_dict(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        self._reach("load_state_dict")
        return super().load_state_dict(*args, **kwargs)

    def train(self, mode: bool = True) -> Any:
        self._reach("train")
        return super().train(mode)

    def __deepcopy__(self, memo: Any) -> Any:
        self._reach("deepcopy")
        copy = Failing(self.at, self.how)
        copy.load_state_dict(self.state_dict())
        return copy


def make(at: str = "nowhere", how: str = "value") -> nn.Module:
    if at == "make":
        fail(how)
    return Failing(at, how)
