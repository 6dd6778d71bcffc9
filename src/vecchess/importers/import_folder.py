"""A folder of imported games: shards, the manifest that lists them, and how they were made.

DIR/gather.json  DIR/manifest.jsonl  DIR/000000.npz  DIR/000001.npz ...
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import ConfigError, write_error
from vecchess.runtime.atomic_write import write_atomically
from vecchess.runtime.retried_read import read_json
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.records import GameRecords, concatenate
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import write_shard

FACTS_NAME = "gather.json"
SHARD_GAMES = 100
SHARD_INTERVAL_S = 60.0
"""Longest time that a finished game waits to be written."""


class ImportFolder:
    """Writes games as shards; what the manifest lists is recorded."""

    def __init__(self, path: Path) -> None:
        """Open ``path`` alone; see ``open_import_folder``."""
        self.path = path
        self.manifest = Manifest(path)

    def numbers(self) -> NDArray[np.int64]:
        """int64[G], ascending: the numbers that are recorded."""
        return self.manifest.ids.ids

    def write(self, games: GameRecords) -> None:
        """Record ``games`` as one shard, durably. Raises DataError where writing fails."""
        records, number = games.by_number(), len(self.manifest.entries)
        while (self.path / f"{number:06d}.npz").exists():  # shards were joined, or pruned
            number += 1
        name = f"{number:06d}.npz"
        sha256 = write_shard(self.path / name, records)
        self.manifest.append(ShardEntry.of(name, sha256, records))


@contextmanager
def open_import_folder(path: Path, facts: dict[str, Any]) -> Iterator[ImportFolder]:
    """The folder at ``path``, made if need be, and locked against other writers.

    ``facts`` tell how its games are made. Raises ConfigError where it cannot be written to, or
    holds games that were not imported or that were made in another way.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        (path / ".lock").touch()
    except OSError as error:
        advice = "choose another --out"
        raise write_error(f"cannot write to {path}", error, ConfigError, advice) from None
    with RunFolder(path).locked():
        file = path / FACTS_NAME
        known = read_json(file) if file.exists() else None
        holds_games = any(path.glob("*.npz")) or bool(Manifest(path).ids)
        if known is None and (holds_games or (path / "config.toml").exists()):
            raise ConfigError(f"{path} holds other games already: choose another --out")
        if known is not None and known != facts and holds_games:
            raise ConfigError(f"{path} holds games made with {_first_difference(known, facts)}")
        if known != facts:
            write_atomically(file, (json.dumps(facts) + "\n").encode())
        folder = ImportFolder(path)
        folder.manifest.check_files()
        for _ in folder.manifest.adopt():
            pass
        yield folder


def _first_difference(known: dict[str, Any], facts: dict[str, Any]) -> str:
    """The first setting that differs, and what to do."""
    for name, value in (facts | known).items():
        if facts.get(name) != known.get(name):
            return f"{name} = {value}, not {facts.get(name)}: choose another --out"
    return "the same settings"


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
    """Imported plies that have an evaluation."""
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

    def __init__(self, folder: ImportFolder, target: int, on_progress: OnImportProgress) -> None:
        """``target``: of the progress."""
        self._folder, self._on_progress = folder, on_progress
        self._waiting: list[GameRecords] = []
        self._num_waiting = 0
        self._begin = self._last_write = monotonic()
        self._progress = ImportProgress(folder.manifest.stats.games, target)

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
        is_old = monotonic() - self._last_write >= SHARD_INTERVAL_S
        if self._num_waiting >= SHARD_GAMES or is_old:
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
        new = {key: value for key, value in vars(progress).items() if key.startswith("new_")}
        return {
            "schema": SCHEMA,
            "engine": name,
            **new,
            "seconds": round(progress.seconds, 1),
            "plies_per_s": round(progress.plies_per_s, 1),
            "positions_per_s": round(progress.positions_per_s, 1),
            **self._folder.manifest.stats.to_dict(),
        }
