"""Recorded games of one machine: how all of them ended, and any of them by its number."""

from collections import OrderedDict
from collections.abc import Iterable

import numpy as np

from vecchess.errors import DataError
from vecchess.monitor.decoded_game import DecodedGame, read_game
from vecchess.monitor.manifest_tail import ManifestTail
from vecchess.store.manifest import ShardEntry
from vecchess.store.records import GAME_COLUMNS, GameRecords
from vecchess.store.shard import GameOutcomes, ShardFile, read_outcomes, read_shard

NUM_OPEN = 2
"""Shards whose games are kept in memory: people leaf through neighbours."""
NO_OUTCOMES = GameOutcomes(
    np.zeros(0, np.int64),
    np.zeros(0, np.int64),
    np.zeros(0, GAME_COLUMNS["result"]),
    np.zeros(0, GAME_COLUMNS["termination"]),
)


class MachineGames:
    """The recorded games of one machine. A shard is opened when one of its games is wanted."""

    def __init__(self, manifest: ManifestTail, machine: int) -> None:
        """The games that ``manifest`` lists, now and later."""
        self._manifest, self._machine = manifest, machine
        self._outcomes: dict[str, GameOutcomes] = {}
        self._open: OrderedDict[str, GameRecords] = OrderedDict()

    def game(self, number: int, chess960: bool) -> DecodedGame | None:
        """The game of this number; None where it is not here. Raises DataError where its shard
        cannot be read."""
        for entry in reversed(self._manifest.entries):
            if entry.ids.contains(np.array([number]))[0]:
                records = self._records(self._shard(entry))
                rows = np.flatnonzero(records.numbers == number)
                if len(rows):
                    return read_game(records, int(rows[0]), chess960, self._machine)
        return None

    def outcomes(self) -> GameOutcomes:
        """How all recorded games ended, in the order of recording; without those of shards that
        cannot be read."""
        return joined_outcomes(self._outcomes_of(shard) for shard in self._shards())

    def _shards(self) -> list[ShardFile]:
        return [self._shard(entry) for entry in self._manifest.entries]

    def _shard(self, entry: ShardEntry) -> ShardFile:
        return ShardFile(self._manifest.folder / entry.file, entry.sha256)

    def _outcomes_of(self, shard: ShardFile) -> GameOutcomes:
        """Empty for a shard that cannot be read now; reading is tried again the next time."""
        key = shard.sha256 or shard.path.name
        if key not in self._outcomes:
            try:
                self._outcomes[key] = read_outcomes(shard.path)
            except DataError:
                return NO_OUTCOMES
        return self._outcomes[key]

    def _records(self, shard: ShardFile) -> GameRecords:
        key = shard.sha256 or shard.path.name
        if key not in self._open:
            self._open[key] = read_shard(shard.path, shard.sha256)  # a page does not wait
            if len(self._open) > NUM_OPEN:
                self._open.popitem(last=False)
        self._open.move_to_end(key)
        return self._open[key]


def joined_outcomes(parts: Iterable[GameOutcomes]) -> GameOutcomes:
    """The games of ``parts``, one part after the other."""
    columns = zip(*(vars(part).values() for part in (NO_OUTCOMES, *parts)), strict=True)
    return GameOutcomes(*(np.concatenate(column) for column in columns))
