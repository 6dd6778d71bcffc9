"""Tiles of the tower's kernel: shapes of a program, to be timed on the device."""

from dataclasses import dataclass
from math import ceil

from vecchess.shapes import NUM_SQUARES
from vecchess.snn.presets import NetConfig

MOST_AT_ONCE = 128
MOST_STEPS = 2
"""Time steps of one launch at most: so many spikes of a slot have room at a time."""
ROWS_OF_A_WARP = 16
"""Rows of a product that a warp holds."""


@dataclass(frozen=True)
class Tile:
    """Shape of a program of ``tower.advance_tower``."""

    boards: int
    """Boards a program takes through the tower: 64 rows of the product each and time step."""
    outputs: int
    """Output channels of a product."""
    inputs: int
    """Input channels of one piece of the product, its K."""
    slice: int
    """Output channels that pass through their neurons together, see ``tower.lif_epilogue``."""
    num_warps: int = 4
    num_stages: int = 3
    """Pieces of the product whose operands are fetched ahead."""
    bytes: int = 8
    """Spikes a thread fetches at a time: 8 by way of the first-level cache, 16 past it."""
    max_registers: int | None = None
    """Registers of a thread, where fewer than it would take make room for a second program."""
    steps: int = 1
    """Time steps of one launch: membranes stay in registers between them."""

    @property
    def options(self) -> dict[str, int]:
        """Options of Triton's compiler."""
        options = {"num_warps": self.num_warps, "num_stages": self.num_stages}
        return options | ({"maxnreg": self.max_registers} if self.max_registers else {})

    @property
    def constants(self) -> dict[str, int]:
        """Constants of ``tower.advance_tower``."""
        rows = self.boards * self.steps * NUM_SQUARES
        return {
            "BOARDS": self.boards,
            "OUTPUTS": self.outputs,
            "INPUTS": self.inputs,
            "SLICE": self.slice,
            "BYTES": self.bytes,
            "STEPS": self.steps,
            "WARPS": min(self.num_warps, rows // ROWS_OF_A_WARP),
        }

    def mean_launches(self, time_steps: int, min_steps: int) -> float:
        """Launches a position takes that leaves at each step from ``min_steps`` to T as often."""
        leaving = range(min(min_steps, time_steps), time_steps + 1)
        return sum(ceil(step / self.steps) for step in leaving) / len(leaving)


def interpreted_tile(config: NetConfig) -> Tile:
    """A tile for Triton's interpreter, whose time goes with the number of operations."""
    channels = channels_at_once(config)
    return Tile(8, channels, channels, channels)


def candidates(config: NetConfig) -> list[Tile]:
    """Tiles worth trying, the likeliest first.

    More boards or time steps in a tile read the weights less often, and the second-level cache is
    what limits a Hopper GPU first; fewer leave room for several programs on a multiprocessor, so
    that the matrix units of one work while another reads membranes. That matters the more as
    Triton waits for an 8-bit product before it fetches on: only those with float32 sums run ahead.
    Of the memory of a multiprocessor, what the stages leave is first-level cache. None of them
    spills a register on sm_90 at C = 128: a test compiles them all.
    """
    channels = channels_at_once(config)
    half = max(channels // 2, 32)
    one_step = [
        Tile(2, channels, channels, 32, 8, 3),
        Tile(2, channels, half, 32, 8, 3),
        Tile(1, channels, channels, 32, 4, 3),
    ]
    two_steps = [
        Tile(2, channels, channels, 32, 8, 2, steps=2),
        Tile(2, channels, channels, 16, 8, 2, steps=2),
        Tile(1, channels, channels, 32, 8, 2, 8, 128, steps=2),
        Tile(2, channels, half, 16, 8, 2, steps=2),
        Tile(1, channels, channels, 32, 8, 3, steps=2),
        Tile(1, half, channels, 16, 8, 2, 8, 128, steps=2),
        Tile(2, channels, half, 32, 16, 2, steps=2),
    ]
    tiles = two_steps + one_step if config.time_steps > 1 else one_step
    return list(dict.fromkeys(tiles))  # of few channels some are the same


def channels_at_once(config: NetConfig) -> int:
    """The largest power of two that divides C, 128 at most."""
    return min(config.channels & -config.channels, MOST_AT_ONCE)
