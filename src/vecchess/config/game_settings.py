"""Settings that decide the moves of a game, besides the seed, its number and the network."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from vecchess.config.settings import Settings


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
        if number and not colon:
            raise ValueError(
                f'temperature "{text}": "{part}" has no ":"; write PLY:TEMPERATURE there'
            )
        if (number == 0) != (ply == 0) or (schedule and ply <= schedule[-1][0]):
            raise ValueError(f'temperature "{text}": plies must start at 0 and increase')
        schedule.append((ply, value))
    return schedule


def _check_temperature(text: str) -> str:
    """Validator: what ``parse_temperature`` reads."""
    parse_temperature(text)
    return text


class GameConfig(Settings):
    """Settings that decide the moves of a game, besides the seed, its number and the network."""

    temperature: Annotated[str, AfterValidator(_check_temperature)] = "1.0"
    """Sampling temperature: "1.0", or by ply "1.0,30:0.5" (0.5 from ply 30 on)."""
    openings: Path | None = None
    """File of start positions: EPD, FEN or PGN. A PGN gives the last positions."""
    chess960: bool = False
    """Start each game from one of the 960 positions of Chess960."""
    random_plies: Annotated[int, Field(ge=0, le=60)] = 0
    """Uniformly random plies at the start of a game."""
    max_plies: Annotated[int, Field(ge=1, le=8192)] = 512
    """Games are drawn at this number of plies. They are counted as drawn by the limit."""
    resign_below: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """Resign below this expected score; 0: never. The score is win + draw / 2."""
    resign_turns: Annotated[int, Field(ge=1, le=100)] = 2
    """Own turns in a row with a score below it before a side resigns."""
    resign_playthrough: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Share of the games that may not resign. They count how many resignations would be wrong."""
    adjudicate_draw_within: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Call a draw while |win - loss| is at most this; 0: never."""
    adjudicate_draw_plies: Annotated[int, Field(ge=1, le=200)] = 40
    """Plies in a row with such an evaluation before a draw is called."""

    @model_validator(mode="after")
    def _start_is_unique(self) -> Self:
        if self.chess960 and self.openings is not None:
            raise ValueError("openings and chess960 both choose the start position: drop one")
        if self.random_plies >= self.max_plies:
            raise ValueError(f"random_plies must be below max_plies = {self.max_plies}")
        return self
