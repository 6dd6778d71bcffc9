"""Sets of game ids against Python's own sets."""

import random

import numpy as np
import pytest

from vecchess.store.id_set import IdSet, Range

pytestmark = pytest.mark.plain


def ranges(ids: set[int]) -> list[Range]:
    """Ascending half-open ranges that hold just these ids, as few as can be."""
    starts = sorted(n for n in ids if n - 1 not in ids)
    return list(zip(starts, sorted(n + 1 for n in ids if n + 1 not in ids), strict=True))


def random_ranges(rng: random.Random) -> list[Range]:
    """Ranges that touch, overlap or are empty."""
    starts = [rng.randrange(60) for _ in range(rng.randrange(12))]
    return [(first, first + rng.randrange(8)) for first in starts]


def members(found: list[Range]) -> set[int]:
    return {n for first, end in found for n in range(first, end)}


@pytest.mark.parametrize("seed", range(50))
def test_it_does_as_pythons_set(seed: int) -> None:
    rng = random.Random(seed)
    one, other = random_ranges(rng), random_ranges(rng)
    a, b = members(one), members(other)
    for found, expected in (
        (IdSet(one), a),
        (IdSet.of(np.array(rng.sample(sorted(a), len(a)), np.int64)), a),
        (IdSet(one) | IdSet(other), a | b),
        (IdSet(one) & IdSet(other), a & b),
        (IdSet(one) - IdSet(other), a - b),
        (IdSet(one).lowest(count := rng.randrange(30)), set(sorted(a)[:count])),
    ):
        assert found.ranges == ranges(expected)
        assert found == IdSet(ranges(expected))
        assert found.ids.tolist() == sorted(expected)
        assert len(found) == len(expected)
        asked = np.arange(80)
        assert found.contains(asked).tolist() == [n in expected for n in asked.tolist()]


def test_an_empty_set_holds_nothing() -> None:
    for empty in (IdSet(), IdSet([(5, 5)]), IdSet.of(np.empty(0, np.int64))):
        assert (empty.ranges, len(empty), empty.ids.tolist()) == ([], 0, [])
        assert not empty.contains(np.array([0, 5])).any()
        assert empty == IdSet()


def test_a_hundred_trillion_ids_are_not_gone_through() -> None:
    far = 10**14
    left = IdSet([(0, far)]) - IdSet([(3, 5), (far - 1, far)])
    assert left.ranges == [(0, 3), (5, far - 1)]
    assert len(left) == far - 3
    assert left.lowest(4).ranges == [(0, 3), (5, 6)]
    assert left.contains(np.array([4, far - 2, far - 1])).tolist() == [False, True, False]
