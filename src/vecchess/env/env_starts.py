"""Where the games of an environment begin."""

from pathlib import Path

import numpy as np

from vecchess.arena.match.match_openings import load_book
from vecchess.chess.chess960 import NUM_CHESS960, chess960_positions, start_positions
from vecchess.chess.position import Positions, checked
from vecchess.chess.rules import Termination, terminations
from vecchess.errors import ConfigError

Starts = str | Path | Positions
"""``"standard"``, ``"chess960"``, ``"book"``, an EPD, FEN or PGN file, or ``uint64[K, 8]``."""


def start_table(starts: Starts) -> Positions:
    """``uint64[K, 8]``: the positions that games draw their start from.

    ``"book"`` is the book of matches, 500 balanced positions after eight plies. Raises ConfigError
    for a name that is none of ``Starts``, a file that cannot be read and a position that is over.
    """
    if isinstance(starts, np.ndarray):
        return _checked_table(starts)
    if isinstance(starts, Path):
        return load_book(starts)
    if starts == "standard":
        return start_positions(1)
    if starts == "chess960":
        return chess960_positions(np.arange(NUM_CHESS960))
    if starts == "book":
        return load_book()
    raise ConfigError(
        f"starts {starts!r}: give 'standard', 'chess960', 'book', a Path or uint64[K, 8]"
    )


def _checked_table(positions: Positions) -> Positions:
    """A copy of the positions. Raises ConfigError where there are none, or one is over."""
    table = checked(positions).copy()
    over = np.flatnonzero(terminations(table) != Termination.ONGOING)
    if len(over) or not len(table):
        what = f"position {over[0]} is of a game that is over" if len(over) else "no positions"
        raise ConfigError(f"starts: {what}; no game can begin there")
    return table
