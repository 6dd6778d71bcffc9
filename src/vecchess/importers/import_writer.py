"""Finished games on their way to a folder: counted, and written as shards in time."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any

from vecchess.config.import_settings import GatherConfig
from vecchess.importers.import_folder import ImportFolder
from vecchess.store.records import GameRecords, concatenate

SCHEMA = 1


@dataclass
class ImportProgress:
    """How far the games have come."""

    games: int
    """Games in the folder or waiting to be written."""
    target: int
    """0: no end, or unknown."""
    new_games: int = 0
    """Games finished by this call."""
    new_plies: int = 0
    new_positions: int = 0
    """Of these plies the ones with an evaluation."""
    seconds: float = 0.0

    @property
    def plies_per_s(self) -> float:
        """Speed of this call."""
        return self.new_plies / max(self.seconds, 1e-9)

    @property
    def positions_per_s(self) -> float:
        """Speed of this call."""
        return self.new_positions / max(self.seconds, 1e-9)


OnImportProgress = Callable[[ImportProgress], object]


class ImportWriter:
    """Takes finished games, and writes them when they are many or have waited long."""

    def __init__(
        self,
        folder: ImportFolder,
        config: GatherConfig,
        target: int,
        on_progress: OnImportProgress,
    ) -> None:
        """``target``: of the progress."""
        self._folder, self._config, self._on_progress = folder, config, on_progress
        self._waiting: list[GameRecords] = []
        self._num_waiting = 0
        self._begin = self._last_write = monotonic()
        self._progress = ImportProgress(folder.stats.games, target)

    def add(self, games: GameRecords) -> None:
        """Take ``games``; they wait to be written."""
        progress = self._progress
        self._waiting.append(games)
        self._num_waiting += games.num_games
        progress.games += games.num_games
        progress.new_games += games.num_games
        progress.new_plies += len(games.action)
        progress.new_positions += int((games.visits > 0).sum())

    def advance(self) -> None:
        """Write what waits if it is time, and report the progress."""
        self._progress.seconds = monotonic() - self._begin
        is_old = monotonic() - self._last_write >= self._config.shard_interval_s
        if self._num_waiting >= self._config.shard_games or is_old:
            self.write()
        self._on_progress(self._progress)

    def write(self) -> None:
        """Write all games that wait."""
        if self._waiting:
            self._folder.write(concatenate(self._waiting))
            self._waiting, self._num_waiting = [], 0
        self._last_write = monotonic()

    def facts(self, name: str) -> dict[str, Any]:
        """The outcome, for JSON; ``name`` is that of what played or labelled."""
        progress = self._progress
        return {
            "schema": SCHEMA,
            "engine": name,
            "new_games": progress.new_games,
            "new_plies": progress.new_plies,
            "new_positions": progress.new_positions,
            "seconds": round(progress.seconds, 1),
            "plies_per_s": round(progress.plies_per_s, 1),
            "positions_per_s": round(progress.positions_per_s, 1),
            **self._folder.stats.to_dict(),
        }
