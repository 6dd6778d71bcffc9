"""Makes the network that a run starts with: new, or with the weights of another."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from vecchess.chess.planes import reads_moves
from vecchess.chess.sample import random_planes
from vecchess.config import TrainConfig
from vecchess.config.settings import flag
from vecchess.errors import ConfigError, VecchessError
from vecchess.inference.playable_net import PlayableSizes
from vecchess.inference.source import find
from vecchess.networks.module_net import ModuleNet, create_module_net, seeded
from vecchess.snn.create import (
    CALIBRATION_SEED,
    InputSettings,
    create_sized,
    sizes_of,
    sizes_with_moves,
    with_move_inputs,
)
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.integer.net_file import load_exact, load_net
from vecchess.snn.modules.network import SpikingNet
from vecchess.snn.presets import NetConfig
from vecchess.snn.torch_integer import from_integers
from vecchess.train.checkpoint.trainer_state import CheckpointWeights, is_checkpoint
from vecchess.train.step.trained_module import LearnedNet, TrainedModule

STATISTICS_POSITIONS = 512
"""Positions of random games whose statistics a new network begins with."""


def first_sizes(config: TrainConfig) -> PlayableSizes:
    """The sizes of the network that ``config`` starts with, without making it.

    Raises ConfigError or NetworkError where the settings or files do not fit together.
    """
    if find(config.net).kind == "module":
        return _module_net(config).config
    return _own_sizes(config)


def _own_sizes(config: TrainConfig) -> NetConfig:
    """The sizes of a network of vecchess's own; raises what ``first_sizes`` does."""
    given = None if config.init_from is None else _sizes_in(config.init_from)
    is_new = find(config.net).has_sizes_only
    sizes = _sizes_to_make(config, given) if is_new else _existing_sizes(config)
    if config.init_from is not None and given is not None:
        _require_same_shapes(sizes, given, config.init_from)
    return sizes


def first_net(config: TrainConfig) -> LearnedNet:
    """The network before the first update, on the CPU, the same for the same settings.

    A network from a file is in the second phase and stays there, one from a checkpoint is in the
    phase of that; its number of time steps may differ (decision 90). A new one begins with batch
    norm, whose statistics are those of positions of random games, or is quantised at once where
    ``fold_at`` is 0.
    """
    if find(config.net).kind == "module":
        return TrainedModule(_module_net(config))
    sizes = _own_sizes(config)
    weights = config.init_from
    if weights is None and not find(config.net).has_sizes_only:
        weights = Path(config.net)
    if weights is not None and is_checkpoint(weights):
        return CheckpointWeights.read(weights).network(sizes, config.surrogate)
    if weights is not None:
        return from_integers(_with_inputs_of(load_net(weights), sizes), config.surrogate)
    if config.fold_at == 0:
        return from_integers(create_sized(sizes, config.seed), config.surrogate)
    return _new(sizes, config)


def _with_inputs_of(net: IntegerNet, sizes: NetConfig) -> IntegerNet:
    """``net`` with the preset's name, time steps and inputs of moves of ``sizes``."""
    if reads_moves(sizes.num_planes):
        net = with_move_inputs(net)
    return replace(net, config=sizes)


@torch.no_grad()
def _new(sizes: NetConfig, config: TrainConfig) -> SpikingNet:
    with seeded(config.seed):
        net = SpikingNet(sizes, config.surrogate)
    planes = random_planes(STATISTICS_POSITIONS, CALIBRATION_SEED, sizes.num_planes)
    net.train()
    net(torch.from_numpy(planes.view(np.int64)))
    net.absorb_statistics(lambda tensors: None, momentum=1.0)
    return net


def _module_net(config: TrainConfig) -> ModuleNet:
    """The module that a user brings, with its first weights; raises ConfigError for settings that
    are for other networks, NetworkError for a module that will not do."""
    for name in ("init_from", *InputSettings.model_fields):
        if getattr(config, name) is not None:
            raise ConfigError(
                f"{flag(name)} is for networks of vecchess's own: {config.net} says what it sees, "
                "and begins with weights=FILE"
            )
    return create_module_net(config.net, config.seed)


def _sizes_to_make(config: TrainConfig, given: NetConfig | None) -> NetConfig:
    """Sizes of a new network; without settings its input planes are those of ``given``."""
    inputs = _inputs_asked(config)
    if given is not None:
        inputs = inputs.over(InputSettings.seen_by(given))
    return sizes_of(config.net, inputs)


def _existing_sizes(config: TrainConfig) -> NetConfig:
    """Sizes of the network file ``config.net``, input planes included."""
    sizes = load_exact(config.net).config
    try:
        if config.move_inputs:
            sizes = sizes_with_moves(sizes)
        _inputs_asked(config).require(sizes)
    except VecchessError as error:
        raise ConfigError(f"{config.net}: {error}") from None
    return sizes


def _inputs_asked(config: TrainConfig) -> InputSettings:
    return InputSettings(**config.model_dump(include=set(InputSettings.model_fields)))


def _sizes_in(file: Path) -> NetConfig:
    return CheckpointWeights.read(file).sizes if is_checkpoint(file) else load_exact(file).config


def _require_same_shapes(wanted: NetConfig, found: NetConfig, file: Path) -> None:
    if reads_moves(wanted.num_planes) and not is_checkpoint(file):
        found = sizes_with_moves(found)
    if wanted.num_planes != found.num_planes:
        raise ConfigError(
            f"{file} holds a network that sees {InputSettings.seen_by(found)}, --net, --history, "
            f"--tactical and --move-inputs ask for {InputSettings.seen_by(wanted)}"
        )
    names = {"preset", "time_steps"}  # no weight belongs to a time step
    theirs, ours = (sizes.model_dump(exclude=names) for sizes in (found, wanted))
    others = [name for name in ours if theirs[name] != ours[name]]
    if others:
        differences = "; ".join(f"{name} {theirs[name]}, not {ours[name]}" for name in others)
        raise ConfigError(
            f"{file} holds a network of other sizes than --net {wanted.preset}: {differences}"
        )
