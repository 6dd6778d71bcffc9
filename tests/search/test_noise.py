import math

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.kernels import exposed
from tests.search.exact_numbers import gamma_number, gumbel_number, log_of
from vecchess.rng import random_word
from vecchess.search.kernels import noise
from vecchess.search.kernels.noise import DRAWS

search_counter = exposed(noise.search_counter)

SEED, NUMBER, COUNT = 5, 77, 20_000
ALPHAS = [0.05, 0.3, 1.0, 2.5, 10.83]


def gumbels() -> NDArray[np.float64]:
    return np.array([gumbel_number(SEED, NUMBER, counter) for counter in range(COUNT)])


def gammas(alpha: float) -> NDArray[np.float64]:
    return np.array([gamma_number(alpha, SEED, NUMBER, DRAWS * i) for i in range(COUNT)])


def distance(sample: NDArray[np.float64], below: NDArray[np.float64]) -> float:
    """Kolmogorov and Smirnov's, times the root of the sample's size; ``below`` is the true
    distribution function at the sorted sample."""
    ranks = np.arange(len(sample) + 1) / len(sample)
    apart = max(np.abs(below - ranks[1:]).max(), np.abs(below - ranks[:-1]).max())
    return float(apart * math.sqrt(len(sample)))


def gamma_below(alpha: float, x: float) -> float:
    """The regularised lower incomplete gamma function by its power series."""
    if x == 0.0:
        return 0.0
    term = math.exp(alpha * math.log(x) - x - math.lgamma(alpha + 1.0))
    total, n = term, 0
    while term > 1e-16 * total:
        n += 1
        term *= x / (alpha + n)
        total += term
    return total


def test_gumbel_numbers_follow_their_distribution() -> None:
    """1.95 is exceeded by chance once in 1,000 seeds; this seed is fixed."""
    sample = np.sort(gumbels())
    assert distance(sample, np.exp(-np.exp(-sample))) < 1.95
    assert sample.mean() == pytest.approx(np.euler_gamma, abs=0.03)
    assert sample.var() == pytest.approx(math.pi**2 / 6, rel=0.04)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_gamma_numbers_follow_their_distribution(alpha: float) -> None:
    sample = np.sort(gammas(alpha))
    below = np.array([gamma_below(alpha, x) for x in sample.tolist()])
    assert distance(sample, below) < 1.95
    assert sample.mean() == pytest.approx(alpha, abs=4 * math.sqrt(alpha / COUNT))
    assert sample.var() == pytest.approx(alpha, rel=0.15)


def test_gumbel_is_what_the_formula_says() -> None:
    for counter in range(100):
        u = ((random_word(SEED, NUMBER, counter) >> 12) + 0.5) * 2.0**-52
        assert gumbel_number(SEED, NUMBER, counter) == -log_of(-log_of(u))


def test_gamma_of_small_shapes_may_be_zero_and_no_more() -> None:
    tiny = gammas(1e-4)
    assert (tiny >= 0.0).all()
    assert (tiny == 0.0).any()
    assert np.isfinite(tiny).all()


def test_actions_and_plies_have_counters_of_their_own() -> None:
    first = int(search_counter(3, 5))
    assert first == (1 << 40) | (3 << 24) | (5 << 8)
    assert int(search_counter(3, 6)) == first + DRAWS
    assert int(search_counter(4, 0)) > int(search_counter(3, 4671)) + DRAWS


def test_fingerprint() -> None:
    """The same on every machine; other bits would mean other games from the same seed."""
    counter = int(search_counter(17, 1234))
    assert [gumbel_number(seed, 9, counter).hex() for seed in (1, 2, 3)] == GUMBELS
    assert [gamma_number(alpha, 1, 9, counter).hex() for alpha in ALPHAS] == GAMMAS


GUMBELS = [
    "-0x1.911ad0eb53682p-5",
    "0x1.c81c9f2a4a65dp+0",
    "0x1.29bbd9ec58178p-1",
]
GAMMAS = [
    "0x1.cd62fb3429413p-31",
    "0x1.5dd6899432269p-5",
    "0x1.0c877b9942f97p+0",
    "0x1.679df4fb55de9p+1",
    "0x1.7b0962a03da18p+3",
]
