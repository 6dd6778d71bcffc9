"""The thread that writes shards, and what happens where games end faster than it writes."""

import json
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from tests.selfplay.playing import play_finished
from vecchess.chess.rules import Termination
from vecchess.config import GameConfig
from vecchess.selfplay.worker import shard_writer as writer
from vecchess.selfplay.worker.shard_writer import ShardWriter
from vecchess.store.id_set import IdSet
from vecchess.store.inflight import read_saved
from vecchess.store.manifest import ShardEntry
from vecchess.store.records import GameRecords
from vecchess.store.run_folder import RunFolder
from vecchess.store.seating import Seating
from vecchess.store.shard import read_shard, shard_bytes


def made_run(folder: Path) -> RunFolder:
    run = RunFolder(folder / "run")
    run.create()
    return run


def test_a_writer_says_when_it_is_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a slow disk has more than so many plies before it; nothing of them is lost."""
    games, disk = play_finished(GameConfig(max_plies=10, random_plies=2), 4), Event()

    def slowly(records: GameRecords, run_id: str) -> bytes:
        disk.wait()
        return shard_bytes(records, run_id)

    monkeypatch.setattr(writer, "shard_bytes", slowly)
    monkeypatch.setattr(writer, "MOST_UNWRITTEN", 2 * sum(part.num_plies for part in games))
    written: list[ShardEntry] = []
    shards = ShardWriter(made_run(tmp_path), "0000", 1, 60.0, written.append, print)
    for _ in range(2):
        shards.put(games)
        assert not shards.is_behind
    shards.put(games)
    assert shards.is_behind
    disk.set()
    shards.close()
    assert not shards.is_behind
    assert sum(entry.stats.games for entry in written) == 12


def test_many_plies_make_a_shard_before_many_games_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or whoever waits for the writer would wait for its interval."""
    games, reported = play_finished(GameConfig(max_plies=10, random_plies=2), 4), Event()
    monkeypatch.setattr(writer, "MOST_UNWRITTEN", 2 * sum(part.num_plies for part in games))
    shards = ShardWriter(
        made_run(tmp_path), "0000", 1 << 20, 3600.0, lambda entry: reported.set(), print
    )
    shards.put(games)
    assert reported.wait(60)
    shards.close()


def test_segments_are_written_when_all_are_over_and_never_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many plies they have; what a stop leaves unfinished is not written at all."""
    monkeypatch.setattr(writer, "MOST_UNWRITTEN", 1)
    seating, reported, written = Seating(seats=3, turns=9), Event(), list[ShardEntry]()

    def on_shard(entry: ShardEntry) -> None:
        written.append(entry)
        reported.set()

    run = made_run(tmp_path)
    shards = ShardWriter(run, "0000", 1, 0.01, on_shard, print, seating=seating)
    shards.segments = IdSet([(16, 18)])
    games = play_finished(GameConfig(max_plies=10, random_plies=2), 6)
    for part in games:
        part.games.termination[np.isin(part.numbers, (3, 4, 5))] = Termination.ONGOING
    shards.put(games)
    assert not shards.is_behind
    assert not reported.wait(0.2)
    shards.flush()
    assert reported.wait(60)
    shards.put(games)
    shards.close()
    [entry] = written
    assert (entry.ids, entry.segments) == (IdSet([(0, 3)]), IdSet([(15, 18)]))
    assert read_shard(run.games / entry.file).numbers.tolist() == [0, 1, 2]
    saved = read_saved(run.cuts / entry.file, None, entry.cut)
    assert saved.records.numbers.tolist() == [3, 4, 5]
    assert ShardEntry.from_dict(json.loads(json.dumps(entry.to_dict()))) == entry
    assert len(list(run.games.glob("*.npz"))) == 1
