"""The shares of a batch: whole parts, all rows once, more of them to faster ranks."""

import pytest

from vecchess.config import TrainConfig
from vecchess.train.data.batch_spec import (
    UPDATES,
    BatchShares,
    BatchSpec,
    most_parts,
    note_on_idle,
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
def test_the_rows_of_a_part(settings: dict[str, int], rows: int) -> None:
    config = TrainConfig(**settings)  # type: ignore[arg-type]
    assert part_rows(config) == rows
    assert num_parts(config) == -(-config.batch_size // rows)


@pytest.mark.parametrize("num_ranks", [3, 8, 300])
def test_ranks_beyond_the_parts_have_no_rows(num_ranks: int) -> None:
    config = TrainConfig(batch_size=256)
    shares = BatchShares(config, num_ranks)
    assert shares.parts == [1, 1] + [0] * (num_ranks - 2)
    spec = BatchSpec(source_end=1, seed=3, step=2, batch_size=256)
    assert [shares.share_of(rank, spec).rows for rank in range(3)] == [128, 128, 0]
    for _ in range(UPDATES):  # those that have no rows have no time either
        shares.note([5.0, 1.0] + [0.0] * (num_ranks - 2))
    assert shares.parts == [1, 1] + [0] * (num_ranks - 2)


def test_ranks_beyond_the_parts_are_told_of() -> None:
    assert not note_on_idle(TrainConfig(), 2)
    line = note_on_idle(TrainConfig(), 5)
    assert line.startswith("3 of 5 ranks have no part of a batch of 256, which has 2 of 128 rows")
    assert num_parts(TrainConfig(micro_batch=int(line.split("--micro-batch ")[1].split()[0]))) >= 5
    assert "a larger --batch-size gives" in note_on_idle(TrainConfig(batch_size=3), 4)


@pytest.mark.parametrize("num_ranks", [1, 2, 3, 4])
def test_every_row_is_computed_once(num_ranks: int) -> None:
    config = TrainConfig(batch_size=250, micro_batch=60)
    shares = BatchShares(config, num_ranks)
    spec = BatchSpec(source_end=1, seed=3, step=2, batch_size=250)
    found = [shares.share_of(rank, spec) for rank in range(num_ranks)]
    rows = [row for one in found for row in range(one.first_row, one.first_row + one.rows)]
    assert rows == list(range(250))
    assert [one.first_row % part_rows(config) for one in found] == [0] * num_ranks


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
