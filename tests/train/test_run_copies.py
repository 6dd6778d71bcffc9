"""Copies of a run on machines that do not have it: the same games, and no others."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
import torch

from tests.store.games import made_up
from vecchess.config import TrainConfig, build
from vecchess.errors import FileMissing
from vecchess.store.id_set import IdSet
from vecchess.store.manifest import ShardEntry
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import pin_run, pinned
from vecchess.store.shard import write_shard
from vecchess.train import run_copies
from vecchess.train.distributed.environment import RankInfo
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.run_copies import RunCopies, open_folder


class ThreadRanks(Ranks):
    """One of several ranks in threads: two a machine."""

    def __init__(self, rank: int, world: Barrier, table: dict[int, Any]) -> None:
        info = RankInfo(rank, world.parties, rank % 2, 2, rank // 2, world.parties // 2)
        super().__init__(info, torch.device("cpu"))
        self._world, self._table = world, table
        self.num_bytes = 0

    def gather_object(self, value: dict[str, Any]) -> list[Any]:
        return self._all(value)

    def barrier(self) -> None:
        self._all(None)

    def broadcast_bytes(self, data: bytes) -> bytes:
        found = self._all(data)[0]
        self.num_bytes += len(found)
        return bytes(found)

    def _all(self, value: Any) -> list[Any]:
        self._table[self.rank] = value
        self._world.wait(30)
        values = [self._table[rank] for rank in range(self.world_size)]
        self._world.wait(30)
        return values


def on_ranks(folder: Path, task: Callable[[RunFolder, RunCopies, ThreadRanks], Any]) -> list[Any]:
    """What ``task`` returns on each of four ranks of two machines; the first has the run."""
    world, table = Barrier(4), dict[int, Any]()

    def on_rank(rank: int) -> Any:
        ranks = ThreadRanks(rank, world, table)
        try:
            with open_folder(folder, ranks) as run:
                return task(run, RunCopies(run, ranks), ranks)
        except BaseException:
            world.abort()
            raise

    with ThreadPoolExecutor(4) as threads:
        return [each.result() for each in [threads.submit(on_rank, rank) for rank in range(4)]]


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run of four generations of six segments, two shards and cuts each."""
    net = tmp_path / "net.toml"
    net.write_text("blocks = 1\nchannels = 32\ntime_steps = 4\n")
    run = RunFolder(tmp_path / "run")
    run.create()
    pin_run(run, build(TrainConfig, {"net": str(net)}))
    net.unlink()
    run.cuts.mkdir()
    for first in range(0, 24, 3):
        records = made_up([first, first + 2])
        file = f"{first:06d}.npz"
        entry = ShardEntry.of(file, write_shard(run.games / file, records), records)
        (run.cuts / file).write_bytes(file.encode())
        segments = IdSet([(first, first + 3)])
        run.manifest().append(replace(entry, segments=segments, cut="c" * 64))
    return run


def files_in(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.glob("*.npz")}


def test_copies_follow_the_window(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_copies, "GROUP_BYTES", 3000)  # some files a group

    def task(here: RunFolder, copies: RunCopies, ranks: ThreadRanks) -> list[int]:
        sent = []
        for first, end, cuts in ((0, 12, False), (6, 18, False), (6, 18, False), (18, 24, True)):
            ranks.num_bytes = 0
            copies.send_games(first, end, with_unfinished=cuts)
            sent.append(ranks.num_bytes)
            entries = here.manifest().entries_of(IdSet([(first, end)]))
            names = {f"{number:06d}.npz" for number in range(first, end, 3)}
            assert {entry.file for entry in entries} == names
            if ranks.node:
                whole = files_in(run.games)
                assert files_in(here.games) == {name: whole[name] for name in names}
                assert here.manifest().segments == IdSet([(first, end)])
                assert set(files_in(here.cuts)) == (names if cuts else set())
            ranks.barrier()
        return sent

    for first, second, third, _ in on_ranks(run.path, task):
        assert first > second > third
        assert third < 3000, "nothing but the list"


def test_copies_have_what_settings_name(run: RunFolder) -> None:
    """And are gone at the end; the run is as it was."""
    (run.path / "data/0-games").mkdir(parents=True)
    (run.path / "data/0-games/a.npz").write_bytes(b"a")
    before = sorted(run.path.rglob("*"))

    def task(here: RunFolder, copies: RunCopies, ranks: ThreadRanks) -> Path:
        copies.send_start()
        copies.send_latest()
        copies.send_data()
        config = pinned(here, build(TrainConfig, {"net": "net.toml"}))
        assert Path(config.net).read_text() == "blocks = 1\nchannels = 32\ntime_steps = 4\n"
        assert Path(config.net).is_relative_to(here.path)
        assert (here.path / "data/0-games/a.npz").read_bytes() == b"a"
        assert here.path.name == run.path.name
        ranks.barrier()
        return here.path

    places = on_ranks(run.path, task)
    assert places[:2] == [run.path] * 2
    assert places[2] == places[3] != run.path
    assert not places[2].parent.exists()
    assert sorted(run.path.rglob("*")) == before


def test_games_that_are_joined_meanwhile_are_sent_once(run: RunFolder) -> None:
    def task(here: RunFolder, copies: RunCopies, ranks: ThreadRanks) -> None:
        copies.send_games(0, 12, with_unfinished=False)
        if ranks.is_main:
            records = made_up([0, 2, 3, 5])
            sha256 = write_shard(run.games / "joined.npz", records)
            entry = replace(ShardEntry.of("joined.npz", sha256, records), segments=IdSet([(0, 6)]))
            manifest = run.manifest()
            manifest.replace([entry, *manifest.entries[2:]])
            for file in ("000000.npz", "000003.npz"):
                (run.games / file).unlink()
        copies.send_games(0, 18, with_unfinished=False)
        if ranks.node:
            assert here.manifest().segments == IdSet([(0, 18)])
            assert here.records().numbers.tolist() == [
                n for f in range(0, 18, 3) for n in (f, f + 2)
            ]
        ranks.barrier()

    on_ranks(run.path, task)


def test_a_shard_that_rank_0_lacks_is_named(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vecchess.runtime.retried_read.PAUSES_S", ())
    (run.games / "000003.npz").unlink()
    with pytest.raises(FileMissing, match=r"000003\.npz"):
        on_ranks(run.path, lambda _, copies, ranks: copies.send_games(0, 6, with_unfinished=False))


def test_one_machine_copies_nothing(run: RunFolder) -> None:
    ranks = Ranks.alone(torch.device("cpu"))
    before = sorted(run.path.rglob("*"))
    with open_folder(run.path, ranks) as here:
        copies = RunCopies(here, ranks)
        copies.send_start()
        copies.send_data()
        copies.send_games(0, 24, with_unfinished=True)
    assert here.path == run.path
    assert sorted(run.path.rglob("*")) == before
