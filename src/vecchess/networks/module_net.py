"""A network that a user brings, as a value: its spec and its weights.

Weights are kept as safetensors: the module's state dict, with one metadata entry, ``vecchess``, a
JSON object:

    {"schema", "module", "sha256", "libraries"}

A file without that entry, of another program, is taken as well. No file names code that is run:
the factory comes from the command line or the run's settings alone.
"""

import hashlib
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from vecchess.chess.planes import NUM_PLANES
from vecchess.errors import ConfigError, NetworkError
from vecchess.networks.hidden_state import HiddenStateNetwork
from vecchess.networks.module_spec import ModuleSpec
from vecchess.networks.step_module import (
    ModuleSizes,
    StepModule,
    example_planes,
    sizes_of_module,
)
from vecchess.runtime.atomic_write import write_atomically
from vecchess.runtime.plugin import load_plugin, require_arguments, users_code
from vecchess.runtime.retried_read import read_file, retried
from vecchess.safe_parse import clip_line

SCHEMA = 1
METADATA_KEY = "vecchess"
NEVER = 255
"""``min_steps`` of the exit rule by which no position leaves early."""
ROOM_BITS, LOGIT_BITS = 29, 10
"""Accumulators stay below 2^29; logits beyond 2^10 are cut."""
LIBRARIES = ("torch", "snntorch", "spikingjelly", "norse")
"""Whose versions are kept with the weights: the same bits are promised with the same ones."""


_numpy: Any = np.random
_OF_NUMPY = np.random.MT19937(0)
"""Takes the place of numpy's generator where numbers are drawn by a seed: to copy the state of that
takes 0.1 ms."""


@dataclass(frozen=True, eq=False)
class ModuleNet:
    """A module by its sizes and its state dict, on the CPU; its attributes are those of
    ``IntegerNet`` that have a meaning here."""

    spec: ModuleSpec
    """How to make it again; its weights are replaced by ``tensors``."""
    config: ModuleSizes
    tensors: dict[str, Tensor] = field(repr=False)
    calibration: None = None

    @cached_property
    def sha256(self) -> str:
        """Hash of sizes and weights."""
        digest = hashlib.sha256(self.config.model_dump_json().encode())
        for name, tensor in sorted(self.tensors.items()):
            digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
            digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
        return digest.hexdigest()

    @property
    def unit_bits(self) -> int:
        """Accumulators are in units of 2^-unit_bits of a logit, and hold T steps of 2^10 logits."""
        return ROOM_BITS - LOGIT_BITS - (self.config.time_steps - 1).bit_length()

    @property
    def policy_scale(self) -> float:
        """Logit per accumulator unit and step."""
        return 2.0**-self.unit_bits

    @property
    def value_scale(self) -> float:
        """Logit per accumulator unit and step."""
        return self.policy_scale

    @property
    def exit_rule(self) -> dict[str, Any]:
        """The fields of an ``snn.integer.integer_net.ExitRule``, in accumulator units."""
        exits = self.config.exits
        if exits is None:
            return {"min_steps": NEVER}
        units = 2**self.unit_bits
        drift = None if exits.value_drift is None else round(exits.value_drift * units)
        return {
            "min_steps": exits.min_steps,
            "policy_margin": round(exits.policy_margin * units),
            "best_move_unchanged": exits.best_move_unchanged,
            "value_drift": drift,
        }

    @property
    def num_weights(self) -> int:
        """Numbers in the state dict."""
        return sum(tensor.numel() for tensor in self.tensors.values())

    def facts(self) -> dict[str, Any]:
        """What it is, for JSON."""
        return {
            "schema": SCHEMA,
            "config": self.config.facts(),
            "policy_scale": self.policy_scale,
            "value_scale": self.value_scale,
            "exit_rule": self.exit_rule,
            "sha256": self.sha256,
            "weights": self.num_weights,
            "libraries": _libraries(),
        }

    def module(self) -> StepModule:
        """The module with its weights, in evaluation mode, on the CPU.

        Raises ConfigError and NetworkError, as ``create_module_net``, and NetworkError where an
        adapter would serve another network than the user's.
        """
        module = call_factory(self.spec, seed=0)
        _load(module, self.tensors, str(self.spec))
        with users_code(str(self.spec), "eval"):
            module.eval()
        if isinstance(module, HiddenStateNetwork):
            with users_code(str(self.spec), "a time step"):
                module.check_own_loop(example_planes(self.config.num_planes))
        return cast(StepModule, module)


def create_module_net(text: str, seed: int) -> ModuleNet:
    """The network that ``text`` spells; a factory that draws weights draws them from ``seed``.

    Raises ConfigError for a spec or a factory that will not do, NetworkError for a module that
    does not meet the contract, or weights that do not fit.
    """
    spec = ModuleSpec.parse(text)
    module = call_factory(spec, seed)
    if spec.weights is not None:
        _load(module, read_weights(spec.weights), text)
    return as_module_net(module, spec)


def as_module_net(module: nn.Module, spec: ModuleSpec) -> ModuleNet:
    """``module``, made by ``spec``, as a value with the weights that it has now."""
    sizes = sizes_of_module(module, str(spec.with_weights(None)))
    weights = _plain_weights(module, spec)
    tensors = {name: tensor.detach().cpu().clone() for name, tensor in weights.items()}
    return ModuleNet(spec.with_weights(None), sizes, tensors)


def call_factory(spec: ModuleSpec, seed: int) -> nn.Module:
    """What the factory makes of its settings, with torch's generator at ``seed`` meanwhile.

    Raises ConfigError where it cannot be found or called, NetworkError where it makes no module.
    """
    function = load_plugin(spec.factory)
    settings = dict(spec.settings)
    require_arguments(function, str(spec), **settings)
    with seeded(seed), users_code(str(spec), "the factory", ConfigError, says_slow=True):
        torch.manual_seed(seed)  # that of GPUs, too
        module = function(**settings)
        if isinstance(module, nn.Module):
            _make_lazy_weights(module)
    if not isinstance(module, nn.Module):
        raise NetworkError(f"{spec} gives a {type(module).__name__}, not a torch.nn.Module")
    _plain_weights(module, spec)
    return module


@contextmanager
def seeded(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """All random numbers within the block follow from ``seed``: those of torch, on the processor
    and on ``device``, of numpy and of Python. The generators go on afterwards as if it had not
    been."""
    generators = [torch.default_generator]
    if device is not None and device.type == "cuda":
        generators.append(torch.cuda.default_generators[device.index or 0])
    states = [generator.get_state() for generator in generators]
    of_python, of_numpy = random.getstate(), _numpy.get_bit_generator()
    try:
        for generator in generators:
            generator.manual_seed(seed)
        random.seed(seed)
        _numpy.set_bit_generator(_OF_NUMPY)
        _numpy.seed(seed % 2**32)
        yield
    finally:
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)
        random.setstate(of_python)
        _numpy.set_bit_generator(of_numpy)


def _make_lazy_weights(module: nn.Module) -> None:
    """Ask a module with lazy layers a question: they draw their weights at the first input."""
    tensors = (*module.parameters(), *module.buffers())
    if not any(is_lazy(tensor) for tensor in tensors):
        return
    was_training = module.training
    with torch.no_grad():
        module.eval()
        planes = torch.zeros(1, getattr(module, "num_planes", NUM_PLANES), 8, 8)
        module(planes, module.initial_state(1))  # type: ignore[operator]
    module.train(was_training)


def _plain_weights(module: nn.Module, spec: ModuleSpec) -> dict[str, Tensor]:
    """The state dict; raises NetworkError for what no file of ours holds."""
    with users_code(str(spec), "its state dict"):
        found = dict(module.state_dict())
    for name, value in found.items():
        if not isinstance(value, Tensor):
            raise NetworkError(f"{spec}: {name} is no tensor, so no file of weights can hold it")
        if is_lazy(value):
            raise NetworkError(f"{spec}: {name} has no size after a first question")
        if value.is_complex():
            raise NetworkError(f"{spec}: {name} is {value.dtype}; weights are real numbers")
    return found


def save_module_net(net: ModuleNet, file: Path) -> None:
    """Write the weights whole or not at all; raises DataError where the disk refuses."""
    from safetensors.torch import save

    tensors = {name: tensor.contiguous().clone() for name, tensor in net.tensors.items()}
    entry = {"schema": SCHEMA, "module": net.config.module, "sha256": net.sha256}
    entry |= {"libraries": _libraries()}
    write_atomically(file, save(tensors, {METADATA_KEY: json.dumps(entry, sort_keys=True)}))


def read_weights(file: Path) -> dict[str, Tensor]:
    """A state dict, on the CPU; raises NetworkError where ``file`` is missing or damaged, DataError
    where it cannot be read."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    if not file.is_file():
        raise NetworkError(f"there is no file of weights {file}")
    data = retried(read_file, file)
    try:
        tensors: dict[str, Tensor] = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise NetworkError(
            f"weights {file} are truncated, or no safetensors ({clip_line(error)}); write them by "
            "safetensors.torch.save_file"
        ) from None
    return tensors


def _load(module: nn.Module, tensors: dict[str, Tensor], name: str) -> None:
    """Give ``module`` its weights; raises NetworkError where they do not fit, or it fails."""
    with users_code(name, "its state dict"):
        try:
            module.load_state_dict(_renamed(tensors, list(module.state_dict())))
        except RuntimeError as error:
            if not str(error).startswith("Error(s) in loading state_dict"):
                raise  # code of the user
            reason = clip_line(" ".join(str(error).split()))
            raise NetworkError(f"{name}: the weights do not fit the module: {reason}") from None


def _renamed(tensors: dict[str, Tensor], known: list[str]) -> dict[str, Tensor]:
    """``tensors`` by the names of a module: DistributedDataParallel writes "module." before them,
    torch.compile "_orig_mod.", and an adapter has "net."; as they are where that fits none."""
    places = {_bare(name): name for name in known}
    bare = [_bare(name) for name in tensors]
    if len(places) != len(known) or sorted(bare) != sorted(places):
        return tensors
    return {places[name]: tensor for name, tensor in zip(bare, tensors.values(), strict=True)}


def _bare(name: str) -> str:
    parts = [part for part in name.split(".") if part != "_orig_mod"]
    while len(parts) > 1 and parts[0] in ("module", "net"):
        del parts[0]
    return ".".join(parts)


def _libraries() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
