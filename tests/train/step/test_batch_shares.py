"""The shares of a batch: whole parts, all rows once, more of them to faster ranks."""

import pytest

from vecchess.config import TrainConfig
from vecchess.train.data.batch_spec import (
    UPDATES,
    BatchShares,
    BatchSpec,
    most_parts,
    num_parts,
    part_rows,
)


@pytest.mark.parametrize(
    ("settings", "rows"),
    [
        ({}, 128),
        ({"batch_size": 30}, 8),
        ({"batch_size": 128}, 32),
        ({"batch_size": 1800}, 225),
        ({"batch_size": 8192}, 256),
        ({"batch_size": 32768, "micro_batch": 512}, 512),
        ({"batch_size": 16, "micro_batch": 512}, 16),
    ],
)
def test_parts_do_not_depend_on_few_ranks(settings: dict[str, int], rows: int) -> None:
    config = TrainConfig(**settings)  # type: ignore[arg-type]
    assert [part_rows(config, num_ranks) for num_ranks in (1, 2)] == [rows, rows]


@pytest.mark.parametrize("num_ranks", [3, 8, 100, 256])
def test_many_ranks_have_smaller_parts(num_ranks: int) -> None:
    config = TrainConfig(batch_size=256)
    assert num_parts(config, num_ranks) >= num_ranks
    shares = BatchShares(config, num_ranks)
    assert [row for rank in range(num_ranks) for row in shares.rows(rank)] == list(range(256))
    assert all(map(shares.rows, range(num_ranks)))


@pytest.mark.parametrize("num_ranks", [1, 2, 3, 4])
def test_every_row_is_computed_once(num_ranks: int) -> None:
    config = TrainConfig(batch_size=250, micro_batch=60)
    shares = BatchShares(config, num_ranks)
    spec = BatchSpec(source_end=1, seed=3, step=2, batch_size=250)
    found = [shares.share_of(rank, spec) for rank in range(num_ranks)]
    rows = [row for one in found for row in range(one.first_row, one.first_row + one.rows)]
    assert rows == list(range(250))
    assert [one.first_row % part_rows(config, num_ranks) for one in found] == [0] * num_ranks


@pytest.mark.parametrize(
    ("times", "parts"),
    [
        ([1, 1], [8, 8]),
        ([1, 3], [12, 4]),
        ([3, 1], [4, 12]),
        ([1, 100], [15, 1]),
        ([1, 1, 1, 3], [5, 5, 5, 1]),
        ([2, 1, 2, 1], [3, 6, 2, 5]),
        ([1, 90, 90, 90], [8, 3, 3, 2]),
    ],
)
def test_shares_follow_the_speeds(times: list[float], parts: list[int]) -> None:
    """No rank has more than twice its even share: there is memory for no more."""
    config = TrainConfig(batch_size=1024, micro_batch=64)
    shares = BatchShares(config, len(times))
    for update in range(UPDATES):
        assert len(set(shares.parts)) == 1
        shares.note([1e3 if update == 5 else time for time in times])  # one that was held up
    assert shares.parts == parts
    assert max(parts) <= most_parts(config, len(times))


def test_a_time_that_is_not_known_yet_counts_for_nothing() -> None:
    shares = BatchShares(TrainConfig(micro_batch=64), 2)
    for times in [[0.0, 0.0], [1.0, 0.0], *[[1.0, 3.0]] * UPDATES]:
        assert shares.parts == [2, 2]
        shares.note(times)
    assert shares.parts == [3, 1]
