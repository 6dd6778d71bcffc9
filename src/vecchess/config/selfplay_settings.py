"""Settings of self-play: how games are played, and those of a run of games."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from vecchess.config.backend import BackendName
from vecchess.config.game_settings import GameConfig
from vecchess.config.search_settings import TreeConfig
from vecchess.config.settings import MOST_GAMES, GamesOrForever, OnResume, Settings

DEFAULT_NET = "default"
"""Name of the trained network that comes with vecchess."""
CONSTANT_NET = "constant"
"""Name of the evaluator that gives every position the same answer."""
MATERIAL_NET = "material"
"""Name of the evaluator that counts material."""
BUILT_IN_NETS = (CONSTANT_NET, MATERIAL_NET)
"""Evaluators that need no network file."""


class DeviceConfig(Settings):
    """Settings of the devices that play. No game depends on them."""

    gpus: str = "auto"
    """Devices: "auto", "all", "0-7", "0,2,5", GPU UUIDs, "cpu" or "cpu:4"."""
    slots: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    """Positions in the network at a time, per worker; 0: by device and network."""
    concurrent_games: Annotated[int, Field(ge=0, le=1 << 22)] = 0
    """Games in progress per worker; 0: twice the slots, or fewer where memory is short."""
    movers: Annotated[int, Field(ge=0, le=256)] = 0
    """Threads that make moves, per worker; 0: by the number of cores, beside a GPU at most four, or
    six with search."""
    backend: BackendName = "auto"
    """How the network is computed: "auto", "cpu", "cuda" or "reference". "auto" takes
    "cpu" on a processor and "cuda" on a GPU, or "reference" on one that cannot run our kernels;
    "reference" is slow and simple; "module:factory" opens a backend of your own, see
    docs/extending.md."""
    threads: Annotated[int, Field(ge=0, le=256)] = 0
    """Threads of the CPU backend, per worker; 0: an equal share of the cores."""
    stall_timeout_s: Annotated[float, Field(gt=0)] = 60.0
    """Seconds without a message after which a worker is replaced."""


class ContributeConfig(DeviceConfig):
    """Settings of ``vecchess contribute``: those of the run are the run's."""

    syzygy: Path | None = None
    """Folders of the tablebases that the run was begun with, where it was begun with any."""


class PlayConfig(DeviceConfig):
    """Settings of the games, in self-play and in training."""

    seed: Annotated[int, Field(ge=0, lt=2**63), OnResume.FIXED] = 0
    """Seed of every random choice."""
    exits: Annotated[bool, OnResume.FIXED] = True
    """Let a position leave the network once its answer is settled."""
    shard_games: Annotated[int, Field(ge=1, le=1 << 20)] = 1024
    """Finished games after which a worker writes a shard. It may hold a few more."""
    shard_interval_s: Annotated[float, Field(gt=0)] = 30.0
    """Longest time in seconds that a finished game waits to be written."""
    keep_gb: Annotated[float, Field(ge=0)] = 0.0
    """Largest size in GB of the recorded games; 0: no limit. The oldest are deleted then, but for
    those that a training still reads, and are not played again."""
    inflight_interval_s: Annotated[float, Field(gt=0)] = 30.0
    """Seconds between saves of the games in progress. A killed worker loses no more of a game."""
    metrics_port: Annotated[int, Field(ge=0, le=65535)] = 0
    """Prometheus port; 0: none."""
    metrics_host: str = "127.0.0.1"
    """Address of the Prometheus port; 0.0.0.0: for other machines."""
    executor: Literal["local", "mailbox", "ray"] = "local"
    """Who plays: "local" this machine's devices, "mailbox" all who "vecchess contribute" to the
    run, "ray" the nodes of a Ray cluster. No game depends on it."""
    ray_address: str = ""
    """Ray: the cluster's head, HOST:PORT; "": RAY_ADDRESS, or a cluster of this machine alone."""
    block_seats: Annotated[int, Field(ge=0, le=1 << 30)] = 0
    """Games that are given out at a time to other machines; 0: a 256th of all, up to 256."""
    verify_share: Annotated[float, Field(ge=0, le=1)] = 0.02
    """Share of the blocks of other machines that are played again here before they count."""
    game: Annotated[GameConfig, OnResume.FIXED] = Field(default_factory=GameConfig)
    """Settings that decide the moves."""
    tree: Annotated[TreeConfig, OnResume.FIXED] = Field(default_factory=TreeConfig)
    """Settings of the search."""


class SelfplayConfig(PlayConfig):
    """Settings of ``vecchess selfplay``."""

    games: GamesOrForever = 64
    """Games to play in all, numbered from 0; 0 or "forever": until the run is stopped."""
    net: Annotated[str, OnResume.FIXED] = DEFAULT_NET
    """Network file, default, tiny, small, base, large, sizes (.toml), material or constant.
    "default" is a trained network; a preset or a file of sizes makes a new one from the seed;
    "module:package.module:make" a module of your own, see docs/own-network.md."""

    @property
    def num_games(self) -> int:
        """``games``, MOST_GAMES where there is no end."""
        return self.games or MOST_GAMES
