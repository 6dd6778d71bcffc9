"""Blocks: equal pieces of a generation of a training, or of the games of self-play.

A block is what is given out, computed and recorded at a time where several machines play. Its
result does not depend on who plays it, nor the whole on how it is divided.
"""

from typing import NamedTuple

import numpy as np

from vecchess.store.id_set import Ids, IdSet


class Blocks(NamedTuple):
    """The ids ``first`` to ``end`` - 1 of segments or games, in blocks of ``size``; the last block
    may have fewer."""

    first: int
    end: int
    size: int

    @property
    def num_blocks(self) -> int:
        """The number of blocks, which are numbered from 0."""
        return -(-(self.end - self.first) // self.size)

    def ids(self, block: int) -> IdSet:
        """The ids of a block."""
        first = self.first + block * self.size
        return IdSet([(first, min(first + self.size, self.end))])

    def of(self, ids: Ids) -> Ids:
        """int64[K]: the block of each of ``ids``, int64[K]."""
        blocks: Ids = (ids - self.first) // self.size
        return blocks

    def touched_by(self, ids: IdSet) -> list[int]:
        """The blocks that have some of ``ids``, ascending."""
        return [int(block) for block in np.unique(self.of(ids.ids))]
