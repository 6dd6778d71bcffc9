"""Backends by name. Each is imported only when it is opened."""

from vecchess.errors import ConfigError
from vecchess.inference.backend import Backend
from vecchess.inference.exit import ExitRule
from vecchess.snn.integer_net import IntegerNet

BACKENDS = ("auto", "cpu", "reference")


def open_backend(
    name: str,
    network: IntegerNet,
    num_slots: int,
    exit_rule: ExitRule | None = None,
    device: str = "cpu",
    threads: int = 1,
) -> Backend:
    """The backend ``name`` with S = ``num_slots`` free slots.

    exit_rule None takes the one stored with the network. device is "cpu" or "cuda:<n>" and
    matters to ``reference`` alone; "auto" is ``cpu`` on a CPU. Raises ``ConfigError`` for an
    unknown name or device, ``NetworkError`` for a network that is not exact.
    """
    rule = ExitRule.from_metadata(network.exit_rule) if exit_rule is None else exit_rule
    if name == "auto":
        name = "cpu" if device == "cpu" else "reference"
    if name == "cpu":
        from vecchess.inference.cpu import CpuBackend

        if device != "cpu":
            raise ConfigError(f"backend 'cpu' cannot run on device '{device}'")
        return CpuBackend(network, num_slots, rule, threads)
    if name == "reference":
        from vecchess.inference.reference import ReferenceBackend

        return ReferenceBackend(network, num_slots, rule, device)
    raise ConfigError(f"no backend '{name}'; there are {', '.join(BACKENDS)}")
