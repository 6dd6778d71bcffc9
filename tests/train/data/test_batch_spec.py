"""Positions of a batch: uniform, repeatable, independent of how the batch is split."""

from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from vecchess.train.data.batch_spec import BatchSpec


def drawn(in_epochs: bool, seed: int, step: int, size: int, positions: int, *part: int) -> NDArray:
    """The rows of a batch, or of a part of it: first row, number of rows."""
    return BatchSpec(1, seed, step, size, *part, in_epochs=in_epochs).draw(positions)


@pytest.mark.parametrize("in_epochs", [False, True])
def test_parts_of_a_batch_are_the_batch(in_epochs: bool) -> None:
    sample = partial(drawn, in_epochs)
    whole = sample(7, 3, 64, 1000)
    parts = [sample(7, 3, 64, 1000, first, 16) for first in range(0, 64, 16)]
    assert np.array_equal(whole, np.concatenate(parts))
    assert np.array_equal(whole, sample(7, 3, 64, 1000))
    assert not np.array_equal(whole, sample(8, 3, 64, 1000))
    assert not np.array_equal(whole, sample(7, 4, 64, 1000))
    with pytest.raises(ValueError, match="0 positions"):
        sample(7, 3, 64, 0)


def test_draws_are_uniform() -> None:
    counts = np.bincount(drawn(False, 1, 0, 100_000, 100), minlength=100)
    assert len(counts) == 100
    assert ((counts - 1000) ** 2 / 1000).sum() < 150  # chi-squared with 99 degrees: p < 1e-3


@pytest.mark.parametrize("num_positions", [1, 2, 5, 64, 1000, 4097])
def test_every_position_once_an_epoch(num_positions: int) -> None:
    batch = 48
    steps = -(-3 * num_positions // batch)
    rows = [drawn(True, 5, step, batch, num_positions) for step in range(steps)]
    orders = np.concatenate(rows)[: 3 * num_positions].reshape(3, num_positions)
    assert (np.sort(orders, axis=1) == np.arange(num_positions)).all()
    if num_positions > 10:
        assert not np.array_equal(orders[0], orders[1])
        assert not np.array_equal(orders[0], np.arange(num_positions))


def test_orders_of_epochs_are_random() -> None:
    num = 1000
    orders = np.stack([drawn(True, seed, 0, num, num) for seed in range(200)])
    # where the first position goes, and how often neighbours stay neighbours
    assert len(np.unique(orders[:, 0])) > 150
    assert abs(np.mean(np.abs(np.diff(orders)) == 1) - 2 / num) < 1 / num
    assert abs(orders[:, : num // 2].mean() - (num - 1) / 2) < 5
