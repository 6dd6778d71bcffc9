import numpy as np
import pytest

from vecchess.arena.score import Score, elo


def test_elo() -> None:
    assert elo(0.5) == 0.0
    assert elo(10 / 11) == 400.0
    assert elo(0.0) is elo(1.0) is None


def test_points_become_a_score() -> None:
    found = Score.of(np.array([1, 1, 1, 0.5, 0.5, 0.5, 0, 1.0]))
    assert (found.wins, found.draws, found.losses) == (4, 3, 1)
    assert found.pairs == (0, 0, 2, 1, 1)
    assert found.score == 5.5 / 8
    # pairs of 2, 1.5, 1, 1 points: variance 0.171875, a game's share of it a quarter, of 4 pairs
    assert found.interval[1] - found.score == pytest.approx(1.96 * (0.171875 / 16) ** 0.5)
    values = found.to_dict()
    assert values["elo_interval"][0] < values["elo"] < values["elo_interval"][1]


def test_pairs_that_are_all_alike_have_an_interval_of_no_width() -> None:
    even = Score.of(np.array([1, 0, 0, 1, 0.5, 0.5]))
    assert even.interval == (0.5, 0.5)
    assert even.to_dict()["elo_interval"] == [0.0, 0.0]
    assert Score.of(np.ones(4)).to_dict()["elo_interval"] == [None, None]


def test_an_interval_stays_within_what_can_be_scored() -> None:
    assert Score.of(np.array([1, 1, 1, 1, 0.5, 0])).interval[1] == 1.0
