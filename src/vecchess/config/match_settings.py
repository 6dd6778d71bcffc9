"""Settings of a match, and when its games end early."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from vecchess.config.analysis_settings import NetworkUse
from vecchess.config.settings import Settings


class Adjudication(Settings):
    """When a game ends before the rules end it."""

    resign_below: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """Resign below this expected score; 0: never."""
    resign_turns: Annotated[int, Field(ge=1, le=100)] = 3
    """Own turns in a row with a score below it before a side resigns."""
    adjudicate_draw_within: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Call a draw while |win - loss| is at most this for both sides; 0: never."""
    adjudicate_draw_plies: Annotated[int, Field(ge=1, le=512)] = 40
    """Plies in a row with such evaluations before a draw is called."""
    syzygy: Path | None = None
    """Folders of Syzygy tablebases, separated by ":". Games end at a position that they hold."""


class MatchConfig(NetworkUse):
    """Settings of ``vecchess match``, besides the players."""

    games: Annotated[int, Field(ge=2, le=1 << 20)] = 100
    """Games at most, an even number. Each pair of games shares an opening."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed of the order of the openings and of the players' random choices."""
    openings: Path | None = None
    """File of start positions: EPD, FEN or PGN. Without it vecchess's own book is used."""
    chess960: bool = False
    """Start each game from one of the 960 positions of Chess960."""
    random_plies: Annotated[int, Field(ge=0, le=60)] = 0
    """Random plies after --openings, or instead of the book."""
    max_plies: Annotated[int, Field(ge=61, le=8192)] = 512
    """Games are drawn at this number of plies."""
    concurrency: Annotated[int, Field(ge=0, le=1 << 16)] = 0
    """Games at a time, and processes of an engine; 0: as many as suit the players."""
    sprt: str | None = None
    """Test "elo0,elo1,alpha,beta": stop when it accepts a hypothesis."""
    adjudication: Adjudication = Field(default_factory=Adjudication)
    """When games end early."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.games % 2:
            raise ValueError(f"games: {self.games} cannot be played in pairs: give an even number")
        if self.chess960 and self.openings is not None:
            raise ValueError("openings and chess960 both choose the start position: drop one")
        return self
