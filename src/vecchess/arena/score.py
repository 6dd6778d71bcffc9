"""What a match says: points, and how far they may be from those of endless games."""

from dataclasses import dataclass
from math import log10, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

STANDARD_ERRORS = 1.96
"""To either side: 95 % of a normal distribution."""


@dataclass(frozen=True)
class Score:
    """What one player made of its games, two a pair with the same opening."""

    wins: int
    draws: int
    losses: int
    pairs: tuple[int, ...]
    """Pairs by points: 0, 1/2, 1, 1 1/2, 2."""
    score: float
    """Points a game, 0 to 1."""
    interval: tuple[float, float]
    """95 % of the score, from the variance of the pairs' points; of no width if all are alike."""

    @classmethod
    def of(cls, points: NDArray[np.float64]) -> "Score":
        """points: float64[G] of 0, 1/2, 1, G even and above 0, the games of a pair side by side."""
        pairs = points.reshape(-1, 2).sum(axis=1)
        score = float(points.mean())
        error = STANDARD_ERRORS * sqrt(pairs.var() / 4 / len(pairs))
        return cls(
            wins=int((points == 1).sum()),
            draws=int((points == 0.5).sum()),
            losses=int((points == 0).sum()),
            pairs=tuple(np.bincount((2 * pairs).astype(np.int64), minlength=5).tolist()),
            score=score,
            interval=(max(score - error, 0.0), min(score + error, 1.0)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the difference in Elo and its 95 % interval."""
        return {
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "pairs": list(self.pairs),
            "score": round(self.score, 4),
            "score_interval": [round(bound, 4) for bound in self.interval],
            "elo": elo(self.score),
            "elo_interval": [elo(bound) for bound in self.interval],
        }


def elo(score: float) -> float | None:
    """Difference in Elo that a score means; None for nothing and for everything."""
    return round(400 * log10(score / (1 - score)), 1) if 0 < score < 1 else None
