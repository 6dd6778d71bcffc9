"""Rows of different lengths that lie one after another, such as the plies of games."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def offsets_of(counts: ArrayLike) -> NDArray[np.int64]:
    """int64[K + 1] of rows with so many entries, int[K]: ``offsets[k] : offsets[k + 1]`` are those
    of row k."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
