"""Settings of the analysis of a position, and of the network that evaluates positions."""

from typing import Annotated

from pydantic import Field

from vecchess.config.backend import OwnBackend
from vecchess.config.search_settings import SearchConfig
from vecchess.config.selfplay_settings import DEFAULT_NET
from vecchess.config.settings import Settings
from vecchess.shapes import MAX_MOVES


class NetworkUse(Settings):
    """Where and how networks are computed, on one device."""

    gpus: str = "auto"
    """Device of networks, as for "vecchess selfplay". Of several the first."""
    backend: OwnBackend = "auto"
    """How networks are computed."""
    threads: Annotated[int, Field(ge=0, le=256)] = 0
    """Threads of the CPU backend, per network; 0: by the number of cores."""


class EvaluatorConfig(NetworkUse):
    """The network that evaluates positions."""

    net: str = DEFAULT_NET
    """Network file, default, tiny, small, base, large, sizes (.toml), constant or material.
    "default" is a trained network, a preset or a file of sizes makes a new one from the seed;
    "material" counts material."""
    exits: bool = True
    """Let a position leave the network once its answer is settled."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed for new networks and sampled moves."""


class AnalyseConfig(EvaluatorConfig):
    """Settings of ``vecchess analyse``, besides the position."""

    seconds: Annotated[float, Field(ge=0)] = 0.0
    """Time limit in seconds; 0: none."""
    multipv: Annotated[int, Field(ge=1, le=MAX_MOVES)] = 3
    """Lines to show, at most."""
    lanes: Annotated[int, Field(ge=0, le=1024)] = 0
    """Positions evaluated in parallel; 0: one for each 100 simulations, from 1 to 32."""
    chess960: bool = False
    """Write castling as king takes rook. Positions that need it are always written so."""
    tree: SearchConfig = Field(default_factory=SearchConfig)
    """Settings of the search."""
