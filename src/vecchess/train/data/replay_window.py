"""The replay window: the newest games of a run, or all games of some places, in memory.

What it holds is a function of how many shards are listed and how many positions it may hold, not
of when it was asked: whoever is told the same two numbers draws from the same positions.
"""

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
from vecchess.train.data.game_index import GameIndex
from vecchess.train.data.shard_block import ShardBlock, address_table


class ShardSource(Protocol):
    """Where a window's shards come from, in order."""

    def first(self, num_shards: int) -> list[ShardFile]:
        """The first ``num_shards`` shards. Raises DataError where there are not so many."""
        ...

    def set_aside(self, shard: ShardFile, reason: str) -> str:
        """Do something about a shard that cannot be read; returns a line for people, or ""."""
        ...


class ManifestShards:
    """The shards that the manifest of a run's ``games`` folder lists, as they are added."""

    def __init__(self, folder: Path) -> None:
        """Nothing is read yet; the manifest may still be growing."""
        self._folder = folder
        self._shards: list[ShardFile] = []

    def first(self, num_shards: int) -> list[ShardFile]:
        """The first lines of the manifest."""
        if num_shards > len(self._shards):
            self._shards = Manifest(self._folder).shards
        if num_shards > len(self._shards):
            raise DataError(
                f"the manifest in {self._folder} lists {len(self._shards)} shards, not {num_shards}"
            )
        return self._shards[:num_shards]

    def set_aside(self, shard: ShardFile, reason: str) -> str:
        """Rename it, so that nobody trips over it again. Another reader may have been faster."""
        if shard.aside.exists():
            return ""
        try:
            shard.path.rename(shard.aside)
        except OSError:
            return f"a shard is left out: {reason}"
        return f"a shard is set aside as {shard.aside.name}: {reason}"


class GivenShards:
    """The shards of places that a user names: runs, folders of shards, shard files."""

    def __init__(self, places: list[Path]) -> None:
        """Raises ConfigError where a place holds no games."""
        self._shards = find_shards(places)

    def __len__(self) -> int:
        """How many shards there are."""
        return len(self._shards)

    def first(self, num_shards: int) -> list[ShardFile]:
        """The first shards, in the order of the places."""
        if num_shards > len(self._shards):
            raise DataError(f"there are {len(self._shards)} shards, not {num_shards}")
        return self._shards[:num_shards]

    def set_aside(self, shard: ShardFile, reason: str) -> str:
        """Leave it where it is: it belongs to somebody else."""
        return f"a shard is left out: {reason}"


class ReplayWindow:
    """Games in memory, with an index of the positions to learn from.

    Positions are numbered from 0, in the order of the games' numbers, folder by folder: in which
    shard a game ended up, which is a matter of time, does not matter.
    """

    def __init__(
        self, shelf: ShardSource, trace: float = 1.0, report_line: ReportLine = print
    ) -> None:
        """An empty window. ``trace``: lambda of the returns. Bad shards are reported."""
        self._shelf = shelf
        self._trace = trace
        self._report_line = report_line
        self._asked_for = (0, 0)
        self._is_bad: set[int] = set()
        self._blocks: dict[int, ShardBlock] = {}
        self._table = address_table([])
        self._index = GameIndex.of([], [])

    @property
    def num_positions(self) -> int:
        """Positions to learn from."""
        return self._index.num_positions

    @property
    def num_shards(self) -> int:
        """Shards held."""
        return len(self._blocks)

    @property
    def nbytes(self) -> int:
        """Bytes of everything held."""
        blocks = sum(block.nbytes for block in self._blocks.values())
        return blocks + self._table.nbytes + self._index.nbytes

    def update(self, num_shards: int, first_shard: int = 0) -> None:
        """Hold shards ``first_shard`` .. ``num_shards`` - 1, as listed, and no others.

        Raises DataError where not so many are listed; a bad one is told, and is empty from then on.
        """
        if (num_shards, first_shard) == self._asked_for:
            return
        shards = self._shelf.first(num_shards)
        blocks = {}
        for index in range(first_shard, num_shards):
            block = self._blocks.get(index) or self._read(index, shards[index])
            if block is not None and block.num_positions:
                blocks[index] = block
        self._hold(blocks, [shards[index] for index in blocks])
        self._asked_for = (num_shards, first_shard)

    @property
    def table(self) -> NDArray[np.int64]:
        """int64[blocks, columns], for ``fill_rows``; good until the next update."""
        return self._table

    def find(self, indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64[B] twice: of each position its block, a row of ``table``, and its ply there."""
        which, places = self._index.find(indices)
        blocks = list(self._blocks.values())
        plies = np.zeros(len(indices), np.int64)
        for row, (block, place) in enumerate(zip(which, places, strict=True)):
            plies[row] = blocks[block].trainable[place]
        return which, plies

    def _read(self, index: int, shard: ShardFile) -> ShardBlock | None:
        """The games of a shard; None where they cannot be had, now or before."""
        if index in self._is_bad:
            return None
        try:
            return ShardBlock.of(shard.read(), self._trace)
        except DataError as error:
            self._is_bad.add(index)
            line = self._shelf.set_aside(shard, _named(shard, error))
            if line:
                self._report_line(line)
            return None

    def _hold(self, blocks: dict[int, ShardBlock], shards: list[ShardFile]) -> None:
        has_dropped = any(index not in blocks for index in self._blocks)
        self._blocks = blocks
        held = list(blocks.values())
        self._table = address_table(held)
        self._index = GameIndex.of(held, [str(shard.path.parent) for shard in shards])
        if has_dropped:
            return_freed_memory()


def _named(shard: ShardFile, error: DataError) -> str:
    """What is wrong, with the file's name in it."""
    text = str(error)
    return text if str(shard.path) in text else f"{shard.path}: {text}"
