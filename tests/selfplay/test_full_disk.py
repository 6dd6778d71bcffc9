"""Games wait while the disk is full, and none is lost."""

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.store.games import made_up
from vecchess.chess.chess960 import start_positions
from vecchess.chess.rules import Termination
from vecchess.config import GameConfig, SelfplayConfig, TreeConfig
from vecchess.errors import DataError, DiskFull, VecchessError
from vecchess.runtime import write_retry
from vecchess.runtime.atomic_write import append_line, write_atomically
from vecchess.runtime.devices import CPU, share_out
from vecchess.selfplay.games.finished_games import FinishedGames, LoggedGames
from vecchess.selfplay.games.game_table import make_rules
from vecchess.selfplay.supervisor import worker_pool
from vecchess.selfplay.supervisor.work_assigner import WorkAssigner
from vecchess.selfplay.worker.shard_writer import ShardWriter
from vecchess.selfplay.worker.worker import WorkerPlan
from vecchess.store import manifest as manifests
from vecchess.store import run_folder
from vecchess.store.blocks import Blocks
from vecchess.store.id_set import IdSet
from vecchess.store.manifest import ShardEntry
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import write_shard


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


def finished(*ids: int) -> list[FinishedGames]:
    """Games with these ids, one ply each."""
    made = LoggedGames.with_room(len(ids), len(ids))
    made.plies[:], made.number[:] = 1, ids
    made.termination[:] = Termination.CHECKMATE
    rules = make_rules(GameConfig(), TreeConfig(), 1, start_positions(1), 1.0, 1.0, 4)
    return [FinishedGames(made, rules, "net", {})]


def test_a_writer_waits_for_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, lines, entries = Disk(), list[str](), list[ShardEntry]()
    run = RunFolder(tmp_path / "run")
    run.create()
    monkeypatch.setattr(run_folder, "write_atomically", disk.writing(write_atomically))
    monkeypatch.setattr(write_retry, "RETRY_S", 0.01)

    def writer_of(prefix: str, num_games: int) -> ShardWriter:
        return ShardWriter(run, prefix, num_games, 0.01, entries.append, lines.append)

    writer = writer_of("w", 2)
    writer.put(finished(0, 1))
    until(lambda: writer.is_behind)
    writer.put(finished(2))
    assert (len(lines), entries) == (1, [])
    assert "No space left" in lines[0]
    assert "2 finished games wait for room" in lines[0]
    disk.is_full = False
    until(lambda: not writer.is_behind)
    writer.close()
    assert lines[1] == "writing works again: the games go on"
    assert sum(entry.stats.games for entry in entries) == 3

    disk.is_full = True
    writer = writer_of("v", 1)
    writer.put(finished(3))
    until(lambda: writer.is_behind)
    with pytest.raises(DiskFull):
        writer.close()


@pytest.mark.parametrize(("room", "waiting"), [(0, 5), (1, 3)])
def test_a_writer_of_blocks_says_how_many_games_wait(
    room: int, waiting: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two whole blocks, of which so many find room, and a game of a third."""
    disk, lines, entries = Disk(), list[str](), list[ShardEntry]()
    disk.room = room
    run = RunFolder(tmp_path / "run")
    run.create()
    monkeypatch.setattr(run_folder, "write_atomically", disk.writing(write_atomically))
    monkeypatch.setattr(write_retry, "RETRY_S", 0.01)
    writer = ShardWriter(run, "w", 2, 0.01, entries.append, lines.append)
    writer.blocks = Blocks(0, 6, 2)
    writer.put(finished(0, 2, 4, 3, 1))
    until(lambda: writer.is_behind)
    assert f"{waiting} finished games wait for room" in lines[0]
    disk.is_full = False
    until(lambda: not writer.is_behind)
    writer.close()
    assert [entry.ids for entry in entries] == [IdSet([(0, 2)]), IdSet([(2, 4)])]


@pytest.fixture
def assigner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WorkAssigner:
    """Of 20 games, which its one worker has; lines for people are in ``notes_of``."""
    monkeypatch.setattr(worker_pool, "WorkerProcess", DeadWorker)
    monkeypatch.setattr(worker_pool.WorkerPool, "receive", lambda *_, **__: [])
    run = RunFolder(tmp_path / "run")
    run.create()
    made = WorkAssigner(SelfplayConfig(), run, [CPU], LINES.append)
    made.share = share_out(SelfplayConfig(), [CPU], 20)
    made.begin_generation("constant", IdSet([(0, 20)]))
    made.start_workers()
    LINES.clear()
    return made


LINES = list[str]()


def report_shard(assigner: WorkAssigner, name: str, ids: list[int]) -> None:
    """A worker's message about a shard that it has written."""
    worker: Any = assigner.pool.workers[0]
    path, games = worker.plan.run.games / f"{worker.plan.shard_prefix}-{name}", made_up(ids)
    entry = ShardEntry.of(path.name, write_shard(path, games, worker.plan.run_id), games)
    assigner.handle_message(worker, {"kind": "shard", "entry": entry.to_dict()})


def test_shards_are_recorded_when_there_is_room(
    assigner: WorkAssigner, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk()
    monkeypatch.setattr(manifests, "append_line", disk.writing(append_line))
    monkeypatch.setattr(write_retry, "RETRY_S", 0.01)
    monkeypatch.setattr(DeadWorker, "is_alive", True)
    report_shard(assigner, "a.npz", [0, 1])
    report_shard(assigner, "b.npz", [2, 3])
    assigner.poll()
    assert (assigner.num_unrecorded, assigner.ledger.num_recorded, len(LINES)) == (4, 0, 1)
    disk.is_full = False
    until(lambda: assigner.poll() or not assigner.num_unrecorded)
    assert (assigner.ledger.num_recorded, len(LINES)) == (4, 2)
    with pytest.raises(DataError, match="not hold the games"):
        report_shard(assigner, "e.npz", [99])


def test_shards_of_a_worker_that_leaves_are_found_on_the_disk(
    assigner: WorkAssigner, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk()
    monkeypatch.setattr(manifests, "append_line", disk.writing(append_line))
    report_shard(assigner, "a.npz", [0, 1])
    assert assigner.num_unrecorded == 2
    disk.is_full, errors = False, list[VecchessError]()
    assigner.poll_stopping(errors)
    assert (errors, assigner.num_unrecorded, assigner.ledger.num_recorded) == ([], 0, 2)


def test_a_worker_that_dies_while_the_disk_is_full_is_replaced_when_there_is_room(
    assigner: WorkAssigner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its shards cannot be recorded before: two of them, and room for one at first."""
    disk = Disk()
    monkeypatch.setattr(manifests, "append_line", disk.writing(append_line))
    monkeypatch.setattr(write_retry, "RETRY_S", 0.0)
    dead = assigner.pool.workers[0]
    for number in range(2):
        name = f"{dead.plan.shard_prefix}-{number:06d}.npz"
        games = made_up([2 * number, 2 * number + 1])
        write_shard(dead.plan.run.games / name, games, dead.plan.run_id)
    for _ in range(3):
        assigner.poll()
        assert assigner.pool.workers[0] is dead
    assert ["No space left" in line for line in LINES] == [True]
    disk.room = 1
    assigner.poll()
    assert (assigner.pool.workers[0], assigner.ledger.num_recorded) == (dead, 2)
    disk.is_full = False
    assigner.poll()
    assert assigner.pool.workers[0] is not dead
    ledger = assigner.ledger
    assert (ledger.num_recorded, ledger.stats.games, assigner.restarts) == (4, 4, 1)
    assert "16 unfinished games will be played" in LINES[-2]
    assert "writing works again" in LINES[-1]


class DeadWorker:
    """A worker whose process has ended already."""

    is_alive = was_killed = False
    failure = None
    stage = "playing"

    def __init__(self, plan: WorkerPlan) -> None:
        self.plan, self.name, self.pid, self.recorded = plan, "worker 0", 4711, 0
        self.last_lines = list[str]
        self.pipe = SimpleNamespace(receive=lambda: None, send=lambda kind, **values: None)

    def silent_s(self) -> float:
        return 0.0

    def reason_of_death(self) -> str:
        return "killed by SIGKILL"

    def send_games(self, ids: IdSet, saved: list[str], cuts: object, blocks: object) -> None:
        """They are not played."""
