"""The recorded games of one run, found by their numbers without reading all of them."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import ConfigError, DataError
from vecchess.runtime.reporting import ReportLine
from vecchess.store.manifest import MANIFEST_NAME, Manifest
from vecchess.store.records import GameRecords, concatenate
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import read_shards


class RecordedGames:
    """An index of games and shards of a run, those of its other machines included."""

    def __init__(self, run: RunFolder, report_line: ReportLine) -> None:
        """The games that the manifests list; no shard is opened.

        Raises DataError where there are none.
        """
        self._run, self._report_line = run, report_line
        listed = [shard for folder in folders_of(run) for shard in folder.manifest().shards]
        self._shards = [(shard, shard.numbers()) for shard in listed]
        if not self._shards:
            raise DataError(f"{run.path} has no recorded games yet")
        self.numbers = np.sort(np.concatenate([numbers for _, numbers in self._shards]))
        """int64[G], ascending: the numbers of all games."""

    def one(self, number: int) -> GameRecords:
        """Game ``number`` alone. Raises ConfigError where there is none, DataError as ``read``."""
        if number not in self.numbers:
            raise ConfigError(
                f"{self._run.path} has no game {number}: there are {len(self.numbers):,}, "
                f"from {self.numbers[0]} to {self.numbers[-1]}"
            )
        return self.read(np.array([number]))

    def some(self, count: int, seed: int) -> GameRecords:
        """``count`` games drawn at random, all of them where there are no more; see ``read``."""
        chosen = self.numbers
        if count < len(chosen):
            chosen = np.random.default_rng(seed).choice(chosen, count, replace=False)
        return self.read(chosen)

    def read(self, numbers: NDArray[np.int64]) -> GameRecords:
        """The games with ``numbers``, ascending. A shard that turns out to be damaged is left out.

        Raises DataError where none of the games can be read.
        """
        holding = [shard for shard, held in self._shards if np.isin(held, numbers).any()]
        parts = [
            records.take(np.flatnonzero(np.isin(records.numbers, numbers)))
            for records in read_shards(holding, self._report_line)
        ]
        if not parts:
            raise DataError(f"{self._run.path}: no shard with these games can be read")
        return concatenate(parts).by_number()


def existing_run(path: Path) -> RunFolder:
    """The run at ``path``. Raises ConfigError where there is none, or imported games."""
    run = RunFolder(path)
    if not run.has_begun and (path / MANIFEST_NAME).is_file() and Manifest(path).entries:
        raise ConfigError(f"{path} holds imported games: there is no network to play them again")
    return RunFolder.existing(path)


def folders_of(run: RunFolder) -> list[RunFolder]:
    """The run, and the folders of its other machines in it."""
    return [run, *(RunFolder(path) for path in sorted(run.path.glob("machines/*")))]
