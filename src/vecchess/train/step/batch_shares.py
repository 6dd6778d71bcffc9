"""The rows of a batch that each rank computes: as many as it does in the time of the others.

A batch is divided into parts that do not depend on the ranks, unless these are many; a rank gets
whole parts that lie side by side. The gradient of a part has the same bits on every rank and sums
over parts are exact, so shares, and the times that they follow, decide nothing of what is learnt
(decision 229).
"""

from dataclasses import replace
from statistics import median

from vecchess.config import TrainConfig
from vecchess.runtime.devices import divide_by_speed
from vecchess.train.data.batch_spec import BatchSpec

LEAST_ROWS, MOST_ROWS, USUAL_PARTS = 128, 256, 8
"""A part has 128 to 256 rows, an eighth of a large batch: fewer rows at a time are slower."""
SMALL_PARTS = 4
"""Parts of a batch below 256 rows."""
UPDATES = 16
"""Shares are decided anew after so many updates, by the median of each rank's times."""


def part_rows(config: TrainConfig, num_ranks: int) -> int:
    """Rows of a part; the last one may have fewer.

    They depend on the ranks only where these are more than the usual parts.
    """
    size = config.batch_size
    if config.micro_batch:
        return min(config.micro_batch, size)
    usual = min(max(-(-size // USUAL_PARTS), LEAST_ROWS), MOST_ROWS)
    if size < MOST_ROWS:
        usual = -(-size // SMALL_PARTS)
    return min(usual, max(size // num_ranks, 1))


def num_parts(config: TrainConfig, num_ranks: int) -> int:
    """Parts of a batch: the most ranks that can share it."""
    return -(-config.batch_size // part_rows(config, num_ranks))


def most_parts(config: TrainConfig, num_ranks: int) -> int:
    """Parts that a rank gets at most: twice its even share, for which there is memory."""
    found = num_parts(config, num_ranks)
    return min(found, 2 * -(-found // num_ranks))


class BatchShares:
    """The shares of all ranks, known to each; the same calls on every rank keep them the same."""

    def __init__(self, config: TrainConfig, num_ranks: int) -> None:
        """Even shares. A batch has at least ``num_ranks`` parts."""
        self._config = config
        self.parts: list[int] = []
        """Parts of each rank."""
        self._times: list[list[float]] = []
        self._divide([1.0] * num_ranks)

    def rows(self, rank: int) -> range:
        """The rows of a batch that ``rank`` computes."""
        size, first = part_rows(self._config, len(self.parts)), sum(self.parts[:rank])
        ends = (first * size, (first + self.parts[rank]) * size)
        return range(*(min(end, self._config.batch_size) for end in ends))

    def share_of(self, rank: int, spec: BatchSpec) -> BatchSpec:
        """The rank's part of a whole batch."""
        rows = self.rows(rank)
        return replace(spec, first_row=rows.start, num_rows=len(rows))

    def note(self, times: list[float]) -> None:
        """Take in the time that each rank needed for a part in an update, in any unit; 0 where a
        rank has not measured it."""
        if all(times):
            self._times.append(times)
        if len(self._times) == UPDATES:
            self._divide([median(row) for row in zip(*self._times, strict=True)])
            self._times = []

    def _divide(self, times: list[float]) -> None:
        most = most_parts(self._config, len(times))
        self.parts = divide_by_speed(num_parts(self._config, len(times)), times, most)
