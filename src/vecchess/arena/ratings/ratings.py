"""Ratings of all players at once, from the results of all pairs.

On the usual scale of Elo: a player d Elo above another expects 1 / (1 + 10^(-d/400)) of the points,
a draw counts as half a win and half a loss, as in KataGo's ``python/elo.py`` and in ordo. The model
is ``bradley_terry``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from vecchess.arena.ratings.bradley_terry import BradleyTerry
from vecchess.arena.ratings.draw_model import fit_draws
from vecchess.arena.ratings.pair_results import PairCounts, PairResults
from vecchess.arena.ratings.score import STANDARD_ERRORS
from vecchess.errors import ConfigError

ELO = 400 / log(10)
"""Of odds of e to 1."""
DEFAULT_ANCHOR = "random"


@dataclass(frozen=True)
class Ratings:
    """P players on one scale, in the order in which they were first named."""

    players: tuple[str, ...]
    anchor: str
    """The player whose rating is given; all else is relative to it."""
    elo: NDArray[np.float64]
    """float64[P]."""
    covariance: NDArray[np.float64]
    """float64[P, P], Elo squared; nothing for the anchor. Of a difference: see ``errors``."""
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

    @property
    def standard_errors(self) -> NDArray[np.float64]:
        """float64[P]: of the difference to the anchor, Elo."""
        errors: NDArray[np.float64] = np.sqrt(np.diagonal(self.covariance))
        return errors

    @property
    def differences(self) -> NDArray[np.float64]:
        """float64[P, P]: how many Elo the player of the row is above that of the column."""
        return self.elo[:, None] - self.elo

    @property
    def errors(self) -> NDArray[np.float64]:
        """float64[P, P]: standard errors of ``differences``."""
        variance = np.diagonal(self.covariance)
        squares = variance[:, None] + variance - 2 * self.covariance
        errors: NDArray[np.float64] = np.sqrt(np.maximum(squares, 0))
        return errors

    @property
    def los(self) -> NDArray[np.float64]:
        """float64[P, P]: likelihood that the player of the row is the stronger, 0 to 1."""
        errors = self.errors
        np.fill_diagonal(errors, 1)
        superiority: NDArray[np.float64] = ndtr(self.differences / errors)
        return superiority

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, the strongest player first; no matrices, for there may be hundreds
        of players."""
        order = np.argsort(-self.elo, kind="stable")
        width = STANDARD_ERRORS * self.standard_errors
        rows = [
            {
                "player": self.players[number],
                "elo": round(float(self.elo[number]), 1),
                "elo_low": round(float(self.elo[number] - width[number]), 1),
                "elo_high": round(float(self.elo[number] + width[number]), 1),
                "standard_error": round(float(self.standard_errors[number]), 2),
                "games": int(self.games[number]),
                "score": round(float(self.scores[number]), 4),
            }
            for number in order
        ]
        return {
            "anchor": {"player": self.anchor, "elo": float(self.elo[self._place(self.anchor)])},
            "virtual_draws": self.virtual_draws,
            "draws_at_equality": round(self.draws_at_equality, 4),
            "ratings": rows,
        }

    def _place(self, player: str) -> int:
        return self.players.index(player)


def rate(
    all_counts: Iterable[PairCounts], anchor: str | None = None, anchor_elo: float = 0.0
) -> Ratings:
    """The likeliest ratings of all players that played, with their errors.

    ``anchor`` is rated ``anchor_elo``; None is "random" where it played, else the first player
    named. Raises ConfigError for an anchor without games and for what ``PairResults.of`` refuses.
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
        elo=anchor_elo + ELO * model.with_anchor @ strengths,
        covariance=ELO**2 * model.covariance(strengths, drawn),
        draws_at_equality=drawn,
        games=games,
        scores=points / games,
    )
