"""Noise at the root of a search: Gumbel and gamma numbers by counter, the same on every machine.

A draw depends on seed, game number and counter (``rng.py``) alone, not on other draws.
Dirichlet noise is gamma numbers divided by their sum.
"""

import math
from typing import Any

import numpy as np

from vecchess.jit import inline, part, paste
from vecchess.rng import random_u64
from vecchess.search.kernels.exact_math import exp, log

DRAWS = 256
"""Counters that belong to one number; the ``k`` of ``search_counter`` runs below it."""
_SEARCH = 1 << 40
_PROPOSAL_DRAWS = 3
_U = np.uint64


@inline
def search_counter(ply: Any, action: Any) -> Any:
    """First counter of an action's noise at a ply, ``uint64``: the next ``DRAWS`` are its own.

    bit 40: a draw of the search     24 .. 39: ply     8 .. 23: action     0 .. 7: k
    """
    return _U(_SEARCH) | (_U(ply) << _U(24)) | (_U(action) << _U(8))


@inline
def draw_uniform(seed: Any, number: Any, counter: Any) -> Any:
    """float64 above 0 and below 1, an odd multiple of 2**-53."""
    return (np.float64(random_u64(seed, number, counter) >> _U(12)) + 0.5) * 2.0**-52


@inline
def draw_gumbel(seed: Any, number: Any, counter: Any) -> Any:
    """A standard Gumbel number, float64; uses one counter."""
    return -log(-log(draw_uniform(seed, number, counter)))


@part
def draw_gamma(alpha: Any, seed: Any, number: Any, counter: Any) -> Any:
    """A gamma number of shape ``alpha`` > 0 and scale 1, float64; uses ``DRAWS`` counters at most.

    Marsaglia and Tsang, A Simple Method for Generating Gamma Variables (2000); shapes below 1 by
    their section 6: gamma(alpha) = gamma(alpha + 1) * u**(1 / alpha), with the first counter's u.
    """
    if alpha >= 1.0:
        return _gamma_from_1(alpha, seed, number, counter)
    exponent = log(draw_uniform(seed, number, counter)) / alpha
    return _gamma_from_1(alpha + 1.0, seed, number, counter) * exp(exponent)


@part
def _gamma_from_1(alpha: Any, seed: Any, number: Any, counter: Any) -> Any:
    """A gamma number of shape ``alpha`` >= 1, from the counters after the first.

    A proposal takes three: two for Marsaglia's polar method (a normal number x), one to accept it
    by. 1 in 4 is refused, so it never happens that all 85 are; the last one would be taken.
    """
    d = alpha - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    value = d
    for k in range(1, DRAWS - _PROPOSAL_DRAWS + 1, _PROPOSAL_DRAWS):
        first = _U(counter) + _U(k)
        a = 2.0 * draw_uniform(seed, number, first) - 1.0
        b = 2.0 * draw_uniform(seed, number, first + _U(1)) - 1.0
        square = a * a + b * b
        if square >= 1.0:
            continue
        x = a * math.sqrt(-2.0 * log(square) / square)
        root = 1.0 + c * x
        if root <= 0.0:
            continue
        cube = root * root * root
        value = d * cube
        if _is_accepted(draw_uniform(seed, number, first + _U(2)), x * x, d, cube):
            break
    return value


@paste
def _is_accepted(u: Any, square: Any, d: Any, cube: Any) -> Any:
    """Section 4 of the paper: a bound without logarithms, which mostly decides, then the test."""
    if u < 1.0 - 0.0331 * square * square:
        return True
    return log(u) < 0.5 * square + d * (1.0 - cube + log(cube))
