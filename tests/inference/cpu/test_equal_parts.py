"""Members of a batch divided into parts for threads."""

import pytest

from vecchess.inference.cpu.backend import LEAST_PART, PARTS_PER_THREAD, equal_parts

GROUP = 32


@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize("count", [0, 1, 3, 33, 48, 96, 97, 1000, 4096])
def test_all_members_once_in_parts_for_all_threads(count: int, threads: int) -> None:
    parts = equal_parts(count, threads, GROUP, LEAST_PART)
    members = [member for part in parts for member in range(part.start, part.stop)]
    assert members == list(range(count))
    sizes = [part.stop - part.start for part in parts]
    assert all(size == sizes[0] and size % LEAST_PART == 0 for size in sizes[:-1])
    assert len(parts) <= PARTS_PER_THREAD * threads


@pytest.mark.parametrize(
    ("count", "sizes"), [(48, [24, 24]), (96, [24] * 4), (65, [20, 20, 20, 5]), (256, [32] * 8)]
)
def test_two_threads_have_as_many_parts(count: int, sizes: list[int]) -> None:
    parts = equal_parts(count, 2, GROUP, LEAST_PART)
    assert [part.stop - part.start for part in parts] == sizes


def test_members_that_must_not_be_parted() -> None:
    assert equal_parts(100, 2, 64, 64) == [slice(0, 64), slice(64, 100)]
