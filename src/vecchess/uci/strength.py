"""What ``UCI_Elo`` means: simulations a move, and how sharply moves are drawn by their visits."""

from bisect import bisect_right
from math import exp, log
from typing import NamedTuple

from vecchess.config import MATERIAL_NET, UciConfig


class Level(NamedTuple):
    """A strength."""

    elo: int
    sims: int
    """Simulations a move, at most."""
    power: float
    """Moves are drawn in proportion to this power of their visits."""


MATERIAL = (
    Level(700, 300, 5.0),
    Level(870, 1000, 5.0),
    Level(1150, 3000, 5.0),
    Level(1300, 10_000, 5.0),
)
"""Measured with "material" against Stockfish 15.1 at its lowest rating, and against itself."""
NETWORK = (
    Level(890, 16, 0.5),
    Level(1190, 16, 1.0),
    Level(1575, 16, 5.0),
    Level(2050, 64, 5.0),
)
"""Measured with the trained network in the same way (docs/log.md)."""


def limit_of(config: UciConfig) -> Level | None:
    """The limited strength that ``config`` asks for; None for full strength.

    A rating outside what was measured means the nearest one that was.
    """
    if not config.limit_strength or config.analyse_mode:
        return None
    return _between(MATERIAL if config.net == MATERIAL_NET else NETWORK, config.elo)


def _between(ladder: tuple[Level, ...], elo: int) -> Level:
    """The level of a rating; logarithms are interpolated."""
    ratings = [level.elo for level in ladder]
    elo = min(max(elo, ratings[0]), ratings[-1])
    place = min(bisect_right(ratings, elo) - 1, len(ladder) - 2)
    low, high = ladder[place : place + 2]
    share = (elo - low.elo) / (high.elo - low.elo)
    sims, power = (
        exp(log(few) + share * (log(many) - log(few)))
        for few, many in zip(low[1:], high[1:], strict=True)
    )
    return Level(elo, round(sims), round(power, 3))
