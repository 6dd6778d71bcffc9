"""The folder of games of a run, or of imported games, and what it holds: ``games info``."""

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vecchess.config import read_toml
from vecchess.config.selfplay_settings import PlayConfig
from vecchess.errors import ConfigError
from vecchess.store.manifest import MANIFEST_NAME, Manifest
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_log import read_log
from vecchess.store.seating import Seating
from vecchess.store.shard import NO_RUN


@dataclass(frozen=True)
class GamesFolder:
    """A folder with a manifest."""

    path: Path
    run_id: str
    shard_games: int = PlayConfig.model_fields["shard_games"].default
    """Games of a shard of the usual size."""
    generation: int = 0
    """Segments of an iteration of a training; 0: no training."""


def games_folder(place: Path) -> GamesFolder:
    """The folder of games of ``place``, a run or imported games.

    Raises ConfigError where there is none, DataError where a run's id is lost.
    """
    run = RunFolder(place)
    if run.has_begun:
        values = read_toml(run.config)
        usual = PlayConfig.model_fields["shard_games"].default
        plays = "objective" in values and values["objective"] != "supervised"
        try:
            shard_games = int(values.get("shard_games", usual))
            generation = Seating.of(values).seats if plays else 0
        except (ValueError, TypeError, OverflowError, ZeroDivisionError) as error:
            raise ConfigError(f"{run.config}: a number of games is none: {error}") from None
        return GamesFolder(run.games, run.run_id, shard_games, generation)
    if (place / MANIFEST_NAME).is_file():
        return GamesFolder(place, NO_RUN)
    raise ConfigError(f"{place} is neither a run nor a folder of imported games")


NUM_EVENTS = 20


def games_info(place: Path) -> dict[str, Any]:
    """The facts about the games of ``place``, as plain values.

    Raises as ``games_folder``, and DataError where the manifest is damaged or cannot be read.
    """
    folder = games_folder(place)
    manifest = Manifest(folder.path, must_exist=True)
    stats, recorded, entries = manifest.stats, manifest.ids, manifest.entries
    missing = num_bytes = 0
    for entry in entries:
        try:
            num_bytes += (folder.path / entry.file).stat().st_size
        except OSError:
            missing += 1
    free: int | None = None
    with suppress(OSError):
        free = shutil.disk_usage(place).free
    return {
        "run": str(place),
        "games": stats.games,
        "plies": stats.plies,
        "first_game": recorded.span[0],
        "end_game": recorded.span[1],
        "gaps": len(recorded.ranges) - 1 if len(recorded) else 0,
        "pruned_games": len(manifest.pruned),
        "shards": len(entries),
        "small_shards": sum(each.stats.games < folder.shard_games for each in entries),
        "missing_shards": missing,
        "bytes": num_bytes,
        "disk_free_bytes": free,
        "events": [each for each in read_log(place) if each["event"] != "note"][-NUM_EVENTS:],
    }
