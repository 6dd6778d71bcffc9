"""Seeded rate coding: each set bit of an input plane spikes at random, anew at each time step.

The pattern depends on the position, the plane and the time step, on nothing else, so a position
has one answer (rate coding without a seed, as hobby code has it, gives ten best moves in twenty
calls). Probabilities are sixteenths: four random words a plane, combined bit by bit.

Decision 15.
"""

import numpy as np
from numpy.typing import NDArray

from vecchess.jit import inline, kernel
from vecchess.rng import random_u64
from vecchess.snn.presets import NetConfig

RATE_BITS = 4
"""A rate is a multiple of 2^-4."""


@inline
def rate_code(planes, t, rate, coded):  # type: ignore[no-untyped-def]
    """``planes: uint64[P]`` of one position at time step ``t`` (0 first) -> ``coded: uint64[P]``.

    rate: sixteenths, 1 to 15.
    """
    key = np.uint64(0)
    for plane in range(planes.shape[0]):
        key = random_u64(key, plane, planes[plane])
    for plane in range(planes.shape[0]):
        mask = np.uint64(0)
        for bit in range(RATE_BITS):  # from the lowest: each halves what is below it
            word = random_u64(key, t, plane * RATE_BITS + bit)
            mask = (mask | word) if (rate >> bit) & 1 else (mask & word)
        coded[plane] = planes[plane] & mask


@kernel
def _rate_code(planes, steps, rate, coded):  # type: ignore[no-untyped-def]
    for b in range(planes.shape[0]):
        rate_code(planes[b], steps[b], rate, coded[b])


def rate_coded(
    planes: NDArray[np.uint64], steps: NDArray[np.integer], rate: int
) -> NDArray[np.uint64]:
    """``planes: uint64[B, P]`` as they spike at time steps ``steps: [B]`` (0 first)."""
    coded = np.empty_like(planes)
    _rate_code(np.ascontiguousarray(planes), steps.astype(np.int64), rate, coded)
    return coded


def coded_steps(planes: NDArray[np.uint64], num_steps: int, rate: int) -> NDArray[np.uint64]:
    """uint64[T, B, P]: ``planes`` (uint64[B, P]) at each of the first T steps."""
    every = np.arange(num_steps)
    return np.stack([rate_coded(planes, np.full(len(planes), t), rate) for t in every])


def coded_input(
    config: NetConfig, planes: NDArray[np.uint64], num_steps: int | None = None
) -> NDArray[np.uint64]:
    """What the network reads of ``planes: uint64[B, P]``: all of them, or of a rate-coded one those
    that spike at each of T steps, its own number by default, uint64[T, B, P]."""
    if not config.is_rate_coded:
        return planes
    return coded_steps(planes, num_steps or config.time_steps, config.input_rate)
