"""Openings that matches begin with: a book of the package's own, or a file of the user's.

``openings.epd`` holds 500 positions after eight plies, none of which favours a side by more than 30
centipawns. ``bench/make_openings.py`` made it with Stockfish 15.1 and says how.
"""

from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vecchess.rng import random_word
from vecchess.selfplay.games.openings import read_openings

SHIPPED = "openings.epd"


def load_book(file: Path | None = None, seed: int = 0) -> NDArray[np.uint64]:
    """uint64[N, 8]: the positions of an EPD, FEN or PGN file in an order that ``seed`` chooses,
    each once.

    None is the package's own book. Raises ConfigError with file and line for what cannot be read.
    """
    if file is None:
        with as_file(files("vecchess.arena") / SHIPPED) as shipped:
            positions = read_openings(shipped)
    else:
        positions = read_openings(file)
    _, first = np.unique(positions, axis=0, return_index=True)
    positions = positions[np.sort(first)]
    words = [random_word(seed, number, 0) for number in range(len(positions))]
    return positions[np.argsort(np.array(words, np.uint64), kind="stable")]
