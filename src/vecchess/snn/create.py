"""Creates networks that are ready to play: from a seed, calibrated on positions of random games."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from vecchess.chess.history import MOST_POSITIONS
from vecchess.chess.planes import (
    MOVE_WORDS,
    board_planes,
    has_tactics,
    history_of,
    num_planes,
    reads_moves,
)
from vecchess.chess.sample import random_planes
from vecchess.config import build, read_toml
from vecchess.config.settings import TypedModel
from vecchess.errors import ConfigError, VecchessError
from vecchess.snn.initialise import blank_moves, new_network
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.presets import SIZES_SUFFIX, NetConfig, new_sizes, preset
from vecchess.snn.topology import MOVES

CALIBRATION_POSITIONS = 256
CALIBRATION_SEED = 2718281828


def create_network(
    name: str,
    seed: int,
    history: int | None = None,
    tactical: bool | None = None,
    moves: bool | None = None,
) -> IntegerNet:
    """A network of the preset, or of the sizes in the TOML file, ``name``.

    ``history``, ``tactical`` and ``moves`` as for ``sizes_of``. The same bits for the same seed on
    every machine. Raises ConfigError for a name that is neither, and for invalid sizes.
    """
    return create_sized(sizes_of(name, history, tactical, moves), seed)


def create_sized(config: NetConfig, seed: int) -> IntegerNet:
    """A network of the given sizes; NetworkError for input planes that vecchess does not make."""
    history_of(config.num_planes)  # refuses others
    planes = random_planes(CALIBRATION_POSITIONS, CALIBRATION_SEED, config.num_planes)
    return new_network(config, seed=seed, calibration_planes=planes)


def create_twin(config: NetConfig, seed: int) -> IntegerNet:
    """The ReLU twin of a spiking residual network: the same tower, one pass, weights of its own."""
    return create_sized(twin_sizes(config), seed)


def twin_sizes(config: NetConfig) -> NetConfig:
    """The sizes of the ReLU twin of a residual network; ``ConfigError`` for another kind."""
    if config.kind != "residual":
        raise ConfigError("only a residual network has a ReLU twin")
    twin = {
        "neuron": "relu",
        "readout": "spikes",
        "time_steps": 1,
        "preset": f"{config.preset}-twin",
    }
    return NetConfig(**config.model_dump() | twin)


def sizes_of(
    name: str,
    history: int | None = None,
    tactical: bool | None = None,
    moves: bool | None = None,
) -> NetConfig:
    """The sizes that a preset or a TOML file stands for, with vecchess's input planes.

    ``history``: number of positions in the input; ``tactical``: whether it has tactical planes;
    ``moves``: whether inputs of moves. They are also keys of the file, the last one as move_inputs;
    1, True and False where neither gives them. Raises ConfigError for invalid sizes, and where an
    argument contradicts the file.
    """
    if Path(name).suffix != SIZES_SUFFIX:
        return preset(name, num_planes(history or 1, tactical is not False, moves is True))
    file = Path(name)
    sizes = {"preset": file.stem} | read_toml(file)
    try:
        return _sizes_in(sizes, history, tactical, moves)
    except VecchessError as error:
        raise ConfigError(f"{file}: {error}") from None


class _InputSettings(TypedModel):
    """Keys of a file of sizes besides the fields of ``NetConfig``."""

    history: Annotated[int, Field(ge=1, le=MOST_POSITIONS)] | None = None
    tactical: bool | None = None
    move_inputs: bool | None = None


def _sizes_in(
    sizes: dict[str, Any], history: int | None, tactical: bool | None, moves: bool | None
) -> NetConfig:
    given = {name: sizes.pop(name, None) for name in _InputSettings.model_fields}
    own = build(_InputSettings, given)
    sees_tactics = own.tactical if own.tactical is not None else tactical is not False
    sees_moves = own.move_inputs if own.move_inputs is not None else moves is True
    planes = num_planes(own.history or history or 1, sees_tactics, sees_moves)
    config = build(NetConfig, new_sizes({"num_planes": planes} | sizes))
    require_inputs(config, own.history, own.tactical, own.move_inputs)
    require_inputs(config, history, tactical, moves)
    return config


def sizes_with_moves(config: NetConfig) -> NetConfig:
    """``config`` with inputs of moves; ConfigError for a kind of network that reads none."""
    words = board_planes(config.num_planes) + MOVE_WORDS
    return build(NetConfig, config.model_dump() | {"num_planes": words})


def with_move_inputs(net: IntegerNet) -> IntegerNet:
    """``net``, which also reads inputs of moves, and answers as before."""
    if reads_moves(net.config.num_planes):
        return net
    sizes = sizes_with_moves(net.config)
    return replace(net, config=sizes, layers=net.layers | {MOVES: blank_moves(sizes)})


def require_inputs(
    config: NetConfig, history: int | None, tactical: bool | None, moves: bool | None
) -> None:
    """Raise ConfigError where the network sees another number of positions than ``history``, or
    tactical planes or inputs of moves against ``tactical`` and ``moves``; None: any will do."""
    found = history_of(config.num_planes)
    if history is not None and history != found:
        raise ConfigError(f"the network sees a history of {found} positions, not {history}")
    if tactical is not None and tactical != has_tactics(config.num_planes):
        raise ConfigError(f"the network sees {'no ' * tactical}tactical planes")
    if moves is not None and moves != reads_moves(config.num_planes):
        raise ConfigError(f"the network reads {'no ' * moves}inputs of moves")
