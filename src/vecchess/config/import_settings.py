"""Settings of the games that another engine plays for us."""

from typing import Annotated, Any

from pydantic import Field

from vecchess.config.settings import GamesOrForever, Settings


class EngineGamesConfig(Settings):
    """Settings of ``vecchess gather engine``."""

    engine: str
    """Program that speaks UCI."""
    games: GamesOrForever = 1000
    """Games in the folder at the end, earlier ones included; 0 or "forever": until a stop."""
    nodes: Annotated[int, Field(ge=1)] = 500
    """Nodes a move."""
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 1
    """Engines at a time, one game each."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed of the random moves."""
    random_plies: Annotated[int, Field(ge=0, le=60)] = 8
    """Uniformly random plies at the start of a game."""
    random_move_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of random moves later on. The games then show how to continue after them."""
    max_plies: Annotated[int, Field(ge=61, le=8192)] = 512
    """Games are drawn at this number of plies."""
    shard_games: Annotated[int, Field(ge=1)] = 100
    """Games in a shard."""
    shard_interval_s: Annotated[float, Field(gt=0)] = 60.0
    """Longest time in seconds that a finished game waits to be written."""

    def facts(self, name: str) -> dict[str, Any]:
        """The settings that decide the games of the engine ``name``, for ``gather.json``."""
        decisive = {"nodes", "seed", "random_plies", "random_move_share", "max_plies"}
        return {"schema": 1, "source": name, **self.model_dump(include=decisive)}
