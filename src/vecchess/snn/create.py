"""New networks, ready to play: initialised from a seed, calibrated on positions of random games."""

from pathlib import Path

from vecchess.chess.planes import NUM_PLANES, encode_planes
from vecchess.chess.sample import random_positions
from vecchess.config import build, read_toml
from vecchess.errors import ConfigError
from vecchess.snn.initialise import new_network
from vecchess.snn.integer_net import IntegerNet
from vecchess.snn.presets import PRESETS, NetConfig, preset

CALIBRATION_POSITIONS = 256
CALIBRATION_SEED = 2718281828
SIZES_SUFFIX = ".toml"


def is_recipe(name: str) -> bool:
    """True for what ``create_network`` can make: a preset, or a TOML file with sizes."""
    return name in PRESETS or Path(name).suffix == SIZES_SUFFIX


def create_network(name: str, seed: int) -> IntegerNet:
    """A network of the preset, or of the sizes in the TOML file, ``name``.

    The same bits for the same seed on every machine. Raises ConfigError for a name that is neither
    and for sizes that will not do.
    """
    return create_sized(sizes_of(name), seed)


def create_sized(config: NetConfig, seed: int) -> IntegerNet:
    """A network of the given sizes; they must take vecchess's input planes."""
    positions = random_positions(CALIBRATION_POSITIONS, CALIBRATION_SEED)
    return new_network(config, seed=seed, calibration_planes=encode_planes(positions))


def create_twin(config: NetConfig, seed: int) -> IntegerNet:
    """The ReLU twin of a spiking residual network: the same tower, one pass, weights of its own."""
    return create_sized(twin_sizes(config), seed)


def twin_sizes(config: NetConfig) -> NetConfig:
    """The sizes of the ReLU twin of a residual network; ``ConfigError`` for another kind."""
    if config.kind != "residual":
        raise ConfigError("only a residual network has a ReLU twin")
    twin = {"neuron": "relu", "time_steps": 1, "preset": f"{config.preset}-twin"}
    return NetConfig(**config.model_dump() | twin)


def sizes_of(name: str) -> NetConfig:
    """The sizes that a preset or a TOML file stands for, with vecchess's input planes."""
    if Path(name).suffix != SIZES_SUFFIX:
        return preset(name, NUM_PLANES)
    file = Path(name)
    sizes = {"num_planes": NUM_PLANES, "preset": file.stem} | read_toml(file)
    try:
        return build(NetConfig, sizes)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None
