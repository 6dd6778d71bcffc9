"""The layout of samples."""

import numpy as np
import pytest

from vecchess.train.data.samples import row_bytes, samples_in


@pytest.mark.parametrize("num_planes", [25, 37, 109])
def test_rows_share_one_buffer(num_planes: int) -> None:
    buffer = np.zeros(3 * row_bytes(num_planes), np.uint8)
    rows = samples_in(buffer, 3, num_planes)
    assert rows.planes.shape == (3, num_planes)
    for name, column in rows._asdict().items():
        assert column.flags["ALIGNED"], name
        column[...] = 1
    assert sum(column.nbytes for column in rows) == 3 * row_bytes(num_planes)
    assert rows.map(lambda column: column[:2]).legal.shape == (2, 218)
