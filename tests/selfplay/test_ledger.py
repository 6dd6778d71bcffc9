from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.games import shard
from vecchess.errors import DataError
from vecchess.selfplay.games.game_ids import GameIdPool, ranges_of
from vecchess.selfplay.supervisor.game_ledger import GameLedger
from vecchess.store.id_set import PAGE, NumberSet
from vecchess.store.manifest import Manifest
from vecchess.store.shard import SET_ASIDE_SUFFIX


def ledger_of(folder: Path, *target: tuple[int, int]) -> GameLedger:
    ledger = GameLedger(Manifest(folder))
    ledger.open(list(target))
    return ledger


def test_numbers_come_in_ranges_and_leave_once() -> None:
    pool = GameIdPool()
    pool.add([(0, 3), (10, 12)])
    assert pool.take(2) == [0, 1]
    assert pool.take(2) == [2, 10]
    assert len(pool) == 1
    assert pool.take(9) == [11]
    assert pool.take(9) == []


def test_ranges() -> None:
    assert ranges_of([0, 1, 2, 5, 7, 8]) == [(0, 3), (5, 6), (7, 9)]
    assert ranges_of([]) == []


def test_every_game_is_open_with_a_worker_or_recorded(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, (0, 10))
    assert ledger.hand_out(0, 4) == [(0, 4)]
    assert ledger.hand_out(1, 4) == [(4, 8)]
    ledger.record(0, shard(tmp_path, "0000-000-0.npz", [1, 3]))
    assert (ledger.num_open, ledger.num_recorded) == (2, 2)
    assert ledger.release(0, "0000-000") == 2
    assert ledger.hand_out(1, 9) == [(0, 1), (2, 3), (8, 10)]
    ledger.record(1, shard(tmp_path, "0001-001-0.npz", [0, 2, 4, 5, 6, 7, 8, 9]))
    assert ledger.is_complete
    assert ledger.stats.games == 10


def test_a_worker_cannot_record_what_it_was_not_given(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, (0, 10))
    ledger.hand_out(0, 2)
    ledger.hand_out(1, 2)
    with pytest.raises(DataError, match="not hold the games"):
        ledger.record(0, shard(tmp_path, "0000-000-0.npz", [0, 2]))
    ledger.record(0, shard(tmp_path, "0000-000-1.npz", [0]))
    with pytest.raises(DataError, match="not hold the games"):
        ledger.record(0, shard(tmp_path, "0000-000-2.npz", [0]))


def test_an_unreported_shard_of_a_dead_worker_counts(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, (0, 4))
    ledger.hand_out(0, 4)
    shard(tmp_path, "0000-000-0.npz", [0, 1])
    (tmp_path / ".partial-0000-000-1.npz").write_bytes(b"half")
    (tmp_path / ".partial-0001-001-0.npz").write_bytes(b"another worker is writing this")
    assert ledger.release(0, "0000-000") == 2
    assert ledger.num_recorded == 2
    assert ledger.hand_out(1, 9) == [(2, 4)]
    assert [path.name for path in tmp_path.glob(".partial*")] == [".partial-0001-001-0.npz"]


def test_a_lost_parents_shards_are_adopted_once(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.append(shard(tmp_path, "0000-000-0.npz", [0, 1]))
    shard(tmp_path, "0000-001-0.npz", [2])
    shard(tmp_path, "0000-001-1.npz", [1, 3])  # game 1 counts already
    (tmp_path / "0000-001-2.npz").write_bytes(b"not a shard")
    ledger = ledger_of(tmp_path, (0, 5))
    assert ledger.num_recorded == 3
    assert ledger.hand_out(0, 9) == [(3, 5)]
    aside = sorted(path.name for path in tmp_path.glob(f"*{SET_ASIDE_SUFFIX}"))
    assert [name[:10] for name in aside] == ["0000-001-1", "0000-001-2"]


def test_a_lower_target_than_before_is_complete(tmp_path: Path) -> None:
    Manifest(tmp_path).append(shard(tmp_path, "0000-000-0.npz", [0, 1, 7]))
    ledger = ledger_of(tmp_path, (0, 2))
    assert ledger.is_complete
    assert ledger.stats.games == 2


def test_a_set_of_numbers_that_lie_far_apart() -> None:
    numbers, far = NumberSet(), 10**9
    numbers.add(np.array([3, 65535, 65536, far], np.int64))
    assert numbers.has_any(np.array([5, far]))
    assert not numbers.has_any(np.array([5, far + 1, 10**12]))
    assert numbers.missing([(0, 5), (65534, 65538), (far, far + 2)]) == [
        (0, 3),
        (4, 5),
        (65534, 65535),
        (65537, 65538),
        (far + 1, far + 2),
    ]
    assert numbers.missing([(60000, 300000)])[-1] == (65537, 300000)


@given(st.sets(st.integers(0, 90)), st.integers(0, 60), st.integers(0, 40))
def test_what_a_set_of_numbers_lacks(members: set[int], first: int, count: int) -> None:
    """Around the border of two pages."""
    base = PAGE - 50
    numbers = NumberSet()
    numbers.add(np.array(sorted(members), np.int64) + base)
    found = numbers.missing([(base + first, base + first + count)])
    listed = [number - base for start, end in found for number in range(start, end)]
    assert listed == [number for number in range(first, first + count) if number not in members]
    assert all(one[1] < other[0] for one, other in pairwise(found))


def test_generations_are_counted_one_by_one(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, (0, 2))
    ledger.hand_out(0, 9)
    ledger.record(0, shard(tmp_path, "0000-000-0.npz", [0, 1]))
    assert ledger.is_complete
    ledger.open([(10**9, 10**9 + 3), (5, 6)])
    assert (ledger.num_target, ledger.num_open, ledger.num_recorded) == (4, 4, 0)
    assert ledger.stats.games == 0
    assert ledger.hand_out(0, 9) == [(5, 6), (10**9, 10**9 + 3)]
    ledger.record(0, shard(tmp_path, "0000-000-1.npz", [5, 10**9 + 1]))
    assert ledger.stats.games == ledger.num_recorded == 2
    assert ledger.release(0, "0000-000") == 2
    assert ledger.hand_out(1, 9) == [(10**9, 10**9 + 1), (10**9 + 2, 10**9 + 3)]


def test_a_generation_goes_on_where_a_lost_parent_left_it(tmp_path: Path) -> None:
    before = ledger_of(tmp_path, (100, 104))
    before.hand_out(0, 9)
    before.record(0, shard(tmp_path, "0000-000-0.npz", [101, 102]))
    shard(tmp_path, "0000-000-1.npz", [103])  # written, not reported
    after = ledger_of(tmp_path, (100, 104))
    assert after.hand_out(0, 9) == [(100, 101)]
    assert after.stats.games == after.num_recorded == 3
    after.record(0, shard(tmp_path, "0001-000-0.npz", [100]))
    assert after.is_complete


def test_no_generation_begins_while_games_of_another_are_played(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, (0, 2))
    ledger.hand_out(0, 1)
    with pytest.raises(AssertionError, match="being played"):
        ledger.open([(2, 4)])


def test_games_of_a_shard_that_cannot_be_read_are_open_again(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, (0, 6))
    ledger.hand_out(0, 6)
    for name, numbers in (("a", [0, 1]), ("b", [2, 3]), ("c", [4, 5])):
        ledger.record(0, shard(tmp_path, f"0000-000-{name}.npz", numbers))
    (tmp_path / "0000-000-a.npz").rename(tmp_path / f"0000-000-a.npz{SET_ASIDE_SUFFIX}")
    (tmp_path / "0000-000-c.npz").write_bytes(b"no shard")
    again = ledger_of(tmp_path, (0, 6))
    assert (again.num_open, again.num_recorded) == (4, 2)
    assert again.hand_out(0, 9) == [(0, 2), (4, 6)]
