"""Backends by name. Each is imported only when it is opened."""

from typing import NamedTuple

from vecchess.config.backend import BACKENDS, FakeDevice, is_fake
from vecchess.errors import ConfigError
from vecchess.inference.backend import Backend
from vecchess.inference.builtin.fake import FakeBackend
from vecchess.inference.exit_rule import ExitRule
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.kernels.triton_support import obstacle_to_triton
from vecchess.snn.presets import NetConfig


class BackendChoice(NamedTuple):
    """A backend, and why it was not the one that one would expect: a line for people, or ""."""

    name: str
    reason: str


def choose_backend(name: str, config: NetConfig, device: str) -> BackendChoice:
    """What "auto" stands for on ``device`` ("cpu" or "cuda:<n>"); other names stand."""
    if name != "auto":
        return BackendChoice(name, "")
    if device == "cpu":
        return BackendChoice("cpu", "")
    obstacle = obstacle_to_cuda(config, device)
    if obstacle:
        return BackendChoice("torch", f"using plain torch, which is slower: {obstacle}")
    return BackendChoice("cuda", "")


def obstacle_to_cuda(config: NetConfig, device: str) -> str:
    """Why backend "cuda" cannot compute the network on ``device``; "" where it can."""
    if config.kind != "residual":
        return f"the Triton kernels compute residual networks, not {config.kind} ones"
    return obstacle_to_triton(device)


def open_backend(
    name: str,
    network: IntegerNet,
    num_slots: int,
    exit_rule: ExitRule | None = None,
    device: str = "cpu",
    threads: int = 1,
) -> Backend:
    """The backend ``name`` with S = ``num_slots`` free slots.

    exit_rule None takes the one stored with the network. device is "cpu" or "cuda:<n>"; "torch"
    and "reference" are the same and run on either. Raises ``ConfigError`` for an unknown name or
    device, ``NetworkError`` for a network that is not exact, ``DeviceError`` where the device has
    too little memory, or fails.
    """
    if is_fake(name):
        behind = FakeDevice.parse(name).of
        answers = open_backend(behind, network, num_slots, exit_rule, device, threads)
        return behind_fake(name, answers)
    rule = ExitRule.from_metadata(network.exit_rule) if exit_rule is None else exit_rule
    name = choose_backend(name, network.config, device).name
    if name == "cpu":
        from vecchess.inference.cpu.backend import CpuBackend

        if device != "cpu":
            raise ConfigError(f"backend 'cpu' cannot run on device '{device}'")
        return CpuBackend(network, num_slots, rule, threads)
    if name == "cuda":
        if obstacle := obstacle_to_cuda(network.config, device):
            raise ConfigError(f"backend 'cuda' cannot run here: {obstacle}; use 'auto'")
        from vecchess.inference.cuda.backend import CudaBackend

        return CudaBackend(network, num_slots, rule, device)
    if name in ("torch", "reference"):
        from vecchess.inference.reference import ReferenceBackend

        return ReferenceBackend(network, num_slots, rule, device)
    raise ConfigError(f"no backend '{name}'; there are {', '.join(BACKENDS)}")


def behind_fake(name: str, answers: Backend) -> Backend:
    """``answers`` behind the fake device ``name``, or as it is where that is the name of none.

    Raises DeviceError where the device has no memory for so many slots.
    """
    return FakeBackend(answers, FakeDevice.parse(name)) if is_fake(name) else answers
