"""Recorded games from where a user says they are: a run, a folder of shards, a shard."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vecchess.errors import ConfigError, DataError
from vecchess.store.manifest import MANIFEST_NAME, Manifest
from vecchess.store.records import GameRecords, concatenate
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import PARTIAL_PREFIX, read_shard


def read_games(places: Sequence[Path]) -> GameRecords:
    """The games of all ``places``, one after another; needs at least one place.

    Raises ConfigError where there is nothing to read, DataError where a run's shard is damaged.
    """
    return concatenate([part for place in places for part in _parts(place)])


@dataclass(frozen=True)
class ShardFile:
    """A shard that somebody may want to read."""

    path: Path
    sha256: str | None = None
    """What its manifest says; None where no manifest lists it."""

    def read(self) -> GameRecords:
        """Its games. Raises DataError where it is missing or damaged."""
        return read_shard(self.path, self.sha256)


def listed_shards(folder: Path) -> list[ShardFile]:
    """What the manifest in ``folder`` lists, in that order. Raises DataError at a damaged line."""
    return [ShardFile(folder / entry.file, entry.sha256) for entry in Manifest(folder).entries]


def find_shards(places: Sequence[Path]) -> list[ShardFile]:
    """The shards of all ``places``, one place after another, in order; none of them is read.

    Raises ConfigError where a place is none, or holds no games.
    """
    return [shard for place in places for shard in _shards(place)]


def _shards(place: Path) -> list[ShardFile]:
    if RunFolder(place).config.is_file():
        return _some(listed_shards(RunFolder(place).games), place, "has no recorded games yet")
    if place.is_dir():
        return _in_folder(place)
    if not place.is_file():
        raise ConfigError(f"there is no run, folder or shard {place}")
    return [ShardFile(place)]


def _in_folder(folder: Path) -> list[ShardFile]:
    """What the folder's manifest lists if it has one, else every shard in it by name."""
    if (folder / MANIFEST_NAME).is_file():
        return _some(listed_shards(folder), folder, "has no recorded games yet")
    files = [f for f in sorted(folder.glob("*.npz")) if not f.name.startswith(PARTIAL_PREFIX)]
    shards = [ShardFile(file) for file in files]
    return _some(shards, folder, "is neither a run nor a folder of shards (*.npz)")


def _some(shards: list[ShardFile], place: Path, lack: str) -> list[ShardFile]:
    if not shards:
        raise ConfigError(f"{place} {lack}")
    return shards


def _parts(place: Path) -> list[GameRecords]:
    if RunFolder(place).config.is_file():
        return [RunFolder(place).records()]
    shards = _shards(place)
    try:
        return [shard.read() for shard in shards]
    except DataError as error:
        if place.is_dir():
            raise
        raise ConfigError(str(error)) from None  # the user named this file, and it is no shard
