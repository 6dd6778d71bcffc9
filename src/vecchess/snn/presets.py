"""The sizes of a network, and the four that have names."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from vecchess.errors import ConfigError

LANES = 32
"""C is a multiple of this, so that a row of weights fills whole vector registers."""
WEIGHT_LIMIT = 127
"""Largest magnitude of an int8 weight; -128 is not used."""


class NetConfig(BaseModel):
    """What two networks must share for their weights to have the same shapes and the same units.

    Every current, membrane and accumulator is an integer multiple of 2^-grid_bits; a weight is
    int8 * 2^-k with k <= weight_bits, a bias an integer multiple of 2^-weight_bits.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    num_planes: int = Field(ge=1, le=256)
    """P, binary input planes."""
    blocks: int = Field(ge=1, le=80)
    """Residual blocks of two 3x3 convolutions each."""
    channels: int = Field(ge=LANES, le=512, multiple_of=LANES)
    """C of the residual stream."""
    value_channels: int = Field(default=8, ge=1, le=64)
    """Channels of the spiking layer in front of win/draw/loss."""
    time_steps: int = Field(default=4, ge=1, le=64)
    """T, the most time steps a position may take."""
    weight_bits: int = Field(default=10, ge=0, le=10)
    """The largest k: the finest weight is 2^-weight_bits."""
    grid_bits: int = Field(default=13, ge=1, le=20)
    """F: the threshold of every neuron is 2^F units of 2^-F."""
    preset: str = "custom"
    """Name of the size, for people."""

    @model_validator(mode="after")
    def _grid_holds_weights(self) -> Self:
        if self.grid_bits < self.weight_bits:
            raise ValueError("grid_bits must be at least weight_bits")
        return self

    @property
    def leak_exact(self) -> bool:
        """True when T halvings never leave the grid: the leak is then beta = 0.5 without a floor.

        A current is a multiple of 2^-weight_bits and each of the T - 1 leaks adds one bit.
        """
        return self.grid_bits >= self.weight_bits + self.time_steps - 1


PRESETS: dict[str, tuple[int, int]] = {
    "tiny": (4, 32),
    "small": (6, 64),
    "base": (10, 128),
    "large": (20, 256),
}
"""Name -> (blocks, channels)."""


def preset(name: str, num_planes: int) -> NetConfig:
    """Sizes of the named preset for P input planes; ``ConfigError`` for a name that is not one."""
    if name not in PRESETS:
        raise ConfigError(f"no network preset '{name}'; there are {', '.join(PRESETS)}")
    blocks, channels = PRESETS[name]
    return NetConfig(num_planes=num_planes, blocks=blocks, channels=channels, preset=name)
