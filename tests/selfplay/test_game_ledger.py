import errno
import os
from io import BufferedReader
from pathlib import Path

import pytest

from tests.store.games import shard
from vecchess.errors import DataError, FileBusy, FileUnreadable
from vecchess.runtime import retried_read
from vecchess.safe_parse import open_regular
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.supervisor.game_ledger import GameLedger
from vecchess.store import manifest as manifests
from vecchess.store.id_set import IdSet
from vecchess.store.maintenance.rewrite import replace_shards
from vecchess.store.manifest import Manifest
from vecchess.store.shard import SET_ASIDE_SUFFIX


def ledger_of(folder: Path, *target: tuple[int, int]) -> GameLedger:
    ledger = GameLedger(Manifest(folder))
    ledger.open(IdSet(target))
    return ledger


def record(ledger: GameLedger, worker: int, folder: Path, name: str, ids: list[int]) -> None:
    ledger.record(worker, shard(folder, name, ids))


def test_ids_come_in_ranges_and_leave_once() -> None:
    pool = GameIdPool()
    pool.add(IdSet([(0, 3), (10, 12)]))
    assert pool.take(2).tolist() == [0, 1]
    pool.give_back(pool.take(1))
    assert pool.take(2).tolist() == [2, 10]
    assert len(pool) == 1
    assert pool.take(9).tolist() == [11]
    assert pool.take(9).tolist() == []


def test_every_game_is_open_with_a_worker_or_recorded(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, (0, 10))
    assert ledger.assign(0, 4).ranges == [(0, 4)]
    assert ledger.assign(1, 4).ranges == [(4, 8)]
    record(ledger, 0, tmp_path, "0000-000-0.npz", [1, 3])
    assert (ledger.num_open, ledger.num_recorded) == (2, 2)
    assert ledger.release(0, "0000-000") == 2
    assert ledger.assign(1, 9).ranges == [(0, 1), (2, 3), (8, 10)]
    record(ledger, 1, tmp_path, "0001-001-0.npz", [0, 2, 4, 5, 6, 7, 8, 9])
    assert ledger.is_complete
    assert ledger.stats.games == 10


def test_wrong_games_are_dropped_from_the_manifest_as_it_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = ledger_of(tmp_path, (0, 6))
    ledger.assign(0, 6)
    for name, ids in (("a", [0, 1]), ("b", [2, 3]), ("c", [4])):
        record(ledger, 0, tmp_path, f"{name}.npz", ids)
    compact(Manifest(tmp_path), ["a.npz", "c.npz"], tmp_path)
    monkeypatch.setattr(manifests, "_LOCK_WAIT_S", 0.0)
    other = Manifest(tmp_path)
    with other.locked(), pytest.raises(FileBusy):
        ledger.drop(lambda entry: entry.file == "b.npz")
    assert (ledger.num_recorded, (tmp_path / "b.npz").exists()) == (5, True)
    ledger.drop(lambda entry: entry.file == "b.npz")
    assert [entry.file for entry in Manifest(tmp_path).entries] == ["compact-0.npz"]
    assert not (tmp_path / "b.npz").exists()
    assert (ledger.stats.games, ledger.missing.ranges) == (3, [(2, 4), (5, 6)])
    assert ledger.assign(1, 9).ranges == [(2, 4)]


def compact(manifest: Manifest, files: list[str], folder: Path) -> None:
    """Put one shard in the place of some, as ``games compact`` does."""
    old = [entry for entry in manifest.entries if entry.file in files]
    ids = IdSet.union(entry.ids for entry in old).ids.tolist()
    replace_shards(manifest, old, ["compact-0.npz"], lambda: [shard(folder, "compact-0.npz", ids)])


def test_a_worker_cannot_record_what_it_was_not_given(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, (0, 10))
    ledger.assign(0, 2)
    ledger.assign(1, 2)
    with pytest.raises(DataError, match="not hold the games"):
        record(ledger, 0, tmp_path, "0000-000-0.npz", [0, 2])
    record(ledger, 0, tmp_path, "0000-000-1.npz", [0])
    with pytest.raises(DataError, match="not hold the games"):
        record(ledger, 0, tmp_path, "0000-000-2.npz", [0])


def test_an_unreported_shard_of_a_dead_worker_counts(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, (0, 4))
    ledger.assign(0, 4)
    shard(tmp_path, "0000-000-0.npz", [0, 1])
    (tmp_path / ".partial-0000-000-1.npz").write_bytes(b"half")
    (tmp_path / ".partial-0001-001-0.npz").write_bytes(b"another worker is writing this")
    assert ledger.release(0, "0000-000") == 2
    assert ledger.num_recorded == 2
    assert ledger.assign(1, 9).ranges == [(2, 4)]
    assert [path.name for path in tmp_path.glob(".partial*")] == [".partial-0001-001-0.npz"]


def test_a_lost_parents_shards_are_adopted_once(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.append(shard(tmp_path, "0000-000-0.npz", [0, 1]))
    shard(tmp_path, "0000-001-0.npz", [2])
    shard(tmp_path, "0000-001-1.npz", [1, 3])  # game 1 counts already
    (tmp_path / "0000-001-2.npz").write_bytes(b"not a shard")
    ledger = ledger_of(tmp_path, (0, 5))
    assert ledger.num_recorded == 3
    assert ledger.assign(0, 9).ranges == [(3, 5)]
    aside = sorted(path.name for path in tmp_path.glob(f"*{SET_ASIDE_SUFFIX}"))
    assert [name[:10] for name in aside] == ["0000-001-1", "0000-001-2"]


def test_a_lower_target_than_before_is_complete(tmp_path: Path) -> None:
    Manifest(tmp_path).append(shard(tmp_path, "0000-000-0.npz", [0, 1, 7]))
    ledger = ledger_of(tmp_path, (0, 2))
    assert ledger.is_complete
    assert ledger.stats.games == 2


def test_generations_are_counted_one_by_one(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, (0, 2))
    ledger.assign(0, 9)
    record(ledger, 0, tmp_path, "0000-000-0.npz", [0, 1])
    assert ledger.is_complete
    ledger.open(IdSet([(10**9, 10**9 + 3), (5, 6)]))
    assert (len(ledger.target), ledger.num_open, ledger.num_recorded) == (4, 4, 0)
    assert ledger.stats.games == 0
    assert ledger.assign(0, 9).ranges == [(5, 6), (10**9, 10**9 + 3)]
    record(ledger, 0, tmp_path, "0000-000-1.npz", [5, 10**9 + 1])
    assert ledger.stats.games == ledger.num_recorded == 2
    assert ledger.release(0, "0000-000") == 2
    assert ledger.assign(1, 9).ranges == [(10**9, 10**9 + 1), (10**9 + 2, 10**9 + 3)]


def test_a_generation_goes_on_where_a_lost_parent_left_it(tmp_path: Path) -> None:
    before = ledger_of(tmp_path, (100, 104))
    before.assign(0, 9)
    record(before, 0, tmp_path, "0000-000-0.npz", [101, 102])
    shard(tmp_path, "0000-000-1.npz", [103])  # written, not reported
    after = ledger_of(tmp_path, (100, 104))
    assert after.assign(0, 9).ranges == [(100, 101)]
    assert after.stats.games == after.num_recorded == 3
    record(after, 0, tmp_path, "0001-000-0.npz", [100])
    assert after.is_complete


def test_no_generation_begins_while_games_of_another_are_played(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, (0, 2))
    ledger.assign(0, 1)
    with pytest.raises(AssertionError, match="being played"):
        ledger.open(IdSet([(2, 4)]))


@pytest.mark.usefixtures("no_pauses")
def test_a_recorded_shard_that_is_missing_stops_the_run(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, (0, 6))
    ledger.assign(0, 6)
    for name, numbers in (("a", [0, 1]), ("b", [2, 3])):
        record(ledger, 0, tmp_path, f"0000-000-{name}.npz", numbers)
    (tmp_path / "0000-000-a.npz").rename(tmp_path / "elsewhere")
    with pytest.raises(FileUnreadable, match=r"lacks 1 of the shards .*0000-000-a\.npz"):
        GameLedger(Manifest(tmp_path))
    (tmp_path / "elsewhere").rename(tmp_path / "0000-000-a.npz")
    assert ledger_of(tmp_path, (0, 6)).num_recorded == 4


def test_no_recorded_shard_is_opened(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, (0, 6))
    ledger.assign(0, 6)
    record(ledger, 0, tmp_path, "0000-000-a.npz", [0, 1])
    (tmp_path / "0000-000-a.npz").write_bytes(b"it would be refused")
    again = ledger_of(tmp_path, (0, 6))
    assert (again.num_open, again.num_recorded, again.stats.games) == (4, 2, 2)


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO, errno.ESTALE, errno.ENOENT])
def test_a_lost_parents_shard_that_cannot_be_read_now_is_adopted_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Once: it is tried again. For good: the run stops, and nothing is renamed."""
    shard(tmp_path, "0000-000-0.npz", [0, 1])
    left = 10**9

    def open_later(path: Path) -> BufferedReader:
        nonlocal left
        if path.suffix == ".npz" and left > 0:
            left -= 1
            raise OSError(number, os.strerror(number))
        return open_regular(path)

    monkeypatch.setattr(retried_read, "open_regular", open_later)
    with pytest.raises(FileUnreadable, match=r"cannot read .*0000-000-0\.npz"):
        GameLedger(Manifest(tmp_path))
    assert [path.name for path in tmp_path.glob("[!.]*")] == ["0000-000-0.npz"]
    left = 1
    assert ledger_of(tmp_path, (0, 4)).num_recorded == 2
