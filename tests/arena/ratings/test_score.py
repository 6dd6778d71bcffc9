"""Points, their interval, and the Elo of both."""

import numpy as np
import pytest
from numpy.typing import NDArray

from vecchess.arena.ratings.score import Score, elo, expected_score

PAIRS = np.array([[0, 0], [0, 0.5], [0.5, 0.5], [0.5, 1], [1, 1]])


def score_of(*ptnml: int) -> Score:
    points: NDArray[np.float64] = np.repeat(PAIRS, ptnml, axis=0)
    return Score.of(points.ravel())


def test_elo() -> None:
    assert elo(0.5) == 0.0
    assert elo(10 / 11) == 400.0
    assert elo(0.0) is elo(1.0) is None
    assert expected_score(400) == pytest.approx(10 / 11)


def test_points_become_a_score() -> None:
    found = Score.of(np.array([1, 1, 1, 0.5, 0.5, 0.5, 0, 1.0]))
    assert (found.wins, found.draws, found.losses) == (4, 3, 1)
    assert found.ptnml == (0, 0, 2, 1, 1)
    assert found.score == 5.5 / 8
    values = found.to_dict()
    assert list(values)[:4] == ["wins", "draws", "losses", "ptnml"]
    assert values["elo_low"] < values["elo"] < values["elo_high"]
    low, high = values["score_interval"]
    assert (elo(low), elo(high)) == pytest.approx((values["elo_low"], values["elo_high"]), abs=0.2)


# what fastchess makes of these pairs, app/tests/elo_test.cpp: Elo, its error, normalised Elo, LOS
@pytest.mark.parametrize(
    ("ptnml", "difference", "error", "normalised", "los"),
    [
        ((34, 54, 63, 64, 75), 55.58, 27.65, 57.94, 1.0),
        ((332, 433, 498, 333, 334), -8.64, 10.33, -9.17, 0.0505),
        ((7895, 8757, 5685, 568, 9999), -21.04, 2.95, -19.01, 0.0),
    ],
)
def test_many_pairs_give_what_fastchess_gives(
    ptnml: tuple[int, ...], difference: float, error: float, normalised: float, los: float
) -> None:
    values = score_of(*ptnml).to_dict()
    assert values["elo"] == pytest.approx(difference, abs=0.06)
    assert (values["elo_high"] - values["elo_low"]) / 2 == pytest.approx(error, rel=0.01)
    assert values["normalised_elo"] == pytest.approx(normalised, abs=0.06)
    assert values["los"] == pytest.approx(los, abs=5e-4)


def test_the_interval_of_pairs_that_are_all_alike_is_as_wide_as_what_was_not_seen_allows() -> None:
    num = 50
    low, high = score_of(0, 0, num, 0, 0).interval
    # so many pairs alike are seen in 2.5 % of all matches where this share of them is won
    won = 1 - 0.025 ** (1 / num)
    assert high - 0.5 == pytest.approx(won / 2, rel=0.1)
    assert low == pytest.approx(1 - high)


def test_who_wins_all_games_is_better_by_at_least_so_much() -> None:
    num = 50
    found = score_of(0, 0, 0, 0, num)
    values = found.to_dict()
    assert found.interval == (pytest.approx(num / (num + 1.96**2)), 1.0)  # Wilson's
    assert values["elo"] is values["elo_high"] is values["normalised_elo"] is None
    assert values["elo_low"] == pytest.approx(400 * np.log10(num / 1.96**2), abs=0.1)
    lost = score_of(num, 0, 0, 0, 0)
    assert lost.interval == (0.0, pytest.approx(1 - found.interval[0]))
    assert lost.to_dict()["elo_high"] == -values["elo_low"]
    assert found.los > 0.9999 > 0.0001 > lost.los


def test_draws_narrow_the_interval() -> None:
    decided, drawn = score_of(25, 0, 50, 0, 25), score_of(0, 25, 50, 25, 0)
    assert decided.score == drawn.score == 0.5
    low, high = (np.ptp(one.interval) for one in (drawn, decided))
    assert low < 0.6 * high


def test_superiority_and_interval_agree() -> None:
    for better in range(30):
        found = score_of(3, 5, 20, 5, better)
        assert (found.los > 0.975) == (found.interval[0] > 0.5)
