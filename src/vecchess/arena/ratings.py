"""Ratings of all players at once, from who scored what against whom.

Bradley and Terry's model (1952) on the usual scale of Elo: a player d Elo above another expects
1 / (1 + 10^(-d/400)) of the points, a draw counts as half a win and half a loss, as in KataGo's
``python/elo.py`` and in ordo. Ratings maximise the likelihood, with one virtual drawn game for any
two that met: it keeps them finite where one lost everything, and takes most of the bias off the
logarithm of odds that were counted (Haldane 1956, Anscombe 1956).

That likelihood takes games for independent and sees no draws, so its curvature alone would not
give the errors. They are the sandwich H^-1 J H^-1 (Huber 1967): H the curvature, J the variance of
what the pairs scored, found in the pairs themselves. Where few of them differ, virtual variance
helps out (``score.variance_share``), as much as independent games with the fitted share of draws
would have.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit, ndtr

from vecchess.arena.draws import draw_shares, fit_draws
from vecchess.arena.meetings import Meeting, Table
from vecchess.arena.score import STANDARD_ERRORS, variance_share
from vecchess.errors import ConfigError

ELO = 400 / log(10)
"""Of odds of e to 1."""
VIRTUAL_DRAWS = 1
"""Between any two players that met."""
DEFAULT_ANCHOR = "random"
PRECISION = 1e-7
"""Of the points a game that ratings explain, before the last steps."""
LAST_STEPS = 6
"""Of Newton's method, each of which doubles the digits."""


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
        """Plain values for JSON, the strongest player first."""
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
            "virtual_draws": VIRTUAL_DRAWS,
            "draws_at_equality": round(self.draws_at_equality, 4),
            "ratings": rows,
            "covariance": self.covariance[np.ix_(order, order)].round(3).tolist(),
            "los": self.los[np.ix_(order, order)].round(4).tolist(),
        }

    def _place(self, player: str) -> int:
        return self.players.index(player)


def rate(
    meetings: Iterable[Meeting], anchor: str | None = None, anchor_elo: float = 0.0
) -> Ratings:
    """The likeliest ratings of all who met, with their errors.

    ``anchor`` is rated ``anchor_elo``; None is "random" where it played, else the first player
    named. Raises ConfigError for an anchor without games and for what ``Table.of`` refuses.
    """
    table = Table.of(meetings)
    if anchor is None:
        anchor = DEFAULT_ANCHOR if DEFAULT_ANCHOR in table.players else table.players[0]
    if anchor not in table.players:
        raise ConfigError(f"anchor {anchor!r} has no games: choose {', '.join(table.players)}")
    model = _Model(table, table.players.index(anchor))
    strengths = model.fit()
    scores = expit(model.contrasts @ strengths)
    drawn = fit_draws(scores, model.results)
    games, points = model.totals()
    return Ratings(
        players=table.players,
        anchor=anchor,
        elo=anchor_elo + ELO * model.with_anchor @ strengths,
        covariance=ELO**2 * model.covariance(scores, drawn),
        draws_at_equality=drawn,
        games=games,
        scores=points / games,
    )


class _Model:
    """A table as arrays: M meetings, P players, P - 1 of them to be rated (the anchor is 0)."""

    def __init__(self, table: Table, anchor: int) -> None:
        """anchor: its place among the players."""
        self.table = table
        size, sides = len(table.players), table.sides
        self.with_anchor = np.delete(np.eye(size), anchor, axis=1)
        """float64[P, P - 1]: from strengths without the anchor's to all."""
        self.contrasts = self.with_anchor[sides[:, 0]] - self.with_anchor[sides[:, 1]]
        """float64[M, P - 1]: from strengths to differences."""
        self.results = np.array([(m.wins, m.draws, m.losses) for m in table.meetings], np.int64)
        """int64[M, 3]."""
        _, pair, sharing = np.unique(sides, axis=0, return_inverse=True, return_counts=True)
        virtual = VIRTUAL_DRAWS / sharing[pair.ravel()]
        self.games = self.results.sum(axis=1) + virtual
        """float64[M]: with the virtual ones."""
        self.points = self.results @ np.array([1, 0.5, 0]) + virtual / 2
        """float64[M]: of the first player."""

    def fit(self) -> NDArray[np.float64]:
        """float64[P - 1]: the likeliest strengths, natural logarithms of odds."""
        start = np.zeros(self.contrasts.shape[1])
        found = minimize(
            self._cost, start, jac=self._gradient, hess=self._curvature, method="trust-exact",
            options={"gtol": PRECISION * self.games.sum()},
        )  # fmt: skip
        strengths: NDArray[np.float64] = found.x
        # the likelihood of many games has no digits left that could tell the best from the next
        for _ in range(LAST_STEPS):
            step = np.linalg.solve(self._curvature(strengths), self._gradient(strengths))
            strengths = strengths - step
        return strengths

    def _cost(self, strengths: NDArray[np.float64]) -> float:
        """Minus the logarithm of the likelihood."""
        ahead = self.contrasts @ strengths
        lost = self.games - self.points
        return -float(self.points @ log_expit(ahead) + lost @ log_expit(-ahead))

    def _gradient(self, strengths: NDArray[np.float64]) -> NDArray[np.float64]:
        surplus = self.games * expit(self.contrasts @ strengths) - self.points
        gradient: NDArray[np.float64] = self.contrasts.T @ surplus
        return gradient

    def _curvature(self, strengths: NDArray[np.float64]) -> NDArray[np.float64]:
        scores = expit(self.contrasts @ strengths)
        return self._spread(self.games * scores * (1 - scores))

    def _spread(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[P - 1, P - 1] from a weight for each meeting."""
        spread: NDArray[np.float64] = (self.contrasts.T * weights) @ self.contrasts
        return spread

    def covariance(self, scores: NDArray[np.float64], drawn: float) -> NDArray[np.float64]:
        """float64[P, P] of the strengths, given the expected scores and the draws at equality."""
        greatest = scores * (1 - scores)
        of_games = 1 - draw_shares(scores, drawn) / (4 * greatest)
        noise = np.zeros(len(scores))
        for number, meeting in enumerate(self.table.meetings):
            trials = meeting.trials
            games = (len(trials) - 1) / 2
            share = variance_share(trials, scores[number], of_games[number] / games)
            noise[number] = trials.sum() * games**2 * share * greatest[number]
        inverse = self.with_anchor @ np.linalg.inv(self._spread(self.games * greatest))
        covariance: NDArray[np.float64] = inverse @ self._spread(noise) @ inverse.T
        return covariance

    def totals(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Games int64[P] and points float64[P] of each player, without the virtual ones."""
        games = np.zeros(len(self.table.players), np.int64)
        points = np.zeros(len(games))
        played = self.results.sum(axis=1)
        won = self.results @ np.array([1, 0.5, 0])
        first, second = self.table.sides.T
        for side, own in (first, won), (second, played - won):
            np.add.at(games, side, played)
            np.add.at(points, side, own)
        return games, points
