"""What a batch is to be made of: a few numbers, the same on every rank and after a resume."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vecchess.train.data.sampler import draw, epochs

_REFERENCE_STREAM = 0x72656665


@dataclass(frozen=True)
class BatchSpec:
    """One batch, or the part of it that one rank takes."""

    num_shards: int
    """How many shards are listed; later ones do not exist for this batch."""
    seed: int
    step: int
    """Steps, from 0; seed, step and row decide a draw."""
    batch_size: int
    """Rows of the whole batch, over all ranks."""
    first_row: int = 0
    num_rows: int | None = None
    """The part that is made: rows ``first_row`` on; None: all that are left."""
    first_shard: int = 0
    """Shards before it are left out: an on-policy step learns from its own games alone."""
    first_position: int = 0
    """Positions of the window before it are not drawn."""
    end_position: int | None = None
    """Nor are those from here on; None: all the rest are."""
    in_epochs: bool = False
    """Every position once an epoch, instead of any at any time; see ``draws.py``."""
    mirror: bool = False
    """Show a random half of what may be mirrored in the mirror; see ``mirror.py``."""
    reference_share: float = 0.0
    """Share of the rows that come from reference games, spread evenly among the others."""
    num_reference_shards: int = 0
    """How many shards of theirs are listed."""

    @property
    def rows(self) -> int:
        """B of the part that is made."""
        return self.batch_size - self.first_row if self.num_rows is None else self.num_rows

    @property
    def reference_rows(self) -> NDArray[np.int64]:
        """int64[R]: the rows of this part that come from reference games."""
        ends = np.floor(
            np.arange(self.first_row, self.first_row + self.rows + 1) * self.reference_share
        )
        return np.flatnonzero(np.diff(ends))

    def draw(self, num_positions: int) -> NDArray[np.int64]:
        """int64[B]: the positions of a window of so many that this part takes."""
        choose = epochs if self.in_epochs else draw
        end = num_positions if self.end_position is None else self.end_position
        num = end - self.first_position
        rows = choose(self.seed, self.step, self.batch_size, num, self.first_row, self.rows)
        return rows + self.first_position

    def draw_reference(self, num_positions: int) -> NDArray[np.int64]:
        """int64[R]: the positions, of so many in reference games, that ``reference_rows`` take."""
        seed = self.seed ^ _REFERENCE_STREAM
        drawn = draw(seed, self.step, self.batch_size, num_positions, self.first_row, self.rows)
        return drawn[self.reference_rows]
