"""How games of a network against itself are played, and what a run of them is told."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from vecchess.config.backend import BackendName
from vecchess.config.game_settings import GameConfig
from vecchess.config.search_settings import TreeConfig

CONSTANT_NET = "constant"
"""Name of the network that says the same of everything."""
MATERIAL_NET = "material"
"""Name of the evaluator that counts men."""
BUILT_IN_NETS = (CONSTANT_NET, MATERIAL_NET)
"""What needs no network file."""


class PlayConfig(BaseModel):
    """How games are played, whoever asks for them."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed of every random choice."""
    gpus: str = "auto"
    """Devices: "auto", "all", "0-7", "0,2,5", GPU UUIDs, "cpu" or "cpu:4"."""
    slots: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    """Positions the network holds at a time, per worker; 0 chooses by device and network."""
    concurrent_games: Annotated[int, Field(ge=0, le=1 << 22)] = 0
    """Games in progress per worker; 0 takes twice the slots."""
    movers: Annotated[int, Field(ge=0, le=256)] = 0
    """Threads that make moves, per worker; 0 chooses by the number of cores."""
    backend: BackendName = "auto"
    """How the network is computed: "auto" takes "cpu" on a processor and "cuda" on a GPU, or
    "torch" on one that cannot run our kernels; "reference" is slow and obviously right;
    "module:factory" opens a backend of your own, see docs/extending.md."""
    exits: bool = True
    """Let a position leave the network as soon as its answer is settled."""
    threads: Annotated[int, Field(ge=0, le=256)] = 0
    """Threads of the CPU backend, per worker; 0 shares the cores out among the workers."""
    shard_games: Annotated[int, Field(ge=1, le=1 << 20)] = 1024
    """A worker writes a shard once so many games are finished; it may hold a few more."""
    shard_interval_s: Annotated[float, Field(gt=0)] = 30.0
    """Longest time a finished game waits to be written."""
    inflight_interval_s: Annotated[float, Field(gt=0)] = 30.0
    """Games in progress are saved so often: a worker that is killed loses no more of any game."""
    stall_timeout_s: Annotated[float, Field(gt=0)] = 60.0
    """A worker silent for so long is replaced."""
    metrics_port: Annotated[int, Field(ge=0, le=65535)] = 0
    """Port on which Prometheus may ask how it goes; 0: none."""
    metrics_host: str = "127.0.0.1"
    """Address of that port; "0.0.0.0" lets other machines ask."""
    game: GameConfig = Field(default_factory=GameConfig)
    """What decides the moves."""
    tree: TreeConfig = Field(default_factory=TreeConfig)
    """How moves are searched."""


class SelfplayConfig(PlayConfig):
    """Everything ``vecchess selfplay`` can be told."""

    games: Annotated[int, Field(ge=1)] = 64
    """Games to play in all; they are numbered from 0."""
    net: str = "tiny"
    """A network file, a preset or a TOML file of sizes (a new network is made from the seed),
    "constant" or "material"."""
