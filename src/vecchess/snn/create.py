"""Creates networks that are ready to play: from a seed, calibrated on positions of random games."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from vecchess.chess.history import MOST_POSITIONS
from vecchess.chess.planes import history_of, num_planes
from vecchess.chess.sample import random_planes
from vecchess.config import build, read_toml
from vecchess.errors import ConfigError, VecchessError
from vecchess.snn.initialise import new_network
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.presets import PRESETS, NetConfig, preset

CALIBRATION_POSITIONS = 256
CALIBRATION_SEED = 2718281828
SIZES_SUFFIX = ".toml"


def is_recipe(name: str) -> bool:
    """True for what ``create_network`` can make: a preset, or a TOML file with sizes."""
    return name in PRESETS or Path(name).suffix == SIZES_SUFFIX


def create_network(name: str, seed: int, history: int | None = None) -> IntegerNet:
    """A network of the preset, or of the sizes in the TOML file, ``name``.

    ``history``: number of positions in its input, None for the file's value, else 1. The same bits
    for the same seed on every machine. Raises ConfigError for a name that is neither, and for
    invalid sizes.
    """
    return create_sized(sizes_of(name, history), seed)


def create_sized(config: NetConfig, seed: int) -> IntegerNet:
    """A network of the given sizes; NetworkError for input planes that vecchess does not make."""
    history = history_of(config.num_planes)
    planes = random_planes(CALIBRATION_POSITIONS, CALIBRATION_SEED, history)
    return new_network(config, seed=seed, calibration_planes=planes)


def create_twin(config: NetConfig, seed: int) -> IntegerNet:
    """The ReLU twin of a spiking residual network: the same tower, one pass, weights of its own."""
    return create_sized(twin_sizes(config), seed)


def twin_sizes(config: NetConfig) -> NetConfig:
    """The sizes of the ReLU twin of a residual network; ``ConfigError`` for another kind."""
    if config.kind != "residual":
        raise ConfigError("only a residual network has a ReLU twin")
    twin = {"neuron": "relu", "time_steps": 1, "preset": f"{config.preset}-twin"}
    return NetConfig(**config.model_dump() | twin)


def sizes_of(name: str, history: int | None = None) -> NetConfig:
    """The sizes that a preset or a TOML file stands for, with vecchess's input planes.

    ``history``: number of positions in the input, also a key of the file; 1 where neither gives it.
    Raises ConfigError for invalid sizes, and where the argument contradicts the file.
    """
    if Path(name).suffix != SIZES_SUFFIX:
        return preset(name, num_planes(history or 1))
    file = Path(name)
    sizes = {"preset": file.stem} | read_toml(file)
    try:
        return _sizes_in(sizes, history)
    except VecchessError as error:
        raise ConfigError(f"{file}: {error}") from None


class _InputSettings(BaseModel):
    """Keys of a file of sizes besides the fields of ``NetConfig``."""

    history: Annotated[int, Field(ge=1, le=MOST_POSITIONS)] | None = None


def _sizes_in(sizes: dict[str, Any], history: int | None) -> NetConfig:
    own = build(_InputSettings, {"history": sizes.pop("history", None)}).history
    planes = num_planes(own or history or 1)
    config = build(NetConfig, {"num_planes": planes} | sizes)
    require_history(config, own)
    require_history(config, history)
    return config


def require_history(config: NetConfig, history: int | None) -> None:
    """Raise ConfigError where ``history`` positions are asked for and the network sees others."""
    found = history_of(config.num_planes)
    if history is not None and history != found:
        raise ConfigError(f"the network sees a history of {found} positions, not {history}")
