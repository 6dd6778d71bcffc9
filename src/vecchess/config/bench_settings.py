"""Settings of the benchmarks that have more than a few."""

from typing import Annotated, Literal

from pydantic import Field

from vecchess.config.backend import BackendName
from vecchess.config.selfplay_settings import CONSTANT_NET, SelfplayConfig
from vecchess.config.settings import Settings


class BenchConfig(Settings):
    """Settings of every benchmark of a network."""

    cores: Annotated[int, Field(ge=0)] = 0
    """Cores this process is kept to; 0: all."""
    seed: Annotated[int, Field(ge=0, lt=1 << 62)] = 0
    """Seed of a new network and of the positions."""
    gpus: str = "auto"
    """The device: auto, cpu, or a GPU's number."""
    backend: BackendName = "auto"
    """Backend of the network, as for "vecchess selfplay"."""


class ThroughputBench(SelfplayConfig):
    """Settings of ``vecchess bench throughput``, besides those of self-play."""

    net: str = "tiny"
    """Network file, default, tiny, small, base, large, sizes (.toml), material or constant."""
    seconds: Annotated[float, Field(gt=0)] = 10.0
    """Time to measure, in seconds."""
    cores: Annotated[int, Field(ge=0)] = 0
    """Cores this process is kept to; 0: all."""


class InferenceBench(BenchConfig):
    """Settings of ``vecchess bench inference``."""

    net: str = "small"
    """Network file, default, tiny, small, base, large, sizes (.toml), or "module:...".
    """
    slots: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    """Positions in the network at a time; 0: by the device."""
    positions: Annotated[int, Field(ge=0, le=1 << 22)] = 0
    """Positions of random games to evaluate, at least one a slot; 0: four a slot."""
    threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """Threads of every entrant; 0: one a core."""
    seconds: Annotated[float, Field(gt=0)] = 60.0
    """Time to measure in seconds, preparations not counted."""
    twin: bool = True
    """Compare with the ReLU network of the same sizes."""


class SearchBench(BenchConfig):
    """Settings of ``vecchess bench search``."""

    search: Literal["gumbel", "puct"] = "gumbel"
    """Kind of search."""
    sims: Annotated[int, Field(ge=1, le=1 << 24)] = 32
    """Simulations a move."""
    games: Annotated[int, Field(ge=1, le=1 << 20)] = 1024
    """Positions searched at a time."""
    net: str = CONSTANT_NET
    """Network file, default, preset, constant or material."""
    slots: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    """Positions in the network at a time; 0: by device and network."""
    threads: Annotated[int, Field(ge=0, le=256)] = 0
    """Threads of the CPU backend; 0: one a core."""
    cache_mb: Annotated[int, Field(ge=0, le=1 << 22)] = 64
    """Cache of evaluations in MB; 0: none."""
    lanes: Annotated[int, Field(ge=1, le=1024)] = 1
    """Positions of a tree that are evaluated in parallel."""
    seconds: Annotated[float, Field(gt=0)] = 10.0
    """Time to measure, in seconds, for all rows together."""
