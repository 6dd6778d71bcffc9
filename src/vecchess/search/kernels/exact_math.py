"""Logarithm and exponential in float64, the same to the last bit on every machine.

A C library's ``log`` and ``exp`` differ between versions in the last place, and then so would
games from the same seed. These use exact-rounded operations only: the exponent is split off in
the bits, the rest goes through a Taylor series. Error below 1 unit in the last place; some 5 ns
each.

Decision 38.
"""

from typing import Any

import numpy as np

from vecchess.jit import inline, paste

LOWEST_EXPONENT = -708.0
"""Least argument of ``exp``: below it the result, less than 2**-1021, is 0."""

_U = np.uint64
_BITS = 52  # of the fraction
_EXPONENT_OF_1 = _U(1023 << _BITS)
_SQRT_HALF = _U(0x3FE6A09E667F3BCD)  # bits of sqrt(1/2)
# ln 2 in two parts: the first has 42 bits, so a whole exponent times it is exact
_LN2_HIGH = float.fromhex("0x1.62e42fefa3800p-1")
_LN2_LOW = float.fromhex("0x1.ef35793c76730p-45")
_LOG2_E = 1.4426950408889634
_ROUNDER = 1.5 * 2.0**_BITS  # adding it leaves the nearest integer in the lowest bits


@inline
def log(x: Any) -> Any:
    """Natural logarithm; ``x`` is a float64 of at least 2**-1022. That of 1 is exactly 0.

    x = 2**k (1 + f) with 1 + f in sqrt(1/2) .. sqrt(2); log(1 + f) = 2 atanh(s), s = f / (2 + f),
    with 2s written as f - f^2/2 + s f^2/2, whose first term is exact (as fdlibm's e_log.c does).
    """
    bits = np.float64(x).view(np.uint64)
    whole = np.int64(bits - _SQRT_HALF) >> np.int64(_BITS)
    f = np.uint64(bits - (_U(whole) << _U(_BITS))).view(np.float64) - 1.0
    k = np.float64(whole)
    s = f / (2.0 + f)
    half = 0.5 * f * f
    tail = s * (half + _odd_series(s * s)) + k * _LN2_LOW
    return k * _LN2_HIGH - ((half - tail) - f)


@paste
def _odd_series(z: Any) -> Any:
    """2/3 z + 2/5 z^2 + .. + 2/21 z^10, in pairs that do not wait for each other; z < 0.03."""
    z2 = z * z
    z4 = z2 * z2
    low = (2.0 / 3.0 + 2.0 / 5.0 * z) + (2.0 / 7.0 + 2.0 / 9.0 * z) * z2
    middle = (2.0 / 11.0 + 2.0 / 13.0 * z) + (2.0 / 15.0 + 2.0 / 17.0 * z) * z2
    high = 2.0 / 19.0 + 2.0 / 21.0 * z
    return z * (low + z4 * (middle + z4 * high))


@inline
def exp(x: Any) -> Any:
    """e**x for a float64 of at most 700; 0 below ``LOWEST_EXPONENT``. That of 0 is exactly 1.

    x = k ln 2 + r with |r| <= ln 2 / 2.
    """
    kept = max(np.float64(x), LOWEST_EXPONENT)
    rounded = kept * _LOG2_E + _ROUNDER
    k = rounded - _ROUNDER
    r = (kept - k * _LN2_HIGH) - k * _LN2_LOW
    lowest = np.float64(rounded).view(np.uint64)
    scale = np.uint64((lowest << _U(_BITS)) + _EXPONENT_OF_1).view(np.float64)
    power = (1.0 + (r + r * r * _factorial_series(r))) * scale
    return power if x >= LOWEST_EXPONENT else 0.0


@paste
def _factorial_series(r: Any) -> Any:
    """1/2! + r/3! + r^2/4! + .. + r^11/13!, in pairs that do not wait for each other."""
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 / 2.0 + 1.0 / 6.0 * r) + (1.0 / 24.0 + 1.0 / 120.0 * r) * r2
    middle = (1.0 / 720.0 + 1.0 / 5040.0 * r) + (1.0 / 40320.0 + 1.0 / 362880.0 * r) * r2
    high = (1.0 / 3628800.0 + 1.0 / 39916800.0 * r) + (
        1.0 / 479001600.0 + 1.0 / 6227020800.0 * r
    ) * r2
    return low + r4 * (middle + r4 * high)
