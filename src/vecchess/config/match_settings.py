"""What a match is told."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Adjudication(BaseModel):
    """When a game ends before the board ends it."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    resign_below: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """A side that expects less than this score has lost; 0: never."""
    resign_turns: Annotated[int, Field(ge=1, le=100)] = 3
    """Own turns in a row for which it has to expect so little."""
    adjudicate_draw_within: Annotated[float, Field(ge=0, le=1)] = 0.0
    """A game is drawn when |win - loss| stays within this for both sides; 0: never."""
    adjudicate_draw_plies: Annotated[int, Field(ge=1, le=512)] = 40
    """Plies in a row for which it has to stay within."""
    syzygy: Path | None = None
    """Folder of Syzygy tablebases, which end the games they know."""


class MatchConfig(BaseModel):
    """Everything ``vecchess match`` can be told, besides the players."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    games: Annotated[int, Field(ge=2, le=1 << 20)] = 100
    """Games, at most; they are played in pairs."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Of the order of the openings, and of the players' random choices."""
    openings: Path | None = None
    """File of start positions, EPD, FEN or PGN; without it vecchess's own book."""
    chess960: bool = False
    """Start from the 960 positions instead."""
    random_plies: Annotated[int, Field(ge=0, le=60)] = 0
    """Random plies after the opening; with these alone, games begin at the usual position."""
    max_plies: Annotated[int, Field(ge=61, le=8192)] = 512
    """Games still going after so many plies are drawn, and counted as such."""
    concurrency: Annotated[int, Field(ge=0, le=1 << 16)] = 0
    """Games at a time; 0: as many as suit the players."""
    sprt: str | None = None
    """ "elo0,elo1,alpha,beta": stop when one hypothesis is accepted (``arena.sprt``)."""
    gpus: str = "auto"
    """Device of the networks, as for self-play; of several the first."""
    backend: Literal["auto", "cpu", "cuda", "torch", "reference"] = "auto"
    """How networks are computed, as for self-play."""
    threads: Annotated[int, Field(ge=0, le=256)] = 0
    """Threads of the CPU backend, per network; 0 shares the cores out."""
    adjudication: Adjudication = Field(default_factory=Adjudication)
    """When games end early."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.games % 2:
            raise ValueError(f"games: {self.games} cannot be played in pairs: give an even number")
        if self.chess960 and self.openings is not None:
            raise ValueError("openings and chess960 both choose the start position: drop one")
        return self
