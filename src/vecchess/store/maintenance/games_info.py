"""What a run has recorded, and its newest events: ``vecchess games info``. No shard is opened."""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from vecchess.store.id_set import IdSet
from vecchess.store.maintenance.games_folder import GamesFolder
from vecchess.store.manifest import Manifest
from vecchess.store.run_log import read_log
from vecchess.store.stats import GameStats

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
