import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.search.exact_numbers import exp_batch, exp_of, log_batch, log_of
from vecchess.search.kernels.exact_math import LOWEST_EXPONENT

LEAST = 2.0**-1022


def ulps(ours: float, exact: Decimal) -> float:
    return float(abs(Decimal(ours) - exact) / Decimal(math.ulp(ours)))


@given(st.floats(LEAST, 1e308) | st.floats(0.5, 2.0) | st.floats(2.0**-53, 1.0))
def test_log_is_within_one_unit_of_the_last_place(x: float) -> None:
    with localcontext(prec=50):
        assert ulps(log_of(x), Decimal(x).ln()) < 1.0


@given(st.floats(LOWEST_EXPONENT, 700.0) | st.floats(-2.0, 2.0) | st.floats(-50.0, 0.0))
def test_exp_is_within_one_unit_of_the_last_place(x: float) -> None:
    with localcontext(prec=50):
        assert ulps(exp_of(x), Decimal(x).exp()) < 1.0


def test_many_values_against_the_c_library() -> None:
    rng = np.random.default_rng(1)
    near_one = 1.0 + rng.normal(0.0, 1e-6, 10_000)
    positive = np.concatenate([2.0 ** rng.uniform(-1022, 1023, 20_000), near_one])
    expected = np.array([math.log(x) for x in positive])
    assert (np.abs(log_batch(positive) - expected) <= np.spacing(np.abs(expected))).all()
    exponents = np.concatenate([rng.uniform(LOWEST_EXPONENT, 700, 20_000), near_one - 1.0])
    expected = np.array([math.exp(x) for x in exponents])
    assert (np.abs(exp_batch(exponents) - expected) <= np.spacing(expected)).all()


def test_exact_where_it_has_to_be() -> None:
    assert log_of(1.0) == 0.0
    assert exp_of(0.0) == exp_of(-0.0) == 1.0


@pytest.mark.parametrize("x", [math.nextafter(LOWEST_EXPONENT, -math.inf), -1e300, -math.inf])
def test_exp_far_below_is_zero(x: float) -> None:
    assert exp_of(x) == 0.0


@given(st.floats(LEAST, 1e308))
def test_log_never_falls(x: float) -> None:
    assert log_of(math.nextafter(x, math.inf)) >= log_of(x)


def test_fingerprint() -> None:
    """The same on every machine; other bits would mean other games from the same seed."""
    points = np.array([1e-9, 0.1, 0.7071067811865475, 0.9999999999999999, 1.5, 3.0, 1e6])
    assert [x.hex() for x in log_batch(points).tolist()] == LOGARITHMS
    assert [x.hex() for x in exp_batch(-points).tolist()] == EXPONENTIALS


LOGARITHMS = [
    "-0x1.4b927f32bffb8p+4",
    "-0x1.26bb1bbb55515p+1",
    "-0x1.62e42fefa39f1p-2",
    "-0x1.0000000000000p-53",
    "0x1.9f323ecbf984cp-2",
    "0x1.193ea7aad030ap+0",
    "0x1.ba18a998fffa0p+3",
]
EXPONENTIALS = [
    "0x1.fffffff768fa1p-1",
    "0x1.cf46d99d52b3ap-1",
    "0x1.f8e6ffc0e5731p-2",
    "0x1.78b56362cef38p-2",
    "0x1.c8f87724b5c1dp-3",
    "0x1.97db0ccceb0afp-5",
    "0x0.0p+0",
]
