"""Recorded games from where a user says they are: a run, a folder of shards, a shard."""

from collections.abc import Sequence
from pathlib import Path

from vecchess.errors import ConfigError, DataError
from vecchess.store.records import GameRecords, concatenate
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import read_shard


def read_games(places: Sequence[Path]) -> GameRecords:
    """The games of all ``places``, one after another; needs at least one place.

    Raises ConfigError where there is nothing to read, DataError where a run's shard is damaged.
    """
    return concatenate([part for place in places for part in _parts(place)])


def _parts(place: Path) -> list[GameRecords]:
    run = RunFolder(place)
    if run.config.is_file():
        return [run.records()]
    if place.is_dir():
        shards = [read_shard(file) for file in sorted(place.glob("*.npz"))]
        if not shards:
            raise ConfigError(f"{place} is neither a run nor a folder of shards (*.npz)")
        return shards
    if not place.is_file():
        raise ConfigError(f"there is no run, folder or shard {place}")
    try:
        return [read_shard(place)]
    except DataError as error:  # this file was named by the user, and is not what it should be
        raise ConfigError(str(error)) from None
