"""Which positions a step learns from, as a pure function of the seed and the step.

Every row of a batch has a number of its own, so any part of the batch can be drawn by itself: a
rank draws its rows, two halves of a batch are the batch.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.jit import inline, kernel
from vecchess.rng import random_below, random_u64

_STREAM = 0x6472617773
"""Keeps the draws of this file apart from others of the same seed: the word "draws"."""
_U = np.uint64
_ROUNDS = 6
_MOST = 2**31
"""Positions that can be drawn from: random numbers are scaled in 32 bits."""


def draw(
    seed: int, step: int, batch_size: int, num_positions: int,
    first_row: int = 0, num_rows: int | None = None,
) -> NDArray[np.int64]:  # fmt: skip
    """int64[num_rows]: rows ``first_row`` on of the batch of ``step``, drawn with replacement.

    Each row is an index below ``num_positions``, uniformly. Without ``num_rows`` all that are left
    of ``batch_size``. Raises ValueError where there is nothing to draw from.
    """
    rows = _empty_rows(batch_size, num_positions, first_row, num_rows)
    _draw(seed ^ _STREAM, step, first_row, num_positions, rows)
    return rows


def epochs(
    seed: int, step: int, batch_size: int, num_positions: int,
    first_row: int = 0, num_rows: int | None = None,
) -> NDArray[np.int64]:  # fmt: skip
    """int64[num_rows], as ``draw``, but without replacement: slice ``step`` of endless epochs.

    Each epoch is all positions in an order of its own; one follows the other without a gap, so a
    batch may begin in one and end in the next. Raises ValueError as ``draw``.
    """
    rows = _empty_rows(batch_size, num_positions, first_row, num_rows)
    first = step * batch_size + first_row
    _shuffle(seed ^ _STREAM, first, num_positions, _half_bits(num_positions), rows)
    return rows


def _empty_rows(
    batch_size: int, num_positions: int, first_row: int, num_rows: int | None
) -> NDArray[np.int64]:
    if not 0 < num_positions < _MOST:
        raise ValueError(f"cannot draw from {num_positions} positions")
    left = batch_size - first_row
    num_rows = left if num_rows is None else num_rows
    if not 0 <= num_rows <= left:
        raise ValueError(f"rows {first_row} + {num_rows} of a batch of {batch_size}")
    return np.zeros(num_rows, np.int64)


def _half_bits(num_positions: int) -> int:
    """Half the bits of the smallest even number of bits, 2 at least, that can count so many."""
    return max(1, ((num_positions - 1).bit_length() + 1) // 2)


@kernel
def _draw(seed, step, first_row, num_positions, rows):  # type: ignore[no-untyped-def]
    for row in range(len(rows)):
        rows[row] = random_below(seed, step, first_row + row, num_positions)


@kernel
def _shuffle(seed, first, num_positions, half_bits, rows):  # type: ignore[no-untyped-def]
    for row in range(len(rows)):
        epoch, place = divmod(first + row, num_positions)
        rows[row] = _permuted(seed, epoch, place, num_positions, half_bits)


@inline
def _permuted(seed: Any, epoch: Any, place: Any, num_positions: Any, half_bits: Any) -> Any:
    """Where ``place`` goes in the permutation of an epoch, ``int64``.

    A Feistel network permutes the next power of four; what lands outside is permuted again until
    it lands inside (Black and Rogaway 2002, cycle walking). It needs no memory for the order.
    """
    low = (_U(1) << _U(half_bits)) - _U(1)
    word = _U(place)
    while True:
        left, right = word >> _U(half_bits), word & low
        for turn in range(_ROUNDS):
            counter = right | _U(turn) << _U(32)
            left, right = right, left ^ (random_u64(seed, epoch, counter) & low)
        word = left << _U(half_bits) | right
        if word < _U(num_positions):
            return np.int64(word)
