"""Bradley and Terry's model (1952) of pair results: strengths, and their covariance.

A player that is d stronger scores 1 / (1 + e^-d), a draw counts as half a win and half a loss.
Strengths maximise the likelihood with Firth's penalty (Biometrika 80, 1993; for this model: Turner
and Firth, BradleyTerry2, J. Statistical Software 48, 2012). It acts like virtual drawn games, as
many as there are players to be rated, shared among pairs by their weight in what is known. They
take most of the bias off, and keep strengths finite where a player lost everything.

That likelihood takes games for independent and sees no draws, so its curvature alone would not
give the errors. They are the sandwich H^-1 J H^-1 (Huber 1967): H the curvature, J the variance of
what the pairs scored, found in the pairs themselves. Where few of them differ, virtual variance
helps out (``score.variance_share``), as much as independent games with the fitted share of draws
would have.

Decisions 129 and 130.
"""

import numpy as np
from numpy.typing import NDArray

from vecchess.arena.ratings.draw_model import draw_shares
from vecchess.arena.ratings.pair_results import PairResults
from vecchess.arena.ratings.score import variance_share

PRECISION = 1e-7
"""Precision of the points a game that strengths explain, before the last steps."""
MOST_STEPS = 200
ENOUGH, LEAST = 1e-4, 1e-9
"""Share of the promised gain that a part of a step has to bring; the least part of one."""
LAST_STEPS = 6
"""Steps of Newton's method, most of which double the digits."""
MOST_ROUNDS = 50
SETTLED = 1e-7
"""Strengths that move by less from one sharing of the virtual games to the next."""


class BradleyTerry:
    """Pair results as arrays: M pairs, P players, P - 1 of them to be rated (the anchor has 0)."""

    def __init__(self, table: PairResults, anchor: int) -> None:
        """anchor: its place among the players."""
        self.table = table
        size, sides = len(table.players), table.sides
        self.with_anchor = np.delete(np.eye(size), anchor, axis=1)
        """float64[P, P - 1]: from strengths without the anchor's to all."""
        self.contrasts = self.with_anchor[sides[:, 0]] - self.with_anchor[sides[:, 1]]
        """float64[M, P - 1]: from strengths to differences."""
        self.results = np.array([(m.wins, m.draws, m.losses) for m in table.counts], np.int64)
        """int64[M, 3]."""
        self.played = self.results.sum(axis=1)
        """int64[M]: games."""
        self.won = self.results @ np.array([1, 0.5, 0])
        """float64[M]: points of the first player."""
        self.virtual = np.full(len(sides), (size - 1) / len(sides))
        """float64[M]: drawn games that Firth's penalty comes to."""

    def fit(self) -> NDArray[np.float64]:
        """float64[P - 1]: the likeliest strengths, natural logarithms of odds; sets ``virtual``."""
        strengths = np.zeros(self.contrasts.shape[1])
        for _ in range(MOST_ROUNDS):
            before, strengths = strengths, self._likeliest(strengths)
            self.virtual = self._leverage(strengths)
            if np.abs(strengths - before).max() < SETTLED:
                break
        return strengths

    def scores(self, strengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[M]: points a game that the first player of each pair expects, 0 to 1."""
        expected: NDArray[np.float64] = np.exp(_log_expected(self.contrasts @ strengths))
        return expected

    def covariance(
        self, strengths: NDArray[np.float64], draws_at_equality: float
    ) -> NDArray[np.float64]:
        """float64[P, P]: of all strengths, the anchor's nothing."""
        scores = self.scores(strengths)
        greatest = scores * (1 - scores)
        of_games = 1 - draw_shares(scores, draws_at_equality) / (4 * greatest)
        noise = np.zeros(len(scores))
        for number, counts in enumerate(self.table.counts):
            trials = counts.trials
            games = (len(trials) - 1) / 2
            share = variance_share(trials, scores[number], of_games[number] / games)
            noise[number] = trials.sum() * games**2 * share * greatest[number]
        inverse = self.with_anchor @ np.linalg.inv(self._curvature(strengths))
        covariance: NDArray[np.float64] = inverse @ self._spread(noise) @ inverse.T
        return covariance

    def _likeliest(self, start: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[P - 1]: strengths with the virtual games as they are."""
        strengths, total = start, self.played.sum() + self.virtual.sum()
        for _ in range(MOST_STEPS):
            gradient = self._gradient(strengths)
            if np.linalg.norm(gradient) < PRECISION * total:
                break
            strengths = self._lower(strengths, self._newton_step(strengths), gradient)
        # the likelihood of many games has no digits left that could tell the best from the next
        for _ in range(LAST_STEPS):
            strengths = strengths - self._newton_step(strengths)
        return strengths

    def _newton_step(self, strengths: NDArray[np.float64]) -> NDArray[np.float64]:
        step = np.linalg.solve(self._curvature(strengths), self._gradient(strengths))
        return np.asarray(step, np.float64)

    def _lower(
        self,
        strengths: NDArray[np.float64],
        step: NDArray[np.float64],
        gradient: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Strengths that cost less: as much of ``step`` backwards as does (Armijo's rule)."""
        cost, slope, part = self._cost(strengths), float(gradient @ step), 1.0
        while self._cost(strengths - part * step) > cost - ENOUGH * part * slope and part > LEAST:
            part /= 2
        return strengths - part * step

    def _cost(self, strengths: NDArray[np.float64]) -> float:
        """Minus the logarithm of the likelihood."""
        ahead = self.contrasts @ strengths
        points = self.won + self.virtual / 2
        lost = self.played + self.virtual - points
        return -float(points @ _log_expected(ahead) + lost @ _log_expected(-ahead))

    def _gradient(self, strengths: NDArray[np.float64]) -> NDArray[np.float64]:
        expected = (self.played + self.virtual) * self.scores(strengths)
        gradient: NDArray[np.float64] = self.contrasts.T @ (expected - self.won - self.virtual / 2)
        return gradient

    def _curvature(self, strengths: NDArray[np.float64]) -> NDArray[np.float64]:
        scores = self.scores(strengths)
        return self._spread((self.played + self.virtual) * scores * (1 - scores))

    def _leverage(self, strengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[M]: weight of each pair in the information of the games, P - 1 in all."""
        scores = self.scores(strengths)
        known = self.played * scores * (1 - scores)
        variance = self.contrasts @ np.linalg.inv(self._spread(known))
        leverage: NDArray[np.float64] = known * (variance * self.contrasts).sum(axis=1)
        return leverage

    def _spread(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[P - 1, P - 1] from a weight for each pair."""
        spread: NDArray[np.float64] = (self.contrasts.T * weights) @ self.contrasts
        return spread


def _log_expected(ahead: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm of 1 / (1 + e^-``ahead``), with all its digits on both sides."""
    logarithm: NDArray[np.float64] = -np.logaddexp(0, -ahead)
    return logarithm
