"""Which positions a batch consists of: a pure function of a few numbers.

The numbers are the same on every rank and after a resume. Every row of a batch has its own random
numbers, so any part of the batch can be drawn by itself: a rank draws its rows only.

A batch is divided into parts that depend on the settings alone. A rank gets whole parts that lie
side by side, as many as it computes in the time of the others; ranks beyond the parts get none. The
gradient of a part has the same bits on every rank and sums over parts are exact, so ranks, shares,
and the times that they follow, decide nothing of what is learnt (decision 229).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.config import TrainConfig
from vecchess.jit import inline, kernel
from vecchess.rng import random_below, random_u64
from vecchess.runtime.devices import divide_by_speed

_STREAM = 0x6472617773
"""Keeps these draws apart from others with the same seed: the word "draws"."""
_REFERENCE_STREAM = 0x72656665
_U = np.uint64
_ROUNDS = 6
_MOST = 2**31
"""Positions that can be drawn from: random numbers are scaled in 32 bits."""
LEAST_ROWS, MOST_ROWS, USUAL_PARTS = 128, 256, 8
"""A part has 128 to 256 rows, an eighth of a large batch: fewer rows at a time are slower."""
SMALL_PARTS = 4
"""Parts of a batch below 256 rows."""
UPDATES = 16
"""Shares are decided anew after so many updates, by the median of each rank's times."""


@dataclass(frozen=True)
class BatchSpec:
    """What one batch, or one rank's part of it, is made of."""

    source_end: int
    """What the source has from here on does not count: segments, or shards, see ``ShardSource``."""
    seed: int
    step: int
    """Update of the run, 0 first; (seed, step, row) decides a draw."""
    batch_size: int
    """Rows of the whole batch, all ranks together."""
    first_row: int = 0
    num_rows: int | None = None
    """This part is rows ``first_row`` on, so many; None: all that are left."""
    source_first: int = 0
    """What the source has before is not in the window: an on-policy step learns from its own games
    alone."""
    first_position: int = 0
    """Positions of the window before it are not drawn."""
    end_position: int | None = None
    """Positions of the window from here on are not drawn; None: all are."""
    in_epochs: bool = False
    """Every position once an epoch, instead of drawn with replacement."""
    mirror: bool = False
    """Mirror a random half of the positions that allow it."""
    reference_share: float = 0.0
    """Share of the rows that come from reference games, spread evenly (decision 76)."""
    num_reference_shards: int = 0
    """Shards of the reference games."""

    @property
    def rows(self) -> int:
        """B of this part."""
        return self.batch_size - self.first_row if self.num_rows is None else self.num_rows

    @property
    def reference_rows(self) -> NDArray[np.int64]:
        """int64[R]: the rows of this part that come from reference games."""
        ends = np.floor(
            np.arange(self.first_row, self.first_row + self.rows + 1) * self.reference_share
        )
        return np.flatnonzero(np.diff(ends))

    def draw(self, num_positions: int) -> NDArray[np.int64]:
        """int64[B]: the positions of this part, out of a window of ``num_positions``.

        Each row is drawn by itself, with replacement; or all positions in an order of each epoch's
        own, epochs following each other without a gap. Raises ValueError where there are none.
        """
        end = num_positions if self.end_position is None else self.end_position
        return self.first_position + self._draw(self.seed, end - self.first_position)

    def draw_reference(self, num_positions: int) -> NDArray[np.int64]:
        """int64[R]: positions for ``reference_rows``, out of ``num_positions`` in all."""
        drawn = replace(self, in_epochs=False)._draw(self.seed ^ _REFERENCE_STREAM, num_positions)
        return drawn[self.reference_rows]

    def _draw(self, seed: int, num: int) -> NDArray[np.int64]:
        """int64[B]: indices below ``num``."""
        if not 0 < num < _MOST:
            raise ValueError(f"cannot draw from {num} positions")
        rows = np.zeros(self.rows, np.int64)
        if self.in_epochs:
            first = self.step * self.batch_size + self.first_row
            _fill_epochs(seed ^ _STREAM, first, num, _half_bits(num), rows)
        else:
            _fill_uniform(seed ^ _STREAM, self.step, self.first_row, num, rows)
        return rows


@dataclass(frozen=True)
class IterationPlan:
    """What an iteration learns from; the same number of updates on all ranks."""

    num_steps: int
    spec: Callable[[int], BatchSpec]
    """Maps an update's number within the run to its batch, the whole of it."""
    positions: int
    """Positions played, or read, since the run began."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Facts about the games, for ``metrics.jsonl``."""


def _half_bits(num_positions: int) -> int:
    """Half the bits of the smallest even number of bits, at least 2, that ``num_positions`` fit."""
    return max(1, ((num_positions - 1).bit_length() + 1) // 2)


@kernel
def _fill_uniform(seed, step, first_row, num_positions, rows):  # type: ignore[no-untyped-def]
    for row in range(len(rows)):
        rows[row] = random_below(seed, step, first_row + row, num_positions)


@kernel
def _fill_epochs(seed, first, num_positions, half_bits, rows):  # type: ignore[no-untyped-def]
    for row in range(len(rows)):
        epoch, place = divmod(first + row, num_positions)
        rows[row] = _permuted(seed, epoch, place, num_positions, half_bits)


@inline
def _permuted(seed: Any, epoch: Any, place: Any, num_positions: Any, half_bits: Any) -> Any:
    """``int64``: the image of ``place`` under the permutation of an epoch.

    A Feistel network permutes the next power of four; a result outside the range is permuted again
    until it is inside (Black and Rogaway 2002, cycle walking). The order is not stored anywhere.
    """
    low = (_U(1) << _U(half_bits)) - _U(1)
    word = _U(place)
    while True:
        left, right = word >> _U(half_bits), word & low
        for turn in range(_ROUNDS):
            counter = right | _U(turn) << _U(32)
            left, right = right, left ^ (random_u64(seed, epoch, counter) & low)
        word = left << _U(half_bits) | right
        if word < _U(num_positions):
            return np.int64(word)


def part_rows(config: TrainConfig) -> int:
    """Rows of a part; the last one may have fewer."""
    size = config.batch_size
    if config.micro_batch:
        return min(config.micro_batch, size)
    if size < MOST_ROWS:
        return -(-size // SMALL_PARTS)
    return min(max(-(-size // USUAL_PARTS), LEAST_ROWS), MOST_ROWS)


def num_parts(config: TrainConfig) -> int:
    """Parts of a batch: the most ranks that can share it."""
    return -(-config.batch_size // part_rows(config))


def most_parts(config: TrainConfig, num_ranks: int) -> int:
    """Parts that a rank gets at most: twice its even share, for which there is memory."""
    found = num_parts(config)
    return min(found, 2 * -(-found // num_ranks))


def note_on_idle(config: TrainConfig, num_ranks: int) -> str:
    """A line for people where some of the ranks have no part of a batch; else ""."""
    size, idle = config.batch_size, num_ranks - num_parts(config)
    if idle <= 0:
        return ""
    smaller = f"--micro-batch {size // num_ranks}" if size >= num_ranks else "a larger --batch-size"
    return (
        f"{idle} of {num_ranks} ranks have no part of a batch of {size}, which has "
        f"{num_parts(config)} of {part_rows(config)} rows: {smaller} gives each one, and other bits"
    )


class BatchShares:
    """The shares of all ranks, known to each; the same calls on every rank keep them the same."""

    def __init__(self, config: TrainConfig, num_ranks: int) -> None:
        """Even shares; none for the ranks beyond the parts of a batch."""
        self._config = config
        self._num_idle = max(num_ranks - num_parts(config), 0)
        self.parts: list[int] = []
        """Parts of each rank."""
        self._times: list[list[float]] = []
        self._divide([1.0] * (num_ranks - self._num_idle))

    def rows(self, rank: int) -> range:
        """The rows of a batch that ``rank`` computes."""
        size, first = part_rows(self._config), sum(self.parts[:rank])
        ends = (first * size, (first + self.parts[rank]) * size)
        return range(*(min(end, self._config.batch_size) for end in ends))

    def share_of(self, rank: int, spec: BatchSpec) -> BatchSpec:
        """The rank's part of a whole batch."""
        rows = self.rows(rank)
        return replace(spec, first_row=rows.start, num_rows=len(rows))

    def note(self, times: list[float]) -> None:
        """Take in the time that each rank needed for a part in an update, in any unit; 0 where a
        rank has not measured it."""
        times = times[: len(times) - self._num_idle]
        if all(times):
            self._times.append(times)
        if len(self._times) == UPDATES:
            self._divide([median(row) for row in zip(*self._times, strict=True)])
            self._times = []

    def _divide(self, times: list[float]) -> None:
        most = most_parts(self._config, len(times))
        parts = divide_by_speed(num_parts(self._config), times, most)
        self.parts = parts + [0] * self._num_idle
