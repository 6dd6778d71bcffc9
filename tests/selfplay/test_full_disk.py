"""Games wait while the disk is full, and none is lost."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.store.games import made_up
from vecchess.errors import DataError, DiskFull
from vecchess.selfplay import backlog as backlogs
from vecchess.selfplay import writer as writers
from vecchess.selfplay.backlog import Backlog
from vecchess.selfplay.ledger import Ledger
from vecchess.selfplay.writer import ShardWriter
from vecchess.store import manifest as manifests
from vecchess.store import shard as shards
from vecchess.store.disk import append_line, write_atomically
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.shard import write_shard
from vecchess.store.stats import GameStats


class Disk:
    """Writes while there is room."""

    def __init__(self) -> None:
        self.is_full = True

    def writing(self, write: Callable[..., object]) -> Callable[..., object]:
        def maybe(path: Path, *rest: object) -> object:
            if self.is_full:
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
    ledger = Ledger(Manifest(tmp_path))
    ledger.open([(0, 6)])
    ledger.hand_out(0, 4)
    ledger.hand_out(1, 2)
    backlog = Backlog(ledger, lines.append)

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
