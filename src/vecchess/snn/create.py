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
from vecchess.config.settings import Settings
from vecchess.errors import ConfigError, VecchessError
from vecchess.snn.initialise import blank_moves, new_network
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.presets import SIZES_SUFFIX, NetConfig, new_sizes, preset
from vecchess.snn.topology import MOVES

CALIBRATION_POSITIONS = 256
CALIBRATION_SEED = 2718281828


class InputSettings(Settings):
    """What a network sees besides the position; None: not said.

    Also the keys of a file of sizes besides the fields of ``NetConfig``.
    """

    history: Annotated[int, Field(ge=1, le=MOST_POSITIONS)] | None = None
    """Number of positions in the input; 1 where nothing is said."""
    tactical: bool | None = None
    """Whether it has tactical planes; it has where nothing is said."""
    move_inputs: bool | None = None
    """Whether it has inputs of moves; it has none where nothing is said."""

    @classmethod
    def seen_by(cls, sizes: NetConfig) -> "InputSettings":
        """All that a network of ``sizes`` sees; NetworkError for planes vecchess does not make."""
        planes = sizes.num_planes
        return cls(
            history=history_of(planes),
            tactical=has_tactics(planes),
            move_inputs=reads_moves(planes),
        )

    def over(self, other: "InputSettings") -> "InputSettings":
        """These settings, and those of ``other`` where these say nothing."""
        return other.model_copy(update=self.model_dump(exclude_none=True))

    @property
    def num_planes(self) -> int:
        """P, the input words of a network with these inputs."""
        return num_planes(self.history or 1, self.tactical is not False, self.move_inputs is True)

    def require(self, sizes: NetConfig) -> None:
        """Raise ConfigError where a network of ``sizes`` sees anything else than is said here."""
        found = InputSettings.seen_by(sizes)
        if self.history not in (None, found.history):
            raise ConfigError(
                f"the network sees a history of {found.history} positions, not {self.history}"
            )
        if self.tactical not in (None, found.tactical):
            raise ConfigError(f"the network sees {'no ' * bool(self.tactical)}tactical planes")
        if self.move_inputs not in (None, found.move_inputs):
            raise ConfigError(f"the network reads {'no ' * bool(self.move_inputs)}inputs of moves")

    def __str__(self) -> str:
        """What is seen, for an error."""
        tactics = " and tactical planes" * (self.tactical is not False)
        moves = ", inputs of moves" * (self.move_inputs is True)
        return f"a history of {self.history or 1} positions{tactics}{moves}"


def create_network(name: str, seed: int, inputs: InputSettings | None = None) -> IntegerNet:
    """A network of the preset, or of the sizes in the TOML file, ``name``.

    ``inputs`` as for ``sizes_of``. The same bits for the same seed on every machine. Raises
    ConfigError for a name that is neither, and for invalid sizes.
    """
    return create_sized(sizes_of(name, inputs), seed)


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


def sizes_of(name: str, inputs: InputSettings | None = None) -> NetConfig:
    """The sizes that a preset or a TOML file stands for, with vecchess's input planes.

    Raises ConfigError for invalid sizes, and where ``inputs`` contradict the file.
    """
    inputs = inputs or InputSettings()
    if Path(name).suffix != SIZES_SUFFIX:
        return preset(name, inputs.num_planes)
    file = Path(name)
    sizes = {"preset": file.stem} | read_toml(file)
    try:
        return _sizes_in(sizes, inputs)
    except VecchessError as error:
        raise ConfigError(f"{file}: {error}") from None


def _sizes_in(sizes: dict[str, Any], inputs: InputSettings) -> NetConfig:
    own = build(InputSettings, {name: sizes.pop(name, None) for name in InputSettings.model_fields})
    planes = own.over(inputs).num_planes
    config = build(NetConfig, new_sizes({"num_planes": planes} | sizes))
    own.require(config)
    inputs.require(config)
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
