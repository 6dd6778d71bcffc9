"""Which game a position of the window is in: an order that does not depend on shards."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vecchess.train.data.shard_block import ShardBlock


@dataclass(frozen=True)
class GameIndex:
    """G games, ordered by the folder they lie in and by their numbers.

    ends: int64[G]     position behind the last of each game, all games one after another
    block: int32[G]    the block that holds the game
    first: int32[G]    its first place among the block's trainable plies
    """

    ends: NDArray[np.int64]
    block: NDArray[np.int32]
    first: NDArray[np.int32]

    @classmethod
    def of(cls, blocks: Sequence[ShardBlock], folders: Sequence[str]) -> "GameIndex":
        """Index ``blocks``, each from one of ``folders``, which rank as they first appear."""
        rank = {folder: place for place, folder in reversed(list(enumerate(folders)))}
        parts = [
            _games_of(block, index, rank[folder])
            for index, (block, folder) in enumerate(zip(blocks, folders, strict=True))
        ]
        games = np.concatenate([np.zeros((0, 5), np.int64), *parts])
        games = games[np.lexsort((games[:, 1], games[:, 0]))]
        return cls(
            ends=np.cumsum(games[:, 4]),
            block=games[:, 2].astype(np.int32),
            first=games[:, 3].astype(np.int32),
        )

    @property
    def num_positions(self) -> int:
        """Positions of all games."""
        return int(self.ends[-1]) if len(self.ends) else 0

    @property
    def nbytes(self) -> int:
        """Bytes of the index."""
        return self.ends.nbytes + self.block.nbytes + self.first.nbytes

    def find(self, positions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64[B] twice: the block of each of ``positions``, and its place among the block's
        trainable plies."""
        game = np.searchsorted(self.ends, positions, side="right")
        begins = np.concatenate([[0], self.ends])[game]
        return self.block[game].astype(np.int64), self.first[game] + positions - begins


def _games_of(block: ShardBlock, index: int, rank: int) -> NDArray[np.int64]:
    """int64[G, 5]: rank of the folder, number, block, first place, positions of each game."""
    places = np.searchsorted(block.trainable, block.offsets)
    counts = np.diff(places)
    ranks, blocks = np.full_like(counts, rank), np.full_like(counts, index)
    return np.stack([ranks, block.numbers, blocks, places[:-1], counts], axis=1)
