"""The replay window: the newest games of a run, or all games of given places, in memory.

Its content is a function of which shards are asked for, not of when: every rank that asks for the
same shards draws from the same positions.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards.bits import load_i32
from vecchess.errors import DataError, FileUnreadable
from vecchess.jit import kernel
from vecchess.runtime.freed_memory import return_freed_memory
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.retried_read import retried
from vecchess.store.id_set import IdSet
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.records import GameRecords, concatenate
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import ShardFile, read_shard
from vecchess.store.sources import find_shards
from vecchess.train.data.shard_block import COLUMN, ShardBlock, address_table
from vecchess.train.data.value_targets import PLAIN_RULES, SampleRules

_TRAINABLE = COLUMN["trainable"]


class ShardPart(NamedTuple):
    """The games of a shard, and those that its segments left unfinished if they are wanted."""

    shard: ShardFile
    cut: tuple[Path, str] | None = None
    """The file with these, and its sha256."""

    def read(self) -> GameRecords:
        """The games. Raises as ``ShardFile.read``."""
        if self.cut is None:
            return self.shard.read()
        path, sha256 = self.cut
        return concatenate([self.shard.read(), retried(read_shard, path, sha256)])


class ManifestShards:
    """The games that the manifest of a run's ``games`` folder lists, by the segments in which they
    ended. The manifest may grow, and be replaced by one that lists the same games in other
    shards."""

    def __init__(self, folder: Path, with_unfinished: bool = False) -> None:
        """``with_unfinished``: the segments' unfinished games too. They are read later."""
        self._run, self._with_unfinished = RunFolder(folder.parent), with_unfinished
        self._manifest: Manifest | None = None

    def parts(self, first: int, end: int) -> list[ShardPart]:
        """The segments ``first`` to ``end`` - 1.

        Raises DataError where the manifest lacks some of them, is damaged, or cannot be read.
        """
        manifest = self._manifest = self._manifest or Manifest(self._run.games)
        manifest.refresh()
        entries = manifest.entries_of(IdSet([(first, end)]))
        lost = IdSet([(first, end)]) - IdSet.union(entry.segments for entry in entries)
        if lost:
            raise DataError(
                f"{self._run.games} lacks {len(lost):,} of the segments {first:,} to {end - 1:,}: "
                "were games of the window pruned? Resume from a later checkpoint, or with a "
                "smaller window"
            )
        return [self._part(manifest, entry) for entry in entries]

    def _part(self, manifest: Manifest, entry: ShardEntry) -> ShardPart:
        cut = (self._run.cuts / entry.file, entry.cut) if self._with_unfinished else None
        return ShardPart(manifest.shard(entry), cut)


class GivenShards:
    """The shards of places that a user names: runs, folders of shards, shard files."""

    def __init__(self, places: list[Path]) -> None:
        """Raises ConfigError where a place holds no games."""
        self._places = [find_shards([place]) for place in places]

    @property
    def counts(self) -> list[int]:
        """The number of shards of each place."""
        return [len(shards) for shards in self._places]

    def keep_first(self, counts: Sequence[int]) -> None:
        """Leave out what each place has beyond so many shards: they were added later."""
        self._places = [shards[:count] for shards, count in zip(self._places, counts, strict=True)]

    def __len__(self) -> int:
        """The number of shards."""
        return sum(self.counts)

    def parts(self, first: int, end: int) -> list[ShardPart]:
        """Shards ``first`` to ``end`` - 1, in the order of the places. Raises DataError where there
        are fewer."""
        shards = [shard for place in self._places for shard in place]
        if end > len(shards):
            raise DataError(f"there are {len(shards)} shards, not {end}")
        return [ShardPart(shard) for shard in shards[first:end]]


ShardSource = ManifestShards | GivenShards
"""Games in an order: those of a run by segments, those of given places by their shards."""


class ReplayWindow:
    """Games in memory, with an index of the positions to learn from.

    Positions are numbered from 0 in the order of the games' numbers; given places lie side by side,
    so that the last positions are the last of each.
    Which shard a game ended up in depends on timing and does not matter (decision 75).
    """

    def __init__(
        self,
        source: ShardSource,
        rules: SampleRules = PLAIN_RULES,
        report_line: ReportLine = print,
        map_parts: Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]] = map,
    ) -> None:
        """An empty window. Bad shards are reported. ``map_parts`` reads: ``map``, or one whose
        calls run at the same time."""
        self._source = source
        self._rules = rules
        self._report_line = report_line
        self._map = map_parts
        self._held = (0, 0)
        self._kept: dict[ShardPart, ShardBlock | str] = {}
        """The block of each part in the window; where it is bad what is wrong with it."""
        self._hold([], [])

    def _hold(self, blocks: list[ShardBlock], folders: list[Path]) -> None:
        """Replace the content by ``blocks``, each from one of ``folders``.

        ``_games``: int64[G, 5], a row of ``_games_of`` for each game, in order; ``_ends``: int64[G]
        position behind the last of each game.
        """
        self._blocks = blocks
        self.table = address_table(blocks)
        """int64[blocks, columns], for ``collate``; valid until the next update."""
        ranks = {folder: rank for rank, folder in enumerate(dict.fromkeys(folders))}
        parts = [
            _games_of(block, row, ranks[folder])
            for row, (block, folder) in enumerate(zip(blocks, folders, strict=True))
        ]
        games = np.concatenate([np.zeros((0, 5), np.int64), *parts])
        games = games[np.lexsort((games[:, 1], games[:, 0]))]
        self._games = _side_by_side(games) if isinstance(self._source, GivenShards) else games
        self._ends = np.cumsum(self._games[:, 4])
        self.num_positions = int(self._ends[-1]) if len(games) else 0
        """Positions to learn from."""

    def update(self, end: int, first: int = 0) -> None:
        """Hold what the source has from ``first`` to ``end`` - 1, and nothing else.

        A copy of the window that was made before stays as it was. Raises DataError where the source
        has less, and FileUnreadable where a shard cannot be read. A bad shard is reported and
        counts as empty.
        """
        if (first, end) == self._held:
            return
        bounds, before = (first, end), self._kept
        (parts,) = self._map(lambda bounds: self._source.parts(*bounds), [bounds])
        new = [part for part in dict.fromkeys(parts) if part not in before]
        read = before | dict(zip(new, self._map(self._read, new), strict=True))
        for part in new:
            if isinstance(fault := read[part], str):
                self._report_line(f"a shard is left out: {fault}")
        self._kept = {part: read[part] for part in parts}
        held = [
            (block, part.shard.path.parent)
            for part in parts
            if isinstance(block := self._kept[part], ShardBlock) and len(block.trainable)
        ]
        self._hold([block for block, _ in held], [folder for _, folder in held])
        self._held = (first, end)
        if before.keys() - self._kept.keys():
            return_freed_memory()

    def find(self, positions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64[B] twice: the block of each position, as a row of ``table``, and its ply there."""
        game = np.searchsorted(self._ends, positions, side="right")
        _, _, rows, firsts, counts = self._games[game].T
        rows, plies = np.ascontiguousarray(rows), firsts + positions - (self._ends[game] - counts)
        _look_up_plies(self.table, rows, plies)
        return rows, plies

    def _read(self, part: ShardPart) -> ShardBlock | str:
        """The games of a part; what is wrong with it where its shard is bad."""
        try:
            return ShardBlock.of(part.read(), self._rules)
        except FileUnreadable:
            raise
        except DataError as error:
            text, path = str(error), part.shard.path
            return text if str(path) in text else f"{path}: {text}"


def _games_of(block: ShardBlock, row: int, rank: int) -> NDArray[np.int64]:
    """int64[G, 5]: of each game the rank of its folder, its number, the row of its block, its first
    place among the block's trainable plies, and its number of them."""
    places = np.searchsorted(block.trainable, block.offsets)
    counts = np.diff(places)
    ranks, rows = np.full_like(counts, rank), np.full_like(counts, row)
    return np.stack([ranks, block.numbers, rows, places[:-1], counts], axis=1)


def _side_by_side(games: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[G, 5], sorted by folder: sorted by the share of their folder's positions up to and with
    a game."""
    folders, counts = games[:, 0], games[:, 4]
    totals = np.bincount(folders, counts)
    before = np.cumsum(totals) - totals
    shares = (np.cumsum(counts) - before[folders]) / totals[folders]
    return games[np.argsort(shares, kind="stable")]


@kernel
def _look_up_plies(table, rows, places):  # type: ignore[no-untyped-def]
    """Replace each place among the trainable plies of its block by the ply."""
    for index in range(len(rows)):
        places[index] = load_i32(table[rows[index], _TRAINABLE], places[index])


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
