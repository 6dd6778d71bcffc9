"""Settings of the UCI engine before a GUI changes them."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from vecchess.config.analysis_settings import EvaluatorConfig
from vecchess.config.search_settings import SearchConfig
from vecchess.shapes import MAX_MOVES

LEAST_ELO, MOST_ELO = 700, 1980
"""Range of ``elo``: where ``uci.go_command`` was measured."""
_SEARCH = SearchConfig()


class UciConfig(EvaluatorConfig):
    """Settings of ``vecchess uci``: by flags, variables, files and ``setoption``.

    The search's own are those of ``SearchConfig``, with its defaults.
    """

    hash_mb: Annotated[int, Field(ge=16, le=1 << 20)] = 512
    """Memory for tree and cache of evaluations, in MB."""
    lanes: Annotated[int, Field(ge=0, le=4096)] = 0
    """Positions evaluated in parallel, at most; 0: 32, on a GPU 256."""
    multipv: Annotated[int, Field(ge=1, le=MAX_MOVES)] = 1
    """Lines to show, at most."""
    chess960: bool = False
    """Write castling as king takes rook."""
    show_wdl: bool = False
    """Show the shares of wins, draws and losses with every score."""
    score_type: Literal["centipawn", "win_percentage", "Q", "W-L"] = "centipawn"
    """Meaning of a score, by lc0's names."""
    ponder: bool = False
    """The GUI lets the engine think on the opponent's time: a quarter more of its own a move."""
    move_overhead_ms: Annotated[int, Field(ge=0, le=10_000)] = 30
    """Time in ms on the clock that every move may cost besides the search."""
    limit_strength: bool = False
    """Limit the strength to ``elo``."""
    elo: Annotated[int, Field(ge=LEAST_ELO, le=MOST_ELO)] = MOST_ELO
    """Strength with ``limit_strength``."""
    analyse_mode: bool = False
    """Evaluate without preference: ``draw_score`` and ``limit_strength`` have no effect."""
    search: Literal["puct", "gumbel"] = "puct"
    """Search: "puct", or "gumbel" where the number of simulations is known beforehand."""
    c_puct: Annotated[float, Field(ge=0, le=1e6)] = _SEARCH.c_puct
    c_puct_base: Annotated[float, Field(ge=1, le=1e12)] = _SEARCH.c_puct_base
    c_puct_factor: Annotated[float, Field(ge=0, le=1e6)] = _SEARCH.c_puct_factor
    fpu_reduction: Annotated[float, Field(ge=0, le=1e3)] = _SEARCH.fpu_reduction
    root_fpu_reduction: Annotated[float, Field(ge=0, le=1e3)] = _SEARCH.root_fpu_reduction
    policy_temperature: Annotated[float, Field(ge=0.01, le=100)] = _SEARCH.policy_temperature
    draw_score: Annotated[float, Field(ge=-1, le=1)] = _SEARCH.draw_score
    """Worth of a draw to the engine, -1 to 1."""
    syzygy: Path | None = None
    """Folders of Syzygy tablebases, separated by ":". They are looked up after captures and pawn
    moves."""
