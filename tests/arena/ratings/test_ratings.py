"""Joint ratings: against another algorithm, at their limits, and what they refuse."""

import json
from itertools import combinations
from math import log10, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.arena.hunter import elo_by_hunter
from vecchess.arena.ratings.bradley_terry import BradleyTerry
from vecchess.arena.ratings.draw_model import draw_shares, fit_draws
from vecchess.arena.ratings.pair_results import PairCounts, PairResults
from vecchess.arena.ratings.ratings import rate
from vecchess.arena.ratings.score import Score, expected_score
from vecchess.errors import ConfigError


def random_meetings(seed: int, players: int) -> list[PairCounts]:
    """Some of all possible all_counts, in a chain at least, in either direction, some twice."""
    rng = np.random.default_rng(seed)
    found = []
    for other in range(1, players):
        for one in range(other):
            if other - one > 1 and rng.random() < 0.4:
                continue
            counts = rng.multinomial(rng.integers(1, 60), rng.dirichlet([1, 1, 1])).tolist()
            names = [f"p{one}", f"p{other}"]
            rng.shuffle(names)
            found += [PairCounts(names[0], names[1], *counts)] * int(rng.integers(1, 3))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_another_algorithm_finds_the_same_ratings(seed: int) -> None:
    all_counts = random_meetings(seed, 3 + 2 * seed)
    found = rate(all_counts, anchor="p1")
    table = PairResults.of(all_counts)
    model = BradleyTerry(table, table.players.index("p1"))
    model.fit()
    assert model.virtual.sum() == pytest.approx(found.virtual_draws)
    expected = elo_by_hunter(table.counts, "p1", model.virtual.tolist())
    for name, elo in zip(found.players, found.elo, strict=True):
        assert elo == pytest.approx(expected[name], abs=0.05)


@pytest.mark.parametrize("seed", range(4))
def test_the_virtual_draws_maximise_firths_likelihood(seed: int) -> None:
    table = PairResults.of(random_meetings(seed, 4))
    model = BradleyTerry(table, 0)

    def penalised(strengths: NDArray[np.float64]) -> float:
        ahead = model.contrasts @ strengths
        likelihood = model.won @ ahead - model.played @ np.logaddexp(0, ahead)
        known = model.played * np.exp(ahead) / (1 + np.exp(ahead)) ** 2
        return float(
            likelihood + np.linalg.slogdet((model.contrasts.T * known) @ model.contrasts)[1] / 2
        )

    found = model.fit()
    for direction in np.eye(3):
        for step in (-1e-3, 1e-3):
            assert penalised(found + step * direction) < penalised(found)


def test_ratings_of_many_players_with_few_games_are_hardly_biased() -> None:
    rng = np.random.default_rng(3)
    truth = np.array([0, 200, 500])
    found = np.zeros(3)
    for _ in range(150):
        all_counts = []
        for one, other in (0, 1), (0, 2), (1, 2):
            won = rng.binomial(12, expected_score(truth[one] - truth[other]))
            all_counts.append(PairCounts(str(one), str(other), int(won), 0, 12 - int(won)))
        found += rate(all_counts).elo / 150
    assert found == pytest.approx(truth, abs=25)


def counted(first: str, second: str, score: Score) -> PairCounts:
    return PairCounts(first, second, score.wins, score.draws, score.losses, score.ptnml)


def counts_of(first: str, second: str, *ptnml: int) -> PairCounts:
    points = np.repeat([[0, 0], [0, 0.5], [0.5, 0.5], [0.5, 1], [1, 1]], ptnml, axis=0)
    return counted(first, second, Score.of(points.ravel()))


def test_two_players_are_rated_as_their_match_says() -> None:
    ptnml = (34, 54, 63, 64, 75)
    counts = counts_of("new", "old", *ptnml)
    found = rate([counts], anchor="old")
    assert found.elo[0] == pytest.approx(55.58, abs=0.1)  # as fastchess says: test_score.py
    width = found.rating("new").high - found.elo[0]
    assert width == pytest.approx(27.65, rel=0.01)
    assert found.players == ("new", "old")
    assert found.games.tolist() == [580, 580]
    assert found.scores.sum() == pytest.approx(1)


def test_correlation_within_pairs_counts() -> None:
    # the same 100 games: alone, in pairs where colours decide, in pairs where openings do not
    alone = rate([PairCounts("a", "b", 50, 0, 50)])
    opposed = rate([PairCounts("a", "b", 50, 0, 50, (0, 0, 50, 0, 0))])
    alike = rate([PairCounts("a", "b", 50, 0, 50, (25, 0, 0, 0, 25))])
    assert alone.elo[1] == opposed.elo[1] == alike.elo[1] == 0.0
    error = alone.rating("b").error
    assert error == pytest.approx(400 / np.log(10) * sqrt(4 / 100), rel=0.02)
    assert alike.rating("b").error == pytest.approx(sqrt(2) * error, rel=0.05)
    assert opposed.rating("b").error < 0.3 * error


def test_draws_narrow_the_errors() -> None:
    decided, drawn = (rate([PairCounts("a", "b", n, 100 - 2 * n, n)]) for n in (50, 5))
    assert drawn.rating("b").error < 0.4 * decided.rating("b").error


def test_who_lost_everything_has_a_rating() -> None:
    found = rate([PairCounts("best", "random", 200, 0, 0, (0, 0, 0, 0, 100))])
    assert found.anchor == "random"
    assert found.elo[0] == pytest.approx(400 * log10(200.5 / 0.5), abs=0.1)
    low = found.rating("best").low
    # 200 independent games all won: Wilson's bound is 200 / 203.84, 687 Elo
    assert 400 < low < 700
    assert found.draws_at_equality == 0


def test_ratings_of_many() -> None:
    all_counts = [
        counts_of("net", "greedy", 2, 5, 20, 30, 43),
        counts_of("greedy", "random", 0, 5, 10, 30, 55),
        counts_of("random", "slow", 10, 20, 40, 20, 10),
    ]
    found = rate(all_counts)
    assert (found.anchor, found.elo[2]) == ("random", 0.0)
    assert found.elo[0] > found.elo[1] > 100
    # errors add up along a chain: what one match says is independent of the others
    above = found.difference("net", "greedy")
    near, far = found.rating("greedy").error, found.rating("net").error
    assert far == pytest.approx(sqrt(near**2 + above.error**2))
    assert above.los > 0.99
    assert above.los + found.difference("greedy", "net").los == pytest.approx(1)
    told = json.loads(json.dumps(found.to_dict()))
    assert told["anchor"] == {"player": "random", "elo": 0.0}
    assert told["ratings"][0]["player"] == "net"
    assert (
        told["ratings"][0]["elo_low"] < told["ratings"][0]["elo"] < told["ratings"][0]["elo_high"]
    )
    assert found.covariance[0, 0] == pytest.approx(told["ratings"][0]["standard_error"] ** 2, 0.01)


def test_neither_anchor_nor_order_nor_sides_matter() -> None:
    all_counts = random_meetings(9, 5)
    found = rate(all_counts)
    other = rate([one.exchanged() for one in reversed(all_counts)], anchor="p3")
    assert other.elo[other.players.index("p3")] == 0
    for pair in combinations(found.players, 2):
        one, again = found.difference(*pair), other.difference(*pair)
        assert (one.elo, one.error) == pytest.approx((again.elo, again.error), abs=1e-3)


def test_pieces_of_a_match_are_the_match() -> None:
    whole = rate([counts_of("a", "b", 2, 4, 10, 6, 8)])
    pieces = rate([counts_of("a", "b", 2, 4, 0, 0, 0), counts_of("b", "a", 8, 6, 10, 0, 0)])
    assert np.array_equal(whole.elo, pieces.elo)
    assert np.array_equal(whole.covariance, pieces.covariance)


def test_the_share_of_draws_is_found_again() -> None:
    scores = np.array([0.5, 0.6, 0.8, 0.95])
    for share in (0.05, 0.5, 0.9):
        drawn = draw_shares(scores, share)
        assert drawn[0] == pytest.approx(share)
        assert (np.diff(drawn) < 0).all()
        assert (drawn / 2 < 1 - scores).all()
        assert draw_shares(1 - scores, share) == pytest.approx(drawn)
        wins, losses = scores - drawn / 2, 1 - scores - drawn / 2
        # Davidson's form: draws by the geometric mean of wins and losses, the same for all
        assert drawn / np.sqrt(wins * losses) == pytest.approx(2 * share / (1 - share))
        games = (1e6 * np.stack([wins, drawn, losses], axis=1)).round().astype(np.int64)
        assert fit_draws(scores, games) == pytest.approx(share, abs=1e-3)
    # nine draws, and the one decided game that is always added
    assert fit_draws(scores[:1], np.array([[0, 9, 0]])) == pytest.approx(0.9, abs=1e-3)


@pytest.mark.parametrize(
    ("all_counts", "says"),
    [
        ([], "no games"),
        ([PairCounts("a", "b", 0, 0, 0)], "no games"),
        ([PairCounts("a", "b", 1, 0, 1), PairCounts("c", "d", 1, 0, 0)], "connect c, d with a"),
    ],
)
def test_what_cannot_be_rated(all_counts: list[PairCounts], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        PairResults.of(all_counts)


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        (("a", "a", 1, 0, 0), "against itself"),
        (("a", "b", -1, 2, 0), "greater than or equal to 0"),
        (("a", "b", 1, 0, 1, (0, 0, 0, 0, 1)), "not those of 2 games"),
        (("a", "b", 1, 0, 1, (0, 1)), "at least 5 items"),
    ],
)
def test_counts_that_cannot_be(counts: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        PairCounts(*counts)


def test_an_anchor_has_to_have_played() -> None:
    with pytest.raises(ConfigError, match="'c' has no games: choose a, b"):
        rate([PairCounts("a", "b", 1, 0, 1)], anchor="c")


def test_draws_alone_leave_an_error() -> None:
    drawn = Score.of(np.full(10, 0.5))
    ratings = rate([counted("one", "other", drawn)], anchor="one")
    assert ratings.draws_at_equality < 1
    assert 10 < ratings.rating("other").error < 100


@pytest.mark.parametrize("seed", range(20))
def test_strengths_are_the_likeliest_that_scipy_finds(seed: int) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    model = BradleyTerry(PairResults.of(random_meetings(seed, 2 + seed % 7)), 0)
    strengths = model.fit()
    found = optimize.minimize(
        model._cost, np.zeros_like(strengths), jac=model._gradient, hess=model._curvature,
        method="trust-exact", options={"gtol": 1e-6},
    )  # fmt: skip
    assert model._cost(strengths) <= found.fun + 1e-9 * abs(found.fun)
    assert strengths == pytest.approx(found.x, abs=1e-3)


def test_players_who_are_far_apart_are_rated() -> None:
    """Steps of Newton's method that only go on lead to where the curvature has no digit left."""
    played = [
        (0, 1, 10_000, 0, 0), (0, 4, 0, 0, 10_000), (0, 6, 10_000, 0, 0), (1, 2, 10_000, 0, 0),
        (1, 4, 0, 0, 100), (1, 5, 10_000, 0, 0), (2, 3, 4478, 2354, 3168), (2, 6, 0, 0, 10),
        (3, 4, 0, 0, 10_000), (3, 6, 19_081, 1997, 978_922), (4, 5, 2, 0, 0), (4, 7, 10, 0, 0),
        (5, 6, 0, 0, 2), (6, 7, 0, 0, 2),
    ]  # fmt: skip
    counts = [PairCounts(f"p{one}", f"p{other}", *games) for one, other, *games in played]
    elos = {one["player"]: one["elo"] for one in rate(counts, "p0").to_dict()["ratings"]}
    assert elos["p4"] > elos["p0"] > elos["p1"] > elos["p2"]
    assert elos["p6"] > elos["p3"]
    assert np.isfinite(list(elos.values())).all()
