"""The folders of games of a run, or of imported games, and what they hold: ``games info``."""

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vecchess.config import read_toml
from vecchess.config.selfplay_settings import PlayConfig
from vecchess.errors import ConfigError
from vecchess.store.id_set import IdSet
from vecchess.store.manifest import MANIFEST_NAME, Manifest
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_log import read_log
from vecchess.store.seating import Seating
from vecchess.store.shard import NO_RUN
from vecchess.store.stats import GameStats


@dataclass(frozen=True)
class GamesFolder:
    """A folder with a manifest."""

    path: Path
    run_id: str
    shard_games: int = PlayConfig.model_fields["shard_games"].default
    """Games of a shard of the usual size."""
    generation: int = 0
    """Segments of an iteration of a training; 0: no training."""


def games_folders(place: Path) -> list[GamesFolder]:
    """The folders of games of ``place``: those of all machines of a run, or imported games.

    Raises ConfigError where there are none, DataError where a run's id is lost.
    """
    run = RunFolder(place)
    if run.has_begun:
        values = read_toml(run.config)
        usual = PlayConfig.model_fields["shard_games"].default
        shard_games = int(values.get("shard_games", usual))
        plays = "objective" in values and values["objective"] != "supervised"
        generation = Seating.of(values).seats if plays else 0
        return [
            GamesFolder(each.games, each.run_id, shard_games, generation) for each in run.machines
        ]
    if (place / MANIFEST_NAME).is_file():
        return [GamesFolder(place, NO_RUN)]
    raise ConfigError(f"{place} is neither a run nor a folder of imported games")


NUM_EVENTS = 20


def games_info(place: Path, folders: list[GamesFolder]) -> dict[str, Any]:
    """The facts about the ``folders`` of a run at ``place``, as plain values.

    Raises DataError where a manifest is damaged or cannot be read.
    """
    stats, pruned, missing, ids = GameStats(), 0, 0, list[IdSet]()
    shards = small = num_bytes = 0
    for folder in folders:
        manifest = Manifest(folder.path, must_exist=True)
        stats.add(manifest.stats)
        pruned += len(manifest.pruned)
        ids.append(manifest.ids)
        shards += len(manifest.entries)
        small += sum(entry.stats.games < folder.shard_games for entry in manifest.entries)
        for entry in manifest.entries:
            try:
                num_bytes += (folder.path / entry.file).stat().st_size
            except OSError:
                missing += 1
    recorded = IdSet.union(ids)
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
        "pruned_games": pruned,
        "shards": shards,
        "small_shards": small,
        "missing_shards": missing,
        "bytes": num_bytes,
        "disk_free_bytes": free,
        "events": [each for each in read_log(place) if each["event"] != "note"][-NUM_EVENTS:],
    }
