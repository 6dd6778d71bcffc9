"""Where rows of different lengths begin."""

import numpy as np
import pytest
from numpy.typing import ArrayLike

from vecchess.ragged import offsets_of


@pytest.mark.parametrize(
    ("counts", "offsets"),
    [
        ([], [0]),
        ([3, 0, 2], [0, 3, 3, 5]),
        (np.array([200, 100], np.uint8), [0, 200, 300]),
        (np.array([2**40, 1], np.uint64), [0, 2**40, 2**40 + 1]),
    ],
)
def test_offsets_are_sums_in_int64(counts: ArrayLike, offsets: list[int]) -> None:
    found = offsets_of(counts)
    assert found.dtype == np.int64
    assert found.tolist() == offsets
