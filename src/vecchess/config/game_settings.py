"""What decides the moves of a game, besides the seed, the game's number and the network."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class GameConfig(BaseModel):
    """What decides the moves of a game, besides the seed, the game's number and the network."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: str = "1.0"
    """Sampling temperature, with changes by ply: "1.0,30:0.5" is 1.0, from ply 30 on 0.5."""
    openings: Path | None = None
    """File of start positions: EPD or FEN, one a line, or PGN (the end of each game's moves)."""
    chess960: bool = False
    """Start each game from one of the 960 positions."""
    random_plies: Annotated[int, Field(ge=0, le=60)] = 0
    """Uniformly random plies before the network takes over."""
    max_plies: Annotated[int, Field(ge=1, le=8192)] = 512
    """Games still going after so many plies are drawn, and counted as such."""
    resign_below: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """Resign when win + draw / 2 stays below this; 0 plays on to the end."""
    resign_turns: Annotated[int, Field(ge=1, le=100)] = 2
    """Own turns in a row for which it has to stay below."""
    resign_playthrough: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Fraction of the games played to the end all the same, to count wrong resignations."""
    adjudicate_draw_within: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Adjudicate a draw when |win - loss| stays within this; 0 never adjudicates."""
    adjudicate_draw_plies: Annotated[int, Field(ge=1, le=200)] = 40
    """Plies in a row for which it has to stay within."""

    @model_validator(mode="after")
    def _start_is_unique(self) -> Self:
        parse_temperature(self.temperature)
        if self.chess960 and self.openings is not None:
            raise ValueError("openings and chess960 both choose the start position: drop one")
        if self.random_plies >= self.max_plies:
            raise ValueError(f"random_plies must be below max_plies = {self.max_plies}")
        return self


def parse_temperature(text: str) -> list[tuple[int, float]]:
    """Read "1.0,30:0.5" as [(0, 1.0), (30, 0.5)]: (from this ply on, temperature) in order.

    Raises ValueError with a one-line reason.
    """
    schedule: list[tuple[int, float]] = []
    for number, part in enumerate(text.split(",")):
        ply_text, colon, value_text = part.rpartition(":")
        try:
            ply = int(ply_text) if colon else 0
            value = float(value_text)
        except ValueError:
            raise ValueError(
                f'temperature "{text}": "{part}" is not TEMPERATURE or PLY:TEMPERATURE'
            ) from None
        if not 0 <= value <= 100:
            raise ValueError(f'temperature "{text}": {value_text} is not between 0 and 100')
        if (number == 0) != (ply == 0) or (schedule and ply <= schedule[-1][0]):
            raise ValueError(f'temperature "{text}": plies must start at 0 and increase')
        schedule.append((ply, value))
    return schedule
