"""Tiles of the tower's kernel: shapes of a program, to be timed on the device."""

from dataclasses import dataclass

from vecchess.snn.presets import NetConfig

MOST_AT_ONCE = 128


@dataclass(frozen=True)
class Tile:
    """Shape of a program of ``tower.advance_tower``."""

    boards: int
    """Boards a program takes through the tower: 64 rows of the product each."""
    outputs: int
    """Output channels of a product."""
    inputs: int
    """Input channels of one step of the product, its K."""
    slice: int
    """Output channels that pass through their neurons together, see ``tower.pass_on``."""
    num_warps: int = 4
    num_stages: int = 3
    """Steps of the product whose operands are fetched ahead."""
    bytes: int = 8
    """Spikes a thread fetches at a time: 8 by way of the first-level cache, 16 past it."""
    max_registers: int | None = None
    """Registers of a thread, where fewer than it would take make room for a second program."""

    @property
    def options(self) -> dict[str, int]:
        """Options of Triton's compiler."""
        options = {"num_warps": self.num_warps, "num_stages": self.num_stages}
        return options | ({"maxnreg": self.max_registers} if self.max_registers else {})


def interpreted_tile(config: NetConfig) -> Tile:
    """For Triton's interpreter, whose time goes with the number of operations, not their size."""
    channels = channels_at_once(config)
    return Tile(8, channels, channels, channels)


def candidates(config: NetConfig) -> list[Tile]:
    """Tiles worth trying, the likeliest first.

    More boards in a tile read the weights less often, and the second-level cache is what limits
    a Hopper GPU first; fewer leave room for several programs on a multiprocessor, so that the
    matrix units of one work while another reads membranes. That matters the more as Triton 3.6
    waits for an 8-bit product before it fetches on: only those with float32 sums run ahead.
    The first four spill no register on sm_90 at C = 128.
    """
    channels = channels_at_once(config)
    half = max(channels // 2, 32)
    return [
        Tile(2, channels, channels, 32, 8, 3),
        Tile(2, channels, channels, 32, 8, 3, 16),
        Tile(2, channels, channels, 32, 16, 3),
        Tile(1, channels, channels, 32, 4, 3),
        Tile(1, channels, channels, 32, 4, 3, 16),
        Tile(2, half, channels, 32, 8, 3, 8, 128),
        Tile(2, channels, half, 32, 8, 4),
        Tile(4, channels, channels, min(channels, 32), 8, 3),
        Tile(4, channels, half, 32, 16, 4),
    ]


def channels_at_once(config: NetConfig) -> int:
    """The largest power of two that divides C, 128 at most."""
    return min(config.channels & -config.channels, MOST_AT_ONCE)
