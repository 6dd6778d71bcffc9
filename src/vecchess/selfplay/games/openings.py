"""Where games start: the usual position, the 960, or a file of positions or games."""

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.chess960 import chess960_positions, start_positions
from vecchess.config import GameConfig
from vecchess.importers.opening_file import read_openings


def start_table(config: GameConfig) -> NDArray[np.uint64]:
    """uint64[starts, 8]: the positions a game draws its start from.

    Raises ConfigError with file and line where one cannot be read or is over already.
    """
    if config.chess960:
        return chess960_positions(np.arange(960))
    if config.openings is None:
        return start_positions(1)
    return read_openings(config.openings)
