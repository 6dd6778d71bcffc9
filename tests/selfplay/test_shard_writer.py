"""The thread that writes shards, and what happens where games end faster than it writes."""

from pathlib import Path
from threading import Event

import pytest

from tests.selfplay.playing import play_finished
from vecchess.config import GameConfig
from vecchess.selfplay.worker import shard_writer as writer
from vecchess.selfplay.worker.shard_writer import ShardWriter
from vecchess.store.records import GameRecords
from vecchess.store.shard import write_shard
from vecchess.store.shard_entry import ShardEntry


def test_a_writer_says_when_it_is_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a slow disk has more than so many plies before it; nothing of them is lost."""
    games, disk = play_finished(GameConfig(max_plies=10, random_plies=2), 4), Event()

    def slowly(path: Path, records: GameRecords, run_id: str) -> str:
        disk.wait()
        return write_shard(path, records, run_id)

    monkeypatch.setattr(writer, "write_shard", slowly)
    monkeypatch.setattr(writer, "MOST_UNWRITTEN", 2 * sum(part.num_plies for part in games))
    written: list[ShardEntry] = []
    shards = ShardWriter(tmp_path, "0000", 1, 60.0, written.append, print)
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
    shards = ShardWriter(tmp_path, "0000", 1 << 20, 3600.0, lambda entry: reported.set(), print)
    shards.put(games)
    assert reported.wait(60)
    shards.close()
