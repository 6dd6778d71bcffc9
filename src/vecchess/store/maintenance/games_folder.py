"""The folders of recorded games that a run, or a folder of imported games, consists of."""

from dataclasses import dataclass
from pathlib import Path

from vecchess.config import read_toml
from vecchess.config.selfplay_settings import PlayConfig
from vecchess.errors import ConfigError
from vecchess.store.manifest import MANIFEST_NAME
from vecchess.store.run_folder import RunFolder
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
