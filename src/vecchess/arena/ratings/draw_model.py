"""How many games are drawn, by how even they are: Davidson's model (1970) on the scale of scores.

A game between players of strength p and q is drawn with weight v sqrt(p q), beside p and q for
either to win. So draws are rarest where one is much the better; the share at equality says all.
Davidson's strengths give other scores than Elo's formula does. Here they are those that give the
score Elo's formula expects, so that the scale of ratings stays the usual one.
"""

from collections.abc import Callable
from math import log1p, sqrt

import numpy as np
from numpy.typing import NDArray

NEARLY = 1e-9
"""Shares of draws at equality are sought from here to as near to 1."""
PRECISION = 1e-6
GOLDEN = (sqrt(5) - 1) / 2


def draw_shares(scores: NDArray[np.float64], at_equality: float) -> NDArray[np.float64]:
    """float64[M]: how many games are drawn where one side scores 0 < score < 1, float64[M].

    at_equality: 0 to below 1, the share where the score is a half.
    """
    weight = 2 * at_equality / (1 - at_equality)
    off = weight * (scores - 0.5)
    # t = sqrt(p / q), the positive root of t^2 (1 - s) - t v (s - 1/2) - s = 0, in two forms
    root = np.abs(off) + np.sqrt(off**2 + 4 * scores * (1 - scores))
    odds = np.where(off >= 0, root / (2 * (1 - scores)), 2 * scores / root)
    shares: NDArray[np.float64] = weight / (odds + 1 / odds + weight)
    return shares


def fit_draws(scores: NDArray[np.float64], games: NDArray[np.int64]) -> float:
    """The likeliest share of draws at equality, 0 to below 1, had one more game been decided.

    Without it draws alone would leave nothing to chance, and ratings without an error.

    scores: float64[M] expected in matches, above 0 and below 1; games: int64[M, 3] of them won,
    drawn and lost, at least one.
    """
    if games[:, 1].sum() == 0:
        return 0.0

    def cost(at_equality: float) -> float:
        drawn = draw_shares(scores, at_equality)
        shares = np.stack([scores - drawn / 2, drawn, 1 - scores - drawn / 2], axis=1)
        seen = float((games * np.log(np.maximum(shares, np.finfo(float).tiny))).sum())
        return -seen - log1p(-at_equality)

    return _lowest(cost, NEARLY, 1 - NEARLY)


def _lowest(cost: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one valley is lowest between ``low`` and ``high``, to ``PRECISION``, by
    golden sections."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = cost(left), cost(right)
    while high - low > PRECISION:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = cost(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = cost(right)
    return (low + high) / 2
