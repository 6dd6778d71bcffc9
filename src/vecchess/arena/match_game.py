"""One finished game of a match, and why it ended."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.rules import Termination


class Forfeit(IntEnum):
    """How a player loses without a mate, beside ``chess.rules.Termination``."""

    TIME = 64
    """Its clock ran out."""
    ILLEGAL_MOVE = 65
    """It made no legal move."""
    CRASH = 66
    """Its process ended."""
    STALL = 67
    """It did not answer at all."""


def ending_name(code: int) -> str:
    """The reason why a game is over, in lower case: of ``Termination`` or ``Forfeit``."""
    kind = Forfeit if code >= Forfeit.TIME else Termination
    return kind(code).name.lower()


@dataclass(frozen=True)
class MatchGame:
    """A finished game. The first player of the match is "the first".

    number: games 2 p and 2 p + 1 are pair p, which shares an opening. start: uint64[8].
    moves: uint16[plies] mover's view, those of the opening included. values: float32[plies] the
    score that the mover expected, NaN if unknown; visits: int32[plies]. ending: code of
    ``Termination`` or ``Forfeit``. white_points, first_points: 1, 1/2 or 0.
    """

    number: int
    start: NDArray[np.uint64]
    opening_plies: int
    moves: NDArray[np.uint16]
    values: NDArray[np.float32]
    visits: NDArray[np.int32]
    ending: int
    white_points: float
    first_is_white: bool

    @property
    def first_points(self) -> float:
        """Points of the match's first player."""
        return self.white_points if self.first_is_white else 1 - self.white_points

    @property
    def is_forfeit(self) -> bool:
        """Whether a player forfeited the game."""
        return self.ending >= Forfeit.TIME
