"""What the analysis of a position is told."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from vecchess.config.search_settings import SearchConfig
from vecchess.shapes import MAX_MOVES


class AnalyseConfig(BaseModel):
    """Everything ``vecchess analyse`` can be told, besides the position."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    net: str = "material"
    """A network file, a preset or a TOML file of sizes (a new network is made from the seed),
    "constant" or "material", which counts men."""
    seconds: Annotated[float, Field(ge=0)] = 0.0
    """Longest time to search; 0: until the simulations are done."""
    multipv: Annotated[int, Field(ge=1, le=MAX_MOVES)] = 3
    """Lines to show, at most."""
    lanes: Annotated[int, Field(ge=0, le=1024)] = 0
    """Questions open at a time; 0 takes one for each 100 simulations, from 1 to 32."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed of a new network."""
    gpus: str = "auto"
    """Device, as for self-play; of several the first."""
    backend: Literal["auto", "cpu", "cuda", "torch", "reference"] = "auto"
    """How the network is computed, as for self-play."""
    exits: bool = True
    """Let a position leave the network as soon as its answer is settled."""
    threads: Annotated[int, Field(ge=0, le=256)] = 0
    """Threads of the CPU backend; 0 takes one for each core."""
    chess960: bool = False
    """Write castling as king takes rook, as is done of itself where standard chess cannot."""
    tree: SearchConfig = Field(default_factory=SearchConfig)
    """How the position is searched."""
