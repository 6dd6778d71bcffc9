"""Opens backends by name, imported only when they are opened, and by a factory of the user's."""

from typing import NamedTuple

from vecchess.config import CONSTANT_NET
from vecchess.config.backend import BACKENDS, is_factory
from vecchess.errors import ConfigError
from vecchess.inference.backend import Backend
from vecchess.inference.builtin import ConstantBackend, MaterialBackend
from vecchess.inference.playable_net import BuiltInNet, Lc0Net, PlayableNet, PlayableSizes
from vecchess.runtime.plugin import load_plugin, require_arguments, users_code
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet
from vecchess.snn.kernels.triton_support import obstacle_to_gpu, obstacle_to_triton
from vecchess.spec import Spec

OWN_BACKEND = ("module", "lc0", "built-in")
"""Kinds of networks that are computed in one way, whatever backend is named."""


class BackendChoice(NamedTuple):
    """A backend's name, and a line for people why it is not the expected one, or ""."""

    name: str
    reason: str


def choose_backend(name: str, config: PlayableSizes, device: str) -> BackendChoice:
    """The backend that "auto" stands for on ``device`` ("cpu" or "cuda:<n>"); other names stand.

    Raises ConfigError where torch cannot use the GPU: without a word the processor would play.
    """
    if is_factory(name) or config.kind == "built-in":
        return BackendChoice(name, "")
    if device.startswith("cuda") and (obstacle := obstacle_to_gpu()):
        raise ConfigError(f"device '{device}': {obstacle}; --gpus cpu uses the processor")
    if config.kind in OWN_BACKEND:
        return BackendChoice(config.kind, "")
    if name != "auto":
        return BackendChoice(name, "")
    if device == "cpu":
        return BackendChoice("cpu", "")
    obstacle = obstacle_to_cuda(config, device)
    if obstacle:
        return BackendChoice("reference", f"using plain torch, which is slower: {obstacle}")
    return BackendChoice("cuda", "")


def obstacle_to_cuda(config: PlayableSizes, device: str) -> str:
    """Why backend "cuda" cannot compute the network on ``device``; "" where it can."""
    if config.kind != "residual":
        return f"the Triton kernels compute residual networks, not {config.kind} ones"
    return obstacle_to_triton(device)


def open_backend(
    name: str,
    network: PlayableNet | str,
    num_slots: int,
    exit_rule: ExitRule | None = None,
    device: str = "cpu",
    threads: int = 1,
) -> Backend:
    """The backend ``name`` with S = ``num_slots`` free slots; ``module:factory`` calls a factory.

    network: a network, or one of ``BUILT_IN_NETS``. Those, a module that a user brings and lc0's
    are computed in one way, whatever the backend's name, unless that is a factory. exit_rule None
    takes the one stored with the network. device is "cpu" or "cuda:<n>"; "reference" runs on
    either. Raises ``ConfigError`` for an unknown name or device, ``NetworkError`` for a network
    that is not exact, ``DeviceError`` where the device has too little memory, or fails.
    """
    net = BuiltInNet(network) if isinstance(network, str) else network
    exit_rule = exit_rule or ExitRule.from_metadata(net.exit_rule)
    if is_factory(name):
        given = net.name if isinstance(net, BuiltInNet) else net
        return _call_factory(name, given, num_slots, exit_rule, device, threads)
    if isinstance(net, BuiltInNet):
        if net.name == CONSTANT_NET:
            return ConstantBackend(num_slots)
        return MaterialBackend(num_slots)
    if isinstance(net, IntegerNet):
        return _open_integers(name, net, num_slots, exit_rule, device, threads)
    if isinstance(net, Lc0Net):
        from vecchess.inference.lc0_backend import Lc0Backend

        return Lc0Backend(net.weights, num_slots, device, threads)
    from vecchess.inference.module_backend import ModuleBackend

    return ModuleBackend(net, num_slots, exit_rule, device, threads)


def _open_integers(
    name: str,
    network: IntegerNet,
    num_slots: int,
    exit_rule: ExitRule,
    device: str,
    threads: int,
) -> Backend:
    """A backend of ours, see ``open_backend``."""
    name = choose_backend(name, network.config, device).name
    if name == "cpu":
        from vecchess.inference.cpu.backend import CpuBackend

        if device != "cpu":
            raise ConfigError(f"backend 'cpu' cannot run on device '{device}'")
        return CpuBackend(network, num_slots, exit_rule, threads)
    if name == "cuda":
        if obstacle := obstacle_to_cuda(network.config, device):
            raise ConfigError(f"backend 'cuda' cannot run here: {obstacle}; use 'auto'")
        from vecchess.inference.cuda.backend import CudaBackend

        return CudaBackend(network, num_slots, exit_rule, device)
    if name == "reference":
        from vecchess.inference.reference import ReferenceBackend

        return ReferenceBackend(network, num_slots, exit_rule, device)
    raise ConfigError(f"no backend '{name}'; there are {', '.join(BACKENDS)}")


def _call_factory(name: str, *arguments: object) -> Backend:
    """Import "module:factory?key=value" and call it; ``ConfigError`` where that cannot be done."""
    try:
        spec = Spec.parse(name)
        function = load_plugin(spec.head)
    except ConfigError as error:
        raise ConfigError(f"backend '{name}': {error}") from error
    require_arguments(function, f"backend '{name}'", *arguments, **spec.settings)
    with users_code(f"backend '{name}'", "the factory", ConfigError):
        backend: Backend = function(*arguments, **spec.settings)
    return backend
