"""Exact mathematics and noise of the search kernels, called from Python."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.jit import kernel
from vecchess.search.kernels.exact_math import exp, log
from vecchess.search.kernels.noise import draw_gamma, draw_gumbel

Reals = NDArray[np.float64]


@kernel
def _log_all(values, results):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        results[i] = log(values[i])


@kernel
def _exp_all(values, results):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        results[i] = exp(values[i])


@kernel
def _gumbels(seed, number, counters, results):  # type: ignore[no-untyped-def]
    for i in range(len(counters)):
        results[i] = draw_gumbel(seed, number, counters[i])


@kernel
def _gammas(alpha, seed, number, counters, results):  # type: ignore[no-untyped-def]
    for i in range(len(counters)):
        results[i] = draw_gamma(alpha, seed, number, counters[i])


def log_batch(values: Reals) -> Reals:
    """Natural logarithms of float64[B]."""
    results = np.empty(len(values), np.float64)
    _log_all(values, results)
    return results


def exp_batch(values: Reals) -> Reals:
    """Exponentials of float64[B]."""
    results = np.empty(len(values), np.float64)
    _exp_all(values, results)
    return results


def log_of(x: float) -> float:
    return float(log_batch(np.array([x], np.float64))[0])


def exp_of(x: float) -> float:
    return float(exp_batch(np.array([x], np.float64))[0])


def gumbels(seed: int, number: int, counters: Any) -> Reals:
    """Gumbel numbers of the counters, float64[B]."""
    counters = np.asarray(counters, np.uint64)
    results = np.empty(len(counters), np.float64)
    _gumbels(np.uint64(seed), np.uint64(number), counters, results)
    return results


def gammas(alpha: float, seed: int, number: int, counters: Any) -> Reals:
    """Gamma numbers of shape ``alpha`` of the first counters, float64[B]."""
    counters = np.asarray(counters, np.uint64)
    results = np.empty(len(counters), np.float64)
    _gammas(float(alpha), np.uint64(seed), np.uint64(number), counters, results)
    return results


def gumbel_number(seed: int, number: int, counter: int) -> float:
    return float(gumbels(seed, number, [counter])[0])


def gamma_number(alpha: float, seed: int, number: int, counter: int) -> float:
    return float(gammas(alpha, seed, number, [counter])[0])
