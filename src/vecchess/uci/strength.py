"""Limited strength: the simulations and the randomness of moves for a rating."""

from bisect import bisect_right
from dataclasses import dataclass
from math import exp, log

from vecchess.config import UciConfig

TEMPERATURE = 0.2
"""Moves are drawn in proportion to visits ** 5."""
LADDER = ((700, 300), (870, 1000), (1150, 3000), (1300, 10_000))
"""Ratings and their simulations; in between the logarithm is interpolated.

Measured with "material" against Stockfish 15.1 at its lowest rating, 1350, and against itself
(docs/log.md).
"""


@dataclass(frozen=True)
class StrengthLimit:
    """Simulations a move, at most, and the temperature of the move's choice; 0: the best."""

    sims: int
    temperature: float


def strength_limit(config: UciConfig) -> StrengthLimit | None:
    """The limit that ``config`` sets; None for full strength."""
    if not config.limit_strength or config.analyse_mode:
        return None
    return StrengthLimit(sims_for(config.elo), TEMPERATURE)


def sims_for(elo: int) -> int:
    """Simulations for a rating, by the ladder."""
    ratings = [rating for rating, _ in LADDER]
    place = min(max(bisect_right(ratings, elo) - 1, 0), len(LADDER) - 2)
    (low, few), (high, many) = LADDER[place : place + 2]
    share = (elo - low) / (high - low)
    return round(exp(log(few) + share * (log(many) - log(few))))
