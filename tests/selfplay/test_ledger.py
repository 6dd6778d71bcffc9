from pathlib import Path

import pytest

from tests.store.test_shards import shard
from vecchess.errors import DataError
from vecchess.selfplay.ledger import Ledger
from vecchess.selfplay.numbers import NumberPool, ranges_of
from vecchess.store.manifest import SET_ASIDE_SUFFIX, Manifest


def test_numbers_come_in_ranges_and_leave_once() -> None:
    pool = NumberPool()
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
    ledger = Ledger(Manifest(tmp_path), 10)
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
    ledger = Ledger(Manifest(tmp_path), 10)
    ledger.hand_out(0, 2)
    ledger.hand_out(1, 2)
    with pytest.raises(DataError, match="not hold the games"):
        ledger.record(0, shard(tmp_path, "0000-000-0.npz", [0, 2]))
    ledger.record(0, shard(tmp_path, "0000-000-1.npz", [0]))
    with pytest.raises(DataError, match="not hold the games"):
        ledger.record(0, shard(tmp_path, "0000-000-2.npz", [0]))


def test_an_unreported_shard_of_a_dead_worker_counts(tmp_path: Path) -> None:
    ledger = Ledger(Manifest(tmp_path), 4)
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
    ledger = Ledger(Manifest(tmp_path), 5)
    assert ledger.num_recorded == 3
    assert ledger.hand_out(0, 9) == [(3, 5)]
    aside = sorted(path.name for path in tmp_path.glob(f"*{SET_ASIDE_SUFFIX}"))
    assert [name[:10] for name in aside] == ["0000-001-1", "0000-001-2"]


def test_a_lower_target_than_before_is_complete(tmp_path: Path) -> None:
    Manifest(tmp_path).append(shard(tmp_path, "0000-000-0.npz", [0, 1, 7]))
    assert Ledger(Manifest(tmp_path), 2).is_complete
