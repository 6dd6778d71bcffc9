"""Recorded games by number: which shard has them is found out when somebody asks."""

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import DataError
from vecchess.monitor.decoded_game import DecodedGame, read_game
from vecchess.monitor.manifest_tail import ManifestTail
from vecchess.store.records import GameRecords
from vecchess.store.shard import ShardFile, read_numbers

NUM_OPEN = 2
"""Shards whose games are held: people leaf through neighbours."""


class RecordedGames:
    """The recorded games of one machine."""

    def __init__(self, manifest: ManifestTail, machine: int) -> None:
        """The games that ``manifest`` lists, now and later."""
        self._manifest, self._machine = manifest, machine
        self._numbers: dict[str, NDArray[np.int64]] = {}
        self._open: OrderedDict[str, GameRecords] = OrderedDict()

    def game(self, number: int, chess960: bool) -> DecodedGame | None:
        """The game of this number; None where it is not here. Raises DataError where its shard
        cannot be read."""
        for entry in reversed(self._manifest.entries):
            shard = ShardFile(self._manifest.folder / entry.file, entry.sha256)
            if number in self._numbers_of(shard):
                records = self._records(shard)
                rows = np.flatnonzero(records.numbers == number)
                if len(rows):
                    return read_game(records, int(rows[0]), chess960, self._machine)
        return None

    def newest(self, most: int) -> list[int]:
        """Numbers of so many games that were recorded last, the newest first."""
        found: list[int] = []
        for entry in reversed(self._manifest.entries):
            if len(found) >= most:
                break
            shard = ShardFile(self._manifest.folder / entry.file, entry.sha256)
            found += self._numbers_of(shard)[::-1].tolist()
        return found[:most]

    def _numbers_of(self, shard: ShardFile) -> NDArray[np.int64]:
        """int64[G]; none of a shard that cannot be read, now: it is tried again."""
        key = shard.sha256 or shard.path.name
        if key not in self._numbers:
            try:
                self._numbers[key] = read_numbers(shard.path)
            except DataError:
                return np.zeros(0, np.int64)
        return self._numbers[key]

    def _records(self, shard: ShardFile) -> GameRecords:
        key = shard.sha256 or shard.path.name
        if key not in self._open:
            self._open[key] = shard.read()
            if len(self._open) > NUM_OPEN:
                self._open.popitem(last=False)
        self._open.move_to_end(key)
        return self._open[key]
