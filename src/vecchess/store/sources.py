"""Recorded games in a place that a user names: a run, a folder of shards, a shard."""

from collections.abc import Sequence
from pathlib import Path

from vecchess.errors import ConfigError, DataError, FileUnreadable
from vecchess.runtime.atomic_write import PARTIAL_PREFIX
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.retried_read import list_folder, retried
from vecchess.store.manifest import MANIFEST_NAME, Manifest
from vecchess.store.records import GameRecords, concatenate
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import ShardFile, read_shards


def read_games(places: Sequence[Path], report_line: ReportLine | None = None) -> GameRecords:
    """The games of all ``places``, one after another; needs at least one place.

    Raises ConfigError where there is nothing to read. A damaged shard of a run or folder is left
    out and reported; without ``report_line`` it raises DataError, as does a shard that cannot be
    read, and a place of which all is damaged.
    """
    return concatenate([part for place in places for part in _parts(place, report_line)])


def find_shards(places: Sequence[Path]) -> list[ShardFile]:
    """The shards of all ``places``, one place after another, in order; none of them is read.

    Raises ConfigError where a place does not exist, or holds no games.
    """
    return [shard for place in places for shard in _shards(place)]


def check_source(place: Path) -> None:
    """Raise ConfigError where ``place`` is missing, holds no games, or is a file but no shard."""
    shards = find_shards([place])
    if place.is_file():
        _read_named(shards[0])


def _shards(place: Path) -> list[ShardFile]:
    """The shards of a run, those of a folder's manifest if it has one, else all in it by name."""
    if RunFolder(place).config.is_file():
        shards, lack = RunFolder(place).manifest().shards, "has no recorded games yet"
    elif place.is_dir():
        names, lack = retried(list_folder, place), "has no recorded games yet"
        if MANIFEST_NAME in names:
            shards = Manifest(place, must_exist=True).shards
        else:
            files = [n for n in names if n.endswith(".npz") and not n.startswith(PARTIAL_PREFIX)]
            shards = [ShardFile(place / name) for name in files]
            lack = "is neither a run nor a folder of shards (*.npz)"
    elif place.is_file():
        return [ShardFile(place)]
    else:
        raise ConfigError(f"there is no run, folder or shard {place}")
    if not shards:
        raise ConfigError(f"{place} {lack}")
    return shards


def _parts(place: Path, report_line: ReportLine | None) -> list[GameRecords]:
    if RunFolder(place).config.is_file():
        return [RunFolder(place).records(report_line)]
    shards = _shards(place)
    if not place.is_dir():
        return [_read_named(shards[0])]
    parts = list(read_shards(shards, report_line))
    if not parts:
        raise DataError(f"{place} has no shard that can be read")
    return parts


def _read_named(shard: ShardFile) -> GameRecords:
    """The games of a file that the user named; ConfigError where it is no shard."""
    try:
        return shard.read()
    except FileUnreadable:
        raise
    except DataError as error:
        raise ConfigError(str(error)) from None
