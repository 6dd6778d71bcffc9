"""The replay window: the newest games of a run, or all games of given places, in memory.

Its content is a function of which shards are asked for, not of when: every process that asks for
the same shards draws from the same positions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import DataError
from vecchess.runtime.reporting import ReportLine
from vecchess.selfplay.worker.shard_writer import return_freed_memory
from vecchess.store.manifest import Manifest
from vecchess.store.shard import ShardFile
from vecchess.store.sources import find_shards
from vecchess.train.data.shard_block import ShardBlock, address_table


class ShardSource(Protocol):
    """An ordered list of shards, which may grow."""

    def first(self, num_shards: int) -> list[ShardFile]:
        """The first ``num_shards`` shards. Raises DataError where there are fewer."""
        ...

    def set_aside(self, shard: ShardFile, reason: str) -> str:
        """Handle a shard that cannot be read; returns a line for the user, or ""."""
        ...


class ManifestShards:
    """The shards that the manifest of a run's ``games`` folder lists, as they are added."""

    def __init__(self, folder: Path) -> None:
        """Nothing is read yet; the manifest may still grow."""
        self._folder = folder
        self._shards: list[ShardFile] = []

    def first(self, num_shards: int) -> list[ShardFile]:
        """The shards of the manifest's first lines."""
        if num_shards > len(self._shards):
            self._shards = Manifest(self._folder).shards
        if num_shards > len(self._shards):
            raise DataError(
                f"the manifest in {self._folder} lists {len(self._shards)} shards, not {num_shards}"
            )
        return self._shards[:num_shards]

    def set_aside(self, shard: ShardFile, reason: str) -> str:
        """Rename the shard, so that it is not read again; "" where another process has."""
        if shard.set_aside_path.exists():
            return ""
        try:
            shard.path.rename(shard.set_aside_path)
        except OSError:
            return f"a shard is left out: {reason}"
        return f"a shard is set aside as {shard.set_aside_path.name}: {reason}"


class GivenShards:
    """The shards of places that a user names: runs, folders of shards, shard files."""

    def __init__(self, places: list[Path]) -> None:
        """Raises ConfigError where a place holds no games."""
        self._shards = find_shards(places)

    def __len__(self) -> int:
        """The number of shards."""
        return len(self._shards)

    def first(self, num_shards: int) -> list[ShardFile]:
        """The first shards, in the order of the places."""
        if num_shards > len(self._shards):
            raise DataError(f"there are {len(self._shards)} shards, not {num_shards}")
        return self._shards[:num_shards]

    def set_aside(self, shard: ShardFile, reason: str) -> str:
        """Leave the shard where it is: another run owns it (decision 83)."""
        return f"a shard is left out: {reason}"


class ReplayWindow:
    """Games in memory, with an index of the positions to learn from.

    Positions are numbered from 0 in the order of the games' numbers, folder by folder. Which shard
    a game ended up in depends on timing and does not matter (decision 75).
    """

    def __init__(
        self, source: ShardSource, trace: float = 1.0, report_line: ReportLine = print
    ) -> None:
        """An empty window. ``trace``: lambda of the returns. Bad shards are reported."""
        self._source = source
        self._trace = trace
        self._report_line = report_line
        self._held = (0, 0)
        self._bad: set[int] = set()
        self._blocks: dict[int, ShardBlock] = {}
        self._table = address_table([])
        self._index = GameIndex.of([], [])

    @property
    def num_positions(self) -> int:
        """Positions to learn from."""
        return self._index.num_positions

    @property
    def num_shards(self) -> int:
        """Shards in memory."""
        return len(self._blocks)

    @property
    def nbytes(self) -> int:
        """Bytes of all columns and indices."""
        blocks = sum(block.nbytes for block in self._blocks.values())
        return blocks + self._table.nbytes + self._index.nbytes

    @property
    def table(self) -> NDArray[np.int64]:
        """int64[blocks, columns], for ``collate``; valid until the next update."""
        return self._table

    def update(self, num_shards: int, first_shard: int = 0) -> None:
        """Hold shards ``first_shard`` .. ``num_shards`` - 1 of the source, and no others.

        Raises DataError where the source has fewer. A bad shard is reported and counts as empty.
        """
        if (num_shards, first_shard) == self._held:
            return
        shards = self._source.first(num_shards)
        blocks = {}
        for index in range(first_shard, num_shards):
            block = self._blocks.get(index) or self._read(index, shards[index])
            if block is not None and block.num_positions:
                blocks[index] = block
        self._replace_blocks(blocks, [shards[index] for index in blocks])
        self._held = (num_shards, first_shard)

    def find(self, positions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64[B] twice: the block of each position, as a row of ``table``, and its ply there."""
        rows, places = self._index.find(positions)
        blocks = list(self._blocks.values())
        plies = np.zeros(len(positions), np.int64)
        for item, (row, place) in enumerate(zip(rows, places, strict=True)):
            plies[item] = blocks[row].trainable[place]
        return rows, plies

    def _read(self, index: int, shard: ShardFile) -> ShardBlock | None:
        """The games of a shard; None where it is bad, now or before."""
        if index in self._bad:
            return None
        try:
            return ShardBlock.of(shard.read(), self._trace)
        except DataError as error:
            self._bad.add(index)
            text = str(error)
            reason = text if str(shard.path) in text else f"{shard.path}: {text}"
            if line := self._source.set_aside(shard, reason):
                self._report_line(line)
            return None

    def _replace_blocks(self, blocks: dict[int, ShardBlock], shards: list[ShardFile]) -> None:
        has_dropped = any(index not in blocks for index in self._blocks)
        self._blocks = blocks
        ordered = list(blocks.values())
        self._table = address_table(ordered)
        self._index = GameIndex.of(ordered, [str(shard.path.parent) for shard in shards])
        if has_dropped:
            return_freed_memory()


@dataclass(frozen=True)
class GameIndex:
    """The games of G blocks, ordered by folder and game number: an order independent of shards.

    ends: int64[G]     position behind the last of each game, all games one after another
    block: int32[G]    the block that holds the game
    first: int32[G]    the game's first place among the block's trainable plies
    """

    ends: NDArray[np.int64]
    block: NDArray[np.int32]
    first: NDArray[np.int32]

    @classmethod
    def of(cls, blocks: Sequence[ShardBlock], folders: Sequence[str]) -> "GameIndex":
        """Index ``blocks``, each from one of ``folders``, ranked by first appearance."""
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
        """int64[B] twice: each position's block, and place among the block's trainable plies."""
        game = np.searchsorted(self.ends, positions, side="right")
        begins = np.concatenate([[0], self.ends])[game]
        return self.block[game].astype(np.int64), self.first[game] + positions - begins


def _games_of(block: ShardBlock, index: int, rank: int) -> NDArray[np.int64]:
    """int64[G, 5]: rank of the folder, number, block, first place, positions of each game."""
    places = np.searchsorted(block.trainable, block.offsets)
    counts = np.diff(places)
    ranks, blocks = np.full_like(counts, rank), np.full_like(counts, index)
    return np.stack([ranks, block.numbers, blocks, places[:-1], counts], axis=1)


def window_size(
    total_positions: int, scale: int = 250_000, exponent: float = 0.75, slope: float = 0.4
) -> int:
    """Positions to keep of ``total_positions`` made so far: a power law, as in KataGo.

    N = c * (1 + beta * ((n / c) ** alpha - 1) / alpha), with c = ``scale``, alpha = ``exponent``
    and beta = ``slope``: all of the first c, then at most beta of the new ones (Wu 2019,
    "Accelerating Self-Play Learning in Go", whose figures are the defaults).
    """
    if total_positions <= scale:
        return scale
    grown = float((total_positions / scale) ** exponent) - 1
    return round(scale * (1 + slope * grown / exponent))
