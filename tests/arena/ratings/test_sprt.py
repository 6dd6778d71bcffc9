"""The sequential test: what others compute from the same pairs, and where it ends."""

import json

import numpy as np
import pytest

from vecchess.arena.ratings.sprt import Sprt
from vecchess.errors import ConfigError


# fastchess, app/tests/sprt_test.cpp, "logistic pentanomial"; two digits are given there
@pytest.mark.parametrize(
    ("test", "ptnml", "llr"),
    [
        (Sprt(0.5, 2.5), (223, 9863, 21279, 10037, 246), -3.07),
        (Sprt(0, 2), (871, 26175, 55983, 26678, 821), -4.98),
    ],
)
def test_fastchess_finds_the_same(test: Sprt, ptnml: tuple[int, ...], llr: float) -> None:
    assert test.llr(ptnml) == pytest.approx(llr, abs=0.01)


def test_many_pairs_give_the_normal_approximation() -> None:
    # M. Van den Bergh, https://www.cantate.be/Fishtest/GSPRT_approximation.pdf
    ptnml = (10789, 19328, 33806, 19402, 10543)
    total = sum(ptnml)
    mean = sum(number / 4 * count for number, count in enumerate(ptnml)) / total
    variance = sum((number / 4 - mean) ** 2 * count for number, count in enumerate(ptnml)) / total
    low, high = (1 / (1 + 10 ** (-elo / 400)) for elo in (-3, 1))
    approximate = total * (high - low) * (2 * mean - low - high) / (2 * variance)
    assert Sprt(-3, 1).llr(ptnml) == pytest.approx(approximate, rel=1e-3)


def test_it_ends_where_wald_says() -> None:
    test = Sprt.parse("0,20")
    assert test == Sprt(0, 20, 0.05, 0.05)
    assert test.bounds == (pytest.approx(-2.944, abs=1e-3), pytest.approx(2.944, abs=1e-3))
    states = [test.judge((5, 10, 20, 10, better)).state for better in range(60)]
    assert states == sorted(states, key=["rejected", "undecided", "accepted"].index)
    assert (states[0], states[-1]) == ("undecided", "accepted")
    assert test.judge((40, 10, 20, 10, 5)).state == "rejected"
    assert json.loads(json.dumps(test.judge((5, 10, 20, 10, 5)).to_dict()))["state"] == "undecided"


def test_error_rates_move_the_bounds() -> None:
    low, high = Sprt.parse("-10, 0, 0.01, 0.1").bounds
    assert (low, high) == (pytest.approx(-2.293, abs=1e-3), pytest.approx(4.500, abs=1e-3))


def test_exchanged_players_and_claims_mirror_the_ratio() -> None:
    ptnml = (3, 0, 17, 6, 9)
    assert Sprt(-7, 12).llr(ptnml) == pytest.approx(-Sprt(-12, 7).llr(ptnml[::-1]))


@pytest.mark.parametrize("count", [1, 10**9, 10**15])
@pytest.mark.parametrize("place", range(5))
def test_pairs_of_one_kind_are_no_trouble(place: int, count: int) -> None:
    ptnml = [0] * 5
    ptnml[place] = count
    llr = Sprt(-1000, 1000).llr(ptnml) / count
    # pairs that were all won are as likely as the score is high: 10^2.5 to 1
    expected = {0: -2.5 * np.log(10), 2: 0, 4: 2.5 * np.log(10)}
    if place in expected:
        assert llr == pytest.approx(expected[place], abs=0.02)
    else:
        assert np.sign(llr) == np.sign(place - 2)


def test_nothing_is_known_before_the_first_pair() -> None:
    assert Sprt(0, 5).judge((0, 0, 0, 0, 0)).state == "undecided"
    assert Sprt(0, 5).llr((0, 0, 0, 0, 0)) == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is no test"),
        ("5", "is no test"),
        ("0,5,0.05", "is no test"),
        ("0,five", "is no test"),
        ("0,nan", "is no test"),
        ("5,0", "ELO0 below ELO1"),
        ("5,5", "ELO0 below ELO1"),
        ("0,5000", "from -1000 to 1000"),
        ("0,5,0,0.05", "alpha 0 "),
        ("0,5,0.05,0.5", "beta 0.5 "),
    ],
)
def test_what_is_no_test(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Sprt.parse(text)
