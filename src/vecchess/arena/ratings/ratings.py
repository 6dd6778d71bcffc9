"""Ratings of all players at once, from the results of all pairs.

On the usual scale of Elo: a player d Elo above another expects 1 / (1 + 10^(-d/400)) of the points,
a draw counts as half a win and half a loss, as in KataGo's ``python/elo.py`` and in ordo. The model
is ``bradley_terry``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import log, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.arena.ratings.bradley_terry import BradleyTerry
from vecchess.arena.ratings.draw_model import fit_draws
from vecchess.arena.ratings.pair_results import PairCounts, PairResults
from vecchess.arena.ratings.score import STANDARD_ERRORS
from vecchess.errors import ConfigError

ELO = 400 / log(10)
"""Elo of odds of e to 1."""
DEFAULT_ANCHOR = "random"


@dataclass(frozen=True)
class EloDifference:
    """How much stronger one player is than another."""

    first: str
    second: str
    elo: float
    error: float
    """Standard error, Elo."""

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval, Elo."""
        return self.elo - STANDARD_ERRORS * self.error

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval, Elo."""
        return self.elo + STANDARD_ERRORS * self.error

    @property
    def los(self) -> float:
        """Likelihood that the first is the stronger, 0 to 1."""
        return NormalDist().cdf(self.elo / self.error) if self.error else 0.5

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "first": self.first,
            "second": self.second,
            "elo": round(self.elo, 1),
            "elo_low": round(self.low, 1),
            "elo_high": round(self.high, 1),
            "los": round(self.los, 4),
        }


@dataclass(frozen=True)
class Ratings:
    """P players on one scale, in the order in which they were first named."""

    players: tuple[str, ...]
    anchor: str
    """The player whose rating is 0; all else is relative to it."""
    elo: NDArray[np.float64]
    """float64[P]."""
    covariance: NDArray[np.float64]
    """float64[P, P], Elo squared; nothing for the anchor."""
    draws_at_equality: float
    """Share of games, 0 to 1, that two players of one strength are expected to draw."""
    games: NDArray[np.int64]
    """int64[P], virtual ones left out."""
    scores: NDArray[np.float64]
    """float64[P]: points a game."""

    @property
    def virtual_draws(self) -> int:
        """Games that the prior comes to, see ``bradley_terry``."""
        return len(self.players) - 1

    def difference(self, first: str, second: str) -> EloDifference:
        """How much stronger ``first`` is than ``second``."""
        one, two = self.players.index(first), self.players.index(second)
        contrast = np.zeros(len(self.players))
        contrast[one] += 1
        contrast[two] -= 1
        variance = max(0.0, float(contrast @ self.covariance @ contrast))
        return EloDifference(first, second, float(self.elo[one] - self.elo[two]), sqrt(variance))

    def rating(self, player: str) -> EloDifference:
        """The rating of ``player``: how much stronger it is than the anchor."""
        return self.difference(player, self.anchor)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, the strongest player first; no matrices, for there may be hundreds
        of players."""
        rows = []
        for number in np.argsort(-self.elo, kind="stable"):
            rating = self.rating(self.players[number])
            facts = rating.to_dict()
            rows.append(
                {
                    "player": rating.first,
                    **{name: facts[name] for name in ("elo", "elo_low", "elo_high")},
                    "standard_error": round(rating.error, 2),
                    "games": int(self.games[number]),
                    "score": round(float(self.scores[number]), 4),
                }
            )
        return {
            "anchor": {"player": self.anchor, "elo": 0.0},
            "virtual_draws": self.virtual_draws,
            "draws_at_equality": round(self.draws_at_equality, 4),
            "ratings": rows,
        }


def rate(all_counts: Iterable[PairCounts], anchor: str | None = None) -> Ratings:
    """The likeliest ratings of all players that played, with their errors.

    ``anchor`` is rated 0 Elo; None is "random" where it played, else the first player named.
    Raises ConfigError for an anchor without games and for what ``PairResults.of`` refuses.
    """
    table = PairResults.of(all_counts)
    if anchor is None:
        anchor = DEFAULT_ANCHOR if DEFAULT_ANCHOR in table.players else table.players[0]
    if anchor not in table.players:
        raise ConfigError(f"anchor {anchor!r} has no games: choose {', '.join(table.players)}")
    model = BradleyTerry(table, table.players.index(anchor))
    strengths = model.fit()
    drawn = fit_draws(model.scores(strengths), model.results)
    games, points = table.totals()
    return Ratings(
        players=table.players,
        anchor=anchor,
        elo=ELO * model.with_anchor @ strengths,
        covariance=ELO**2 * model.covariance(strengths, drawn),
        draws_at_equality=drawn,
        games=games,
        scores=points / games,
    )
