"""The sizes of a network, and the four that have names."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from vecchess.chess.planes import reads_moves
from vecchess.config.settings import Settings
from vecchess.errors import ConfigError
from vecchess.shapes import MAX_TIME_STEPS

LANES = 32
"""C is a multiple of this, so that a row of weights fills whole vector registers."""
WEIGHT_LIMIT = 127
"""Largest magnitude of an int8 weight; -128 is not used."""
ACTIVATION_BITS = 6
"""An activation, of the ReLU twin or of a graded readout, is a multiple of 2^-6 ..."""
ACTIVATION_LIMIT = 127
"""... and at most 127 of them, so it fits int8 as the weights do."""
DIRECT = 16
"""``input_rate`` of a network whose input planes are a constant current."""


class NetConfig(Settings):
    """The sizes of a network: networks that share them have weights of the same shapes and units.

    Every current, membrane and accumulator is an integer multiple of 2^-grid_bits; a weight is
    int8 * 2^-k with k <= weight_bits, a bias an integer multiple of 2^-weight_bits.
    """

    num_planes: int = Field(ge=1, le=256)
    """P, input words: binary planes, and inputs of moves behind them (``chess.planes``)."""
    kind: Literal["residual", "plain"] = "residual"
    """"residual": blocks of two 3x3 convolutions around a shortcut for currents, heads that read
    squares; "plain": 3x3 convolutions in a row, heads that read the mean over the board."""
    neuron: Literal["lif", "relu"] = "lif"
    """"lif" spikes; "relu" is the twin without time: T = 1, activations of 7 bits."""
    readout: Literal["spikes", "graded"] = "spikes"
    """What policy and value head of a spiking residual network read of the tower's last currents:
    spikes of LIF neurons, or graded spikes, activations of 7 bits as the twin's. New networks are
    graded, see ``new_sizes``; files without this field are older."""
    blocks: int = Field(ge=0, le=80)
    """Residual blocks; 0 for a plain network."""
    channels: int = Field(ge=LANES, le=512, multiple_of=LANES)
    """C of the residual stream, or of the last convolution of a plain network."""
    widths: tuple[int, ...] = ()
    """Channels of each convolution of a plain network; empty for a residual one."""
    value_channels: int = Field(default=8, ge=1, le=64)
    """Channels of the spiking layer in front of win/draw/loss."""
    time_steps: int = Field(default=1, ge=1, le=MAX_TIME_STEPS)
    """T, the most time steps a position may take (decision 349 says why one)."""
    input_rate: int = Field(default=DIRECT, ge=1, le=DIRECT)
    """Sixteenths of the time steps at which a set bit of a plane spikes; 16: always (direct)."""
    weight_bits: int = Field(default=10, ge=0, le=10)
    """The largest k: the finest weight is 2^-weight_bits."""
    grid_bits: int = Field(default=13, ge=1, le=20)
    """F: the threshold of every neuron is 2^F units of 2^-F."""
    preset: str = "custom"
    """Name of the size, for people."""

    @model_validator(mode="before")
    @classmethod
    def _widths_say_the_rest(cls, values: Any) -> Any:
        """A plain network needs no blocks, and its last width is its C."""
        if isinstance(values, dict) and values.get("kind") == "plain":
            match values.get("widths"):
                case [*_, last]:
                    return {"blocks": 0, "channels": last} | values
        return values

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.grid_bits < max(self.weight_bits, ACTIVATION_BITS):
            raise ValueError(f"grid_bits must be at least weight_bits and {ACTIVATION_BITS}")
        if self.kind == "residual" and (self.blocks == 0 or self.widths or self.is_rate_coded):
            raise ValueError("a residual network has blocks, no widths and direct input")
        if self.kind == "plain" and (self.blocks or self.widths[-1:] != (self.channels,)):
            raise ValueError(
                "a plain network has widths, no blocks, and channels is the last width"
            )
        if any(width % LANES or not LANES <= width <= 512 for width in self.widths):
            raise ValueError(f"widths must be multiples of {LANES} up to 512")
        if self.neuron == "relu" and (self.kind == "plain" or self.time_steps != 1):
            raise ValueError("a ReLU network is residual and has time_steps = 1")
        if self.is_rate_coded and reads_moves(self.num_planes):
            raise ValueError("a rate-coded network reads no inputs of moves")
        if self.readout == "graded" and (self.kind == "plain" or self.neuron == "relu"):
            raise ValueError("a graded readout is for spiking residual networks")
        return self

    @property
    def is_rate_coded(self) -> bool:
        """True when the input planes spike at random, a new pattern at each time step."""
        return self.input_rate < DIRECT

    def facts(self) -> dict[str, Any]:
        """The fields as a network file stores them: what was added since schema 1 only if set."""
        added = {"kind", "neuron", "readout", "widths", "input_rate"}
        unset = {
            name for name in added if getattr(self, name) == type(self).model_fields[name].default
        }
        return self.model_dump(mode="json", exclude=unset)

    @property
    def leak_exact(self) -> bool:
        """True when T halvings never leave the grid: the leak is then beta = 0.5 without a floor.

        A current is a multiple of 2^-weight_bits and each of the T - 1 leaks adds one bit.
        """
        return self.grid_bits >= self.weight_bits + self.time_steps - 1


def new_sizes(sizes: Mapping[str, Any]) -> dict[str, Any]:
    """``sizes`` of a new network, with a graded readout where it may have one and none is given."""
    kind, neuron = sizes.get("kind", "residual"), sizes.get("neuron", "lif")
    readout = "graded" if (kind, neuron) == ("residual", "lif") else "spikes"
    return {"readout": readout} | dict(sizes)


PRESETS: dict[str, tuple[int, int]] = {
    "tiny": (4, 32),
    "small": (6, 64),
    "base": (10, 128),
    "large": (20, 256),
}
"""Name -> (blocks, channels)."""
SIZES_SUFFIX = ".toml"
"""Files that hold sizes end in it."""


def preset(name: str, num_planes: int) -> NetConfig:
    """Sizes of the named preset for P input planes; ``ConfigError`` for a name that is not one."""
    if name not in PRESETS:
        raise ConfigError(f"no network preset '{name}'; there are {', '.join(PRESETS)}")
    blocks, channels = PRESETS[name]
    sizes = {"num_planes": num_planes, "blocks": blocks, "channels": channels, "preset": name}
    return NetConfig.model_validate(new_sizes(sizes))
