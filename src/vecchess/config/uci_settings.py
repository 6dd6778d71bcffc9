"""What the UCI engine is told before a GUI tells it more."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from vecchess.shapes import MAX_MOVES

LEAST_ELO, MOST_ELO = 700, 1300
"""Range of ``elo``: where ``uci.strength`` was measured."""


class UciConfig(BaseModel):
    """Everything ``vecchess uci`` can be told by flags, variables, files and ``setoption``."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    net: str = "material"
    """A network file, a preset or a TOML file of sizes (a new network is made from the seed),
    "constant" or "material", which counts men."""
    gpus: str = "auto"
    """Device, as for self-play; of several the first."""
    backend: Literal["auto", "cpu", "cuda", "torch", "reference"] = "auto"
    """How the network is computed, as for self-play."""
    exits: bool = True
    """Let a position leave the network as soon as its answer is settled."""
    threads: Annotated[int, Field(ge=0, le=256)] = 0
    """Threads of the CPU backend; 0 takes one for each core."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed of a new network, and of moves drawn below full strength."""
    hash_mb: Annotated[int, Field(ge=16, le=1 << 20)] = 512
    """Memory for tree and cache of evaluations, in MB."""
    lanes: Annotated[int, Field(ge=0, le=4096)] = 0
    """Questions open at a time, at most; 0 takes 32, on a GPU 256."""
    multipv: Annotated[int, Field(ge=1, le=MAX_MOVES)] = 1
    """Lines to show, at most."""
    chess960: bool = False
    """Write castling as king takes rook."""
    show_wdl: bool = False
    """Show shares of wins, draws and losses with every score."""
    score_type: Literal["centipawn", "win_percentage", "Q", "W-L"] = "centipawn"
    """What a score is, as lc0 names it."""
    ponder: bool = False
    """The GUI lets the engine think on the opponent's time: a quarter more of its own a move."""
    move_overhead_ms: Annotated[int, Field(ge=0, le=10_000)] = 30
    """Time on the clock that every move may cost besides the search."""
    limit_strength: bool = False
    """Play as weak as ``elo`` says."""
    elo: Annotated[int, Field(ge=LEAST_ELO, le=MOST_ELO)] = MOST_ELO
    """Strength with ``limit_strength``."""
    analyse_mode: bool = False
    """Judge without preference: ``draw_score`` and ``limit_strength`` do not count."""
    search: Literal["puct", "gumbel"] = "puct"
    """"gumbel" where the simulations are known beforehand; "puct" everywhere."""
    c_puct: Annotated[float, Field(ge=0, le=1e6)] = 1.745
    """As in ``SearchConfig``, like all that follows."""
    c_puct_base: Annotated[float, Field(ge=1, le=1e12)] = 38739.0
    c_puct_factor: Annotated[float, Field(ge=0, le=1e6)] = 3.894
    fpu_reduction: Annotated[float, Field(ge=0, le=1e3)] = 0.33
    root_fpu_reduction: Annotated[float, Field(ge=0, le=1e3)] = 0.1
    policy_temperature: Annotated[float, Field(ge=0.01, le=100)] = 1.0
    draw_score: Annotated[float, Field(ge=-1, le=1)] = 0.0
    syzygy: Path | None = None
