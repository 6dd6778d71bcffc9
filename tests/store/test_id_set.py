"""Sets of numbers and ranges of them, against Python's own sets."""

import random

import numpy as np
import pytest

from vecchess.store.id_set import PAGE, NumberSet, Range, count_of, is_within

pytestmark = pytest.mark.plain


def runs(numbers: set[int]) -> list[Range]:
    """Ascending half-open ranges that hold just these numbers, as few as can be."""
    starts = sorted(n for n in numbers if n - 1 not in numbers)
    return list(zip(starts, sorted(n + 1 for n in numbers if n + 1 not in numbers), strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_what_is_missing_is_what_was_not_put_in(seed: int) -> None:
    rng, numbers, known = random.Random(seed), NumberSet(), set[int]()
    around = [0, PAGE, 2 * PAGE, 5 * PAGE]
    for _ in range(5):
        added = {
            max(0, rng.choice(around) + rng.randrange(-20, 20)) for _ in range(rng.randrange(1, 60))
        }
        assert numbers.has_any(np.array(sorted(added))) == bool(known & added)
        numbers.add(np.array(sorted(added)))
        known |= added
        asked = [(max(0, place - 25), place + 25) for place in around[: rng.randrange(1, 5)]]
        absent = {n for first, end in asked for n in range(first, end)} - known
        rng.shuffle(asked)
        found = numbers.missing(asked)
        assert found == runs(absent)
        assert count_of(found) == len(absent)
        for number in sorted(known)[:5]:
            assert numbers.has_any(np.array([number]))


def test_nothing_is_missing_of_nothing() -> None:
    numbers = NumberSet()
    assert numbers.missing([]) == numbers.missing([(5, 5)]) == []
    assert numbers.missing([(3, 7)]) == [(3, 7)]
    assert not numbers.has_any(np.array([3, PAGE]))
    assert count_of([]) == 0
    long = (PAGE - 1, 3 * PAGE + 1)
    assert numbers.missing([long]) == [long]
    numbers.add(np.arange(*long))
    assert numbers.missing([long]) == []
    assert numbers.missing([(PAGE - 2, PAGE)]) == [(PAGE - 2, PAGE - 1)]


def test_ranges_hold_their_first_and_not_their_end() -> None:
    numbers = np.array([1, 2, 3, 4, 5, 9, 10])
    assert numbers[is_within(numbers, [(2, 4), (9, 10)])].tolist() == [2, 3, 9]
    assert not is_within(numbers, []).any()
    assert is_within(numbers, []).shape == (7,)
