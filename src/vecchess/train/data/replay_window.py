"""The replay window: the newest games of a run, or all games of given places, in memory.

Its content is a function of which shards are asked for, not of when: every process that asks for
the same shards draws from the same positions.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import DataError
from vecchess.runtime.reporting import ReportLine
from vecchess.selfplay.worker.shard_writer import return_freed_memory
from vecchess.store.manifest import Manifest
from vecchess.store.shard import ShardFile
from vecchess.store.sources import find_shards
from vecchess.train.data.shard_block import ShardBlock, address_table


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


ShardSource = ManifestShards | GivenShards
"""An ordered list of shards, which may grow."""


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
        self._hold({}, [])

    def _hold(self, blocks: dict[int, ShardBlock], folders: list[Path]) -> None:
        """Replace the content by ``blocks``, by number of the shard, each from one of ``folders``.

        ``_games``: int64[G, 5], a row of ``_games_of`` for each game, in order; ``_ends``: int64[G]
        position behind the last of each game.
        """
        self._blocks = blocks
        self.table = address_table(list(blocks.values()))
        """int64[blocks, columns], for ``collate``; valid until the next update."""
        ranks = {folder: rank for rank, folder in enumerate(dict.fromkeys(folders))}
        parts = [
            _games_of(block, row, ranks[folder])
            for row, (block, folder) in enumerate(zip(blocks.values(), folders, strict=True))
        ]
        games = np.concatenate([np.zeros((0, 5), np.int64), *parts])
        self._games = games[np.lexsort((games[:, 1], games[:, 0]))]
        self._ends = np.cumsum(self._games[:, 4])
        self.num_positions = int(self._ends[-1]) if len(games) else 0
        """Positions to learn from."""

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
            if block is not None and len(block.trainable):
                blocks[index] = block
        has_dropped = bool(self._blocks.keys() - blocks.keys())
        self._hold(blocks, [shards[index].path.parent for index in blocks])
        self._held = (num_shards, first_shard)
        if has_dropped:
            return_freed_memory()

    def find(self, positions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64[B] twice: the block of each position, as a row of ``table``, and its ply there."""
        game = np.searchsorted(self._ends, positions, side="right")
        _, _, rows, firsts, counts = self._games[game].T
        places = firsts + positions - (self._ends[game] - counts)
        blocks = list(self._blocks.values())
        plies = [blocks[row].trainable[place] for row, place in zip(rows, places, strict=True)]
        return np.ascontiguousarray(rows), np.array(plies, np.int64)

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


def _games_of(block: ShardBlock, row: int, rank: int) -> NDArray[np.int64]:
    """int64[G, 5]: of each game the rank of its folder, its number, the row of its block, its first
    place among the block's trainable plies, and its number of them."""
    places = np.searchsorted(block.trainable, block.offsets)
    counts = np.diff(places)
    ranks, rows = np.full_like(counts, rank), np.full_like(counts, row)
    return np.stack([ranks, block.numbers, rows, places[:-1], counts], axis=1)


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
