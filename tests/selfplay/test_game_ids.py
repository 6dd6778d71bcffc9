"""The pool of games to start, against a plain set."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vecchess.selfplay.games.game_ids import NEXT_IDS, GameIdPool
from vecchess.store.id_set import IdSet

RANGES = st.lists(st.tuples(st.integers(0, 400), st.integers(1, 40)), max_size=12)


@given(RANGES, st.lists(st.tuples(st.integers(1, 50), st.integers(0, 50)), max_size=30), RANGES)
def test_ids_are_taken_in_order_and_each_once(
    ranges: list[tuple[int, int]], calls: list[tuple[int, int]], later: list[tuple[int, int]]
) -> None:
    """Of what a mover takes it returns the end, which is taken next."""
    pool, left = GameIdPool(), set[int]()
    for offset, added in ((0, ranges), (1000, later)):
        ids = IdSet((first + offset, first + offset + count) for first, count in added)
        pool.add(ids)
        left |= set(ids.ids.tolist())
        for wanted, kept in calls:
            taken = pool.take(wanted)
            assert taken.dtype == np.int64
            assert taken.tolist() == sorted(left)[:wanted]
            pool.give_back(taken[kept:])
            left -= set(taken[:kept].tolist())
            assert len(pool) == len(left)
    pool.clear()
    assert len(pool) == 0
    assert pool.take(5).tolist() == []


def test_the_work_of_a_call_does_not_grow_with_what_was_taken_before() -> None:
    """Movers return what they did not need at every call, out of order: no pieces are left behind,
    and the ranges are neither copied nor counted."""
    pool, gaps = GameIdPool(), 10_000
    pool.add(IdSet([(0, 1000), *((1000 + 2 * gap, 1001 + 2 * gap) for gap in range(gaps))]))
    edges = pool._edges
    for _ in range(300):
        first, second = pool.take(16), pool.take(16)
        pool.give_back(first[3:])
        pool.give_back(second[4:])
        assert len(pool._next) <= NEXT_IDS + 2 * 16
        assert pool._edges is edges
    assert len(pool) == 1000 + gaps - 300 * 7
