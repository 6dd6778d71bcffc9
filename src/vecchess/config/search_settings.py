"""Settings of the search of a move."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from vecchess.config.settings import OnResume, Settings
from vecchess.shapes import MAX_MOVES

MOST_HALVING = 1 << 25
"""Entries of the table of sequential halving."""
MOST_CONSIDERED = 8
"""Moves that Gumbel considers by itself, at most."""


class SearchConfig(Settings):
    """Settings of every search. Simulations are counted below the root, those kept from an earlier
    search included."""

    search: Literal["gumbel", "puct"] = "puct"
    """"puct" for many simulations, "gumbel" for few. PUCT as in AlphaZero, lc0 and KataGo; Gumbel
    as in Danihelka et al. 2022."""
    sims: Annotated[int, Field(ge=1, le=1 << 24)] = 800
    """Simulations of a search."""
    considered: Annotated[int, Field(ge=0, le=MAX_MOVES)] = 0
    """Gumbel: moves considered at the root, at most; 0: a quarter as many as simulations, from 2 to
    8, so that answers to a move are seen as well."""
    c_visit: Annotated[float, Field(ge=0, le=1e6)] = 50.0
    """Gumbel: added to the visits of the most visited move, to weigh values against priors."""
    c_scale: Annotated[float, Field(gt=0, le=1e3)] = 0.5
    """Gumbel: weight of values against log priors."""
    c_puct: Annotated[float, Field(ge=0, le=1e6)] = 1.4
    """PUCT: weight of the exploration term at the start, in an even position."""
    c_puct_base: Annotated[float, Field(ge=1, le=1e12)] = 38739.0
    """PUCT: visits at which the weight of the exploration term begins to grow."""
    c_puct_factor: Annotated[float, Field(ge=0, le=1e6)] = 3.894
    """PUCT: growth of that weight, times log((visits + base) / base)."""
    fpu_reduction: Annotated[float, Field(ge=0, le=1e3)] = 0.33
    """PUCT: value of an unvisited move below its parent's, times the root of the visited prior."""
    root_fpu_reduction: Annotated[float, Field(ge=0, le=1e3)] = 0.1
    """PUCT: the same at the root."""
    policy_temperature: Annotated[float, Field(ge=0.01, le=100)] = 1.3
    """PUCT: softmax temperature of the network's policy as prior."""
    solve: bool = True
    """Prove wins and losses that follow from mates and tablebases."""
    see_mates: bool = True
    """With ``solve``: look for a mate in one before a position is evaluated."""
    draw_score: Annotated[float, Field(ge=-1, le=1)] = 0.0
    """Worth of a draw to the side that searches, -1 to 1. Below 0 it avoids draws."""
    cache_mb: Annotated[int, Field(ge=0, le=1 << 22), OnResume.FREE] = 64
    """Cache of evaluations in MB, per process; 0: none."""
    tree_mb: Annotated[int, Field(ge=0, le=1 << 22), OnResume.FREE] = 0
    """Memory for the trees of a process in MB; 0: as needed. Games that may need more are refused;
    a single tree, in analysis, stops growing there."""
    syzygy: Path | None = None
    """Folders of Syzygy tablebases, separated by ":". They are looked up after captures and pawn
    moves."""

    @model_validator(mode="after")
    def _table_fits(self) -> Self:
        if self.search == "gumbel" and self.num_considered(self.sims) * self.sims > MOST_HALVING:
            raise ValueError(f"gumbel takes considered * sims up to {MOST_HALVING:,}")
        return self

    @property
    def prior_temperature(self) -> float:
        """Softmax temperature of the network's policy. Gumbel adds values to its logits as they
        are: ``c_scale`` weighs them."""
        return self.policy_temperature if self.search == "puct" else 1.0

    def num_considered(self, sims: int) -> int:
        """Gumbel: moves that a search of ``sims`` simulations considers, at most."""
        return self.considered or min(max(sims // 4, 2), MOST_CONSIDERED)


class TreeConfig(SearchConfig):
    """Settings of the search in self-play, which explores, and searches some moves longer."""

    search: Literal["none", "gumbel", "puct"] = "none"  # type: ignore[assignment]
    """How moves are chosen: "none" by the policy alone, "gumbel" for few simulations, "puct" for
    many. Gumbel as in Danihelka et al. 2022; PUCT as in AlphaZero, lc0 and KataGo."""
    sims: Annotated[int, Field(ge=1, le=1 << 24)] = 32
    """Simulations of a search."""
    fast_sims: Annotated[int, Field(ge=0, le=1 << 24)] = 0
    """Simulations of a fast search, which gives no policy target; 0: no search is fast."""
    full_share: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share of the searches that are not fast. Playout cap randomisation (Wu 2019)."""
    noise_fraction: Annotated[float, Field(ge=0, le=1)] = 0.25
    """PUCT: share of Dirichlet noise in the priors of the root of a full search."""
    noise_concentration: Annotated[float, Field(ge=0.01, le=1e6)] = 10.0
    """PUCT: total concentration of that noise, divided among the legal moves."""
    forced_playouts: Annotated[float, Field(ge=0, le=1e3)] = 2.0
    """PUCT: k of forced playouts in full searches, pruned from the target (Wu 2019); 0: none."""
    reuse: bool = True
    """PUCT: keep the part of the tree below the move that was played."""

    @model_validator(mode="after")
    def _fast_is_faster(self) -> Self:
        if self.full_share < 1 and not 1 <= self.fast_sims < self.sims:
            raise ValueError(
                f"full_share below 1 needs fast_sims from 1 to {self.sims - 1}, below sims"
            )
        if self.fast_sims and self.full_share == 1:
            raise ValueError("fast_sims needs full_share below 1: no search is fast")
        return self

    @model_validator(mode="after")
    def _is_of_use(self) -> Self:
        if self.search == "none":
            for name, field in type(self).model_fields.items():
                if getattr(self, name) != field.default:
                    raise ValueError(f'{name} needs a search: "gumbel" or "puct", not "none"')
        return self
