"""Games wait while the disk is full, and none is lost."""

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.store.games import made_up
from vecchess.config import SelfplayConfig
from vecchess.errors import DataError, DiskFull
from vecchess.runtime.atomic_write import append_line, write_atomically
from vecchess.runtime.devices import CPU, share_out
from vecchess.selfplay.supervisor import pending_shards as backlogs
from vecchess.selfplay.supervisor import worker_pool as crews
from vecchess.selfplay.supervisor.assignment import WorkAssigner
from vecchess.selfplay.supervisor.game_ledger import GameLedger
from vecchess.selfplay.supervisor.pending_shards import PendingShards
from vecchess.selfplay.worker import shard_writer as writers
from vecchess.selfplay.worker.shard_writer import ShardWriter
from vecchess.selfplay.worker.worker import WorkerPlan
from vecchess.store import manifest as manifests
from vecchess.store import shard as shards
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import write_shard
from vecchess.store.stats import GameStats


class Disk:
    """Writes while there is room."""

    def __init__(self) -> None:
        self.is_full = True
        self.room = 0
        """For so many writes there is room all the same."""

    def writing(self, write: Callable[..., object]) -> Callable[..., object]:
        def maybe(path: Path, *rest: object) -> object:
            self.room -= 1
            if self.is_full and self.room < 0:
                raise DiskFull(f"cannot write {path}: No space left on device")
            return write(path, *rest)

        return maybe


def until(is_true: Callable[[], bool]) -> None:
    while not is_true():
        time.sleep(0.005)


def test_a_writer_waits_for_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, lines, entries = Disk(), list[str](), list[ShardEntry]()
    monkeypatch.setattr(shards, "write_atomically", disk.writing(write_atomically))
    monkeypatch.setattr(writers, "RETRY_S", 0.01)
    writer = ShardWriter(tmp_path, "w", 2, 0.01, entries.append, lines.append)
    writer.put([made_up([0, 1])])
    until(lambda: writer.is_behind)
    writer.put([made_up([2])])
    assert (len(lines), entries) == (1, [])
    assert "No space left" in lines[0]
    disk.is_full = False
    until(lambda: not writer.is_behind)
    writer.close()
    assert "room on the disk again" in lines[1]
    assert sum(entry.stats.games for entry in entries) == 3

    disk.is_full = True
    writer = ShardWriter(tmp_path, "v", 1, 0.01, entries.append, lines.append)
    writer.put([made_up([3])])
    until(lambda: writer.is_behind)
    with pytest.raises(DiskFull):
        writer.close()


def test_shards_are_recorded_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, lines = Disk(), list[str]()
    monkeypatch.setattr(manifests, "append_line", disk.writing(append_line))
    monkeypatch.setattr(backlogs, "RETRY_S", 0.01)
    ledger = GameLedger(Manifest(tmp_path))
    ledger.open([(0, 6)])
    ledger.hand_out(0, 4)
    ledger.hand_out(1, 2)
    backlog = PendingShards(ledger, lines.append)

    def entry(name: str, numbers: list[int]) -> ShardEntry:
        games = made_up(numbers)
        return ShardEntry(name, write_shard(tmp_path / name, games), GameStats.of(games))

    backlog.add(0, entry("a.npz", [0, 1]))
    backlog.add(0, entry("b.npz", [2, 3]))
    backlog.add(1, entry("c.npz", [4]))
    backlog.record()
    assert (backlog.is_empty, ledger.num_recorded, len(lines)) == (False, 0, 1)
    backlog.forget(1)
    disk.is_full = False
    until(lambda: backlog.record() or backlog.is_empty)
    assert (ledger.num_recorded, len(lines)) == (4, 2)
    assert ledger.release(1, "c") == 1  # "c.npz" is found on the disk
    assert ledger.num_recorded == 5
    with pytest.raises(DataError):
        backlog.add(0, entry("e.npz", [99]))


def test_who_dies_while_the_disk_is_full_is_buried_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its shards cannot be recorded before: two of them, and room for one at first."""
    disk, notes = Disk(), list[str]()
    monkeypatch.setattr(manifests, "append_line", disk.writing(append_line))
    monkeypatch.setattr(backlogs, "RETRY_S", 0.0)
    monkeypatch.setattr(crews, "WorkerHandle", DeadWorker)
    monkeypatch.setattr(crews.WorkerPool, "receive", lambda *_, **__: [])
    run = RunFolder(tmp_path / "run")
    run.create()
    foreman = WorkAssigner(SelfplayConfig(), run, [CPU], notes.append)
    foreman.share = share_out(SelfplayConfig(), [CPU], 20)
    foreman.begin("constant", [(0, 20)])
    foreman.set_out()
    dead = foreman.workers[0]
    for number in range(2):
        name = f"{dead.plan.shard_prefix}-{number:06d}.npz"
        write_shard(run.games / name, made_up([2 * number, 2 * number + 1]))
    for _ in range(3):
        foreman.tend()
        assert foreman.workers[0] is dead
    assert ["No space left" in line for line in notes] == [True]
    disk.room = 1
    foreman.tend()
    assert (foreman.workers[0], foreman.ledger.num_recorded) == (dead, 2)
    disk.is_full = False
    foreman.tend()
    assert foreman.workers[0] is not dead
    assert (foreman.ledger.num_recorded, foreman.ledger.stats.games, foreman.restarts) == (4, 4, 1)
    assert len(run.manifest().entries) == 2
    assert "16 unfinished games will be played" in notes[-2]
    assert "there is room on the disk again" in notes[-1]


class DeadWorker:
    """The handle of a worker that has ended already."""

    is_alive = False
    failure = None

    def __init__(self, plan: WorkerPlan) -> None:
        self.plan, self.name = plan, "worker 0"
        self.pipe = SimpleNamespace(receive=lambda: None, send=lambda kind, **values: None)

    def reason_of_death(self) -> str:
        return "killed by SIGKILL"

    def give(self, ranges: list[tuple[int, int]], saved: list[str]) -> None:
        """Nobody plays them."""
