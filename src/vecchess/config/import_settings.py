"""Settings of games that another program plays for us, and of positions that it labels."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from vecchess.config.settings import GamesOrForever, Settings
from vecchess.shapes import MAX_MOVES


class GatherConfig(Settings):
    """Settings common to ``vecchess gather engine`` and ``gather label``."""

    concurrency: Annotated[int, Field(ge=1, le=1024)] = 1
    """Engines at a time, one game each; threads of a network."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed of the random moves."""


class EngineConfig(GatherConfig):
    """Settings of an engine at work."""

    engine: str
    """Program that speaks UCI."""
    nodes: Annotated[int, Field(ge=1)] = 500
    """Nodes a move."""
    multipv: Annotated[int, Field(ge=1, le=MAX_MOVES)] = 1
    """Lines that share the policy target; 1: the engine's move alone. They share its nodes too."""


class EngineGamesConfig(EngineConfig):
    """Settings of ``vecchess gather engine``."""

    games: GamesOrForever = 1000
    """Games in the folder at the end, earlier ones included; 0 or "forever": until a stop."""
    openings: Path | None = None
    """File of start positions, EPD, FEN or PGN, for one game after the other. A PGN gives the last
    positions."""
    random_plies: Annotated[int, Field(ge=0, le=60)] = 8
    """Uniformly random plies at the start of a game."""
    random_move_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of random moves later on. The games then show how to continue after them."""
    max_plies: Annotated[int, Field(ge=61, le=8192)] = 512
    """Games are drawn at this number of plies."""

    def facts(self, name: str) -> dict[str, Any]:
        """The settings that decide the games of the engine ``name``, for ``gather.json``."""
        decisive = {"nodes", "multipv", "seed", "random_plies", "random_move_share", "max_plies"}
        return {"schema": 2, "source": name, **self.model_dump(include=decisive)}


class LabelsConfig(GatherConfig):
    """Settings of ``vecchess gather label``, whatever labels."""

    every: Annotated[int, Field(ge=1, le=1000)] = 3
    """Label every so many-th position of a game."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed of the first position of each game."""

    def facts(self, name: str, places: Sequence[Path]) -> dict[str, Any]:
        """The settings that decide the labels of ``name``, for ``gather.json``."""
        decisive = self.model_dump(include={"nodes", "multipv", "every", "seed"})
        return {"schema": 2, "source": name, "places": [*map(str, places)], **decisive}


class EngineLabelsConfig(LabelsConfig, EngineConfig):
    """Settings of ``vecchess gather label --engine``."""

    nodes: Annotated[int, Field(ge=1)] = 2000
    """Nodes a position."""


class NetworkLabelsConfig(LabelsConfig):
    """Settings of ``vecchess gather label --net`` and ``--lc0``: one of the two."""

    net: str | None = None
    """A network file, default, or a module of your own."""
    lc0: Path | None = None
    """A weight file of lc0."""
