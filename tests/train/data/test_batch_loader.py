"""Loaders: equal batches from any number of threads, and a clear line when one hangs."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.train.data.odd_shards import DeadShards, SlowShards
from tests.train.games import games, searched, specs
from vecchess.chess.planes import num_planes
from vecchess.errors import DataError, WorkerDied
from vecchess.store.records import GameRecords
from vecchess.store.shard import write_shard
from vecchess.train.data import replay_window
from vecchess.train.data.batch_loader import BatchLoader
from vecchess.train.data.replay_window import GivenShards, ManifestShards
from vecchess.train.data.samples import Samples, make_samples


@pytest.fixture(scope="module")
def records() -> GameRecords:
    return searched(games())


@pytest.fixture
def folder(tmp_path: Path, records: GameRecords) -> Path:
    for index in range(4):
        write_shard(tmp_path / f"{index}.npz", records.take(np.arange(3 * index, 3 * index + 3)))
    return tmp_path


def loaders() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name.startswith("vecchess-loader")]


def equal(one: Samples[torch.Tensor], other: Samples[torch.Tensor]) -> bool:
    return all(map(torch.equal, one, other))


def test_batches_do_not_depend_on_the_thread(folder) -> None:
    with BatchLoader(GivenShards([folder])) as here:
        wanted = list(here.batches(specs(6)))
        halves = list(here.batches(specs(2, first_row=16)))
        shuffled = list(here.batches(specs(3, in_epochs=True)))
    assert wanted[0].planes.dtype == torch.int64
    assert wanted[0].legal.dtype == torch.uint16
    assert wanted[0].policy.shape == (32, 218)
    assert not equal(wanted[0], wanted[1])
    assert equal(wanted[1].map(lambda column: column[16:]), halves[1])
    with BatchLoader(GivenShards([folder]), threads=2) as there:
        assert there.count(specs(1)[0]) > 300
        for _ in range(2):  # the threads stay from one round to the next
            assert all(map(equal, wanted, there.batches(specs(6))))
        next(there.batches(specs(4)))  # left early
        assert all(map(equal, shuffled, there.batches(specs(3, in_epochs=True))))
    assert not loaders()


def test_reference_games_are_spread_evenly(folder) -> None:
    mixed = {"reference_share": 0.3, "num_reference_shards": 2}
    own = GivenShards([folder / f"{index}.npz" for index in (0, 1)])
    others = GivenShards([folder / f"{index}.npz" for index in (2, 3)])
    with BatchLoader(own, reference=others) as loader:
        (pure,) = loader.batches(specs(1, source_end=2))
        (batch,) = loader.batches(specs(1, source_end=2, **mixed))
        (half,) = loader.batches(specs(1, source_end=2, first_row=16, **mixed))
    is_other = np.zeros(32, bool)
    is_other[replace(specs(1)[0], **mixed).reference_rows] = True
    assert is_other.sum() == 9
    assert is_other[:16].sum() in (4, 5)
    kept = torch.from_numpy(~is_other)
    assert equal(batch.map(lambda column: column[kept]), pure.map(lambda column: column[kept]))
    assert equal(batch.map(lambda column: column[16:]), half)
    with BatchLoader(others) as loader:
        (all_of_them,) = loader.batches(specs(1, source_end=2, batch_size=4000, mirror=False))
    known = {row.tobytes() for row in all_of_them.planes.numpy()}
    with BatchLoader(own, reference=others) as loader:
        (unmirrored,) = loader.batches(specs(1, source_end=2, mirror=False, **mixed))
    assert all(row.tobytes() in known for row in unmirrored.planes.numpy()[is_other])


def test_batches_hold_as_many_positions_as_the_network_sees(folder, records) -> None:
    spec = specs(1, mirror=False)[0]
    with (
        BatchLoader(GivenShards([folder]), threads=1, planes=num_planes(4)) as four,
        BatchLoader(GivenShards([folder])) as one,
    ):
        (seen,), (newest,) = four.batches([spec]), one.batches([spec])
    assert seen.planes.shape == (32, 61)
    assert torch.equal(seen.planes[:, :25], newest.planes)
    every = make_samples(records, np.arange(len(records.action)), planes=num_planes(4)).planes.view(
        np.int64
    )
    known = {row.tobytes() for row in every}
    assert all(row.tobytes() in known for row in seen.planes.numpy())
    assert seen.planes[:, 25:].any(dim=1).all()


def test_a_disk_that_does_not_answer_is_reported(folder) -> None:
    with (
        BatchLoader(DeadShards([folder]), threads=1, stall_timeout_s=0.7) as loader,
        pytest.raises(WorkerDied, match=r"has done nothing for 0.7 s"),
    ):
        list(loader.batches(specs(1)))


def test_a_slow_start_is_no_hang(folder) -> None:
    with BatchLoader(SlowShards([folder]), threads=1, stall_timeout_s=0.6) as loader:
        assert len(list(loader.batches(specs(2)))) == 2


def run_here(program: str, *arguments: object) -> subprocess.Popen[str]:
    lines = "import sys; from pathlib import Path; from tests.train.data.test_batch_loader import *"
    return subprocess.Popen(
        [sys.executable, "-c", f"{lines}\n{program}", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


@pytest.mark.thorough
def test_a_process_ends_though_a_read_of_its_hangs(folder) -> None:
    program = """
try:
    with BatchLoader(DeadShards([Path(sys.argv[1])]), stall_timeout_s=0.5) as loader:
        list(loader.batches(specs(1)))
except WorkerDied as error:
    print(error, flush=True)
"""
    out, err = run_here(program, folder).communicate(timeout=60)
    assert "has done nothing for 0.5 s" in out
    assert err == ""


@pytest.mark.slow
def test_a_trainer_that_was_stopped_reports_no_hang(folder) -> None:
    """It was stopped, as by Ctrl-Z, for longer than a thread may do nothing."""
    program = """
source = SlowShards([Path(sys.argv[1])])
with BatchLoader(source, threads=1, stall_timeout_s=1.0) as loader:
    print("begun", flush=True)
    print(len(list(loader.batches(specs(2)))))
"""
    process = run_here(program, folder)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.7)
    os.killpg(process.pid, signal.SIGSTOP)
    time.sleep(3.0)
    os.killpg(process.pid, signal.SIGCONT)
    assert process.communicate(timeout=240) == ("2\n", "")


def test_shards_are_read_by_all_threads_and_once(folder) -> None:
    """Two threads wait for each other in the midst of a read."""
    meeting, read = threading.Barrier(2, timeout=20), list[str]()

    class MeetingShards(GivenShards):
        def parts(self, first: int, end: int) -> list:
            return [Part(*part) for part in super().parts(first, end)]

    class Part(replay_window.ShardPart):
        def read(self) -> GameRecords:
            meeting.wait()
            read.append(self.shard.path.name)
            return super().read()

    with BatchLoader(MeetingShards([folder]), threads=2) as loader:
        assert len(list(loader.batches(specs(5)))) == 5
    assert sorted(read) == ["0.npz", "1.npz", "2.npz", "3.npz"]


def test_windows_follow_each_other_without_a_pause(folder) -> None:
    """The batches of one window are under way while the next one is read."""
    ends = [*specs(3, source_end=2), *specs(3, source_end=4), *specs(3, source_end=1)]
    with BatchLoader(GivenShards([folder])) as here, BatchLoader(GivenShards([folder]), 2) as there:
        assert all(map(equal, here.batches(ends), there.batches(ends)))


def test_errors_in_games_come_back_from_threads(folder) -> None:
    (folder / "2.npz").write_bytes(b"no shard")
    lines: list[str] = []
    with BatchLoader(GivenShards([folder]), threads=2, report_line=lines.append) as loader:
        assert len(list(loader.batches(specs(6)))) == 6
        assert len(lines) == 1
        assert "2.npz" in lines[0]
        with pytest.raises(DataError, match="4 shards, not 9") as caught:
            list(loader.batches(specs(1, source_end=9)))
        assert "\n" not in str(caught.value)
        with pytest.raises(DataError, match="no positions to learn from"):
            list(loader.batches(specs(1, source_end=0)))
        assert len(list(loader.batches(specs(2)))) == 2


def test_a_manifest_may_grow(tmp_path, folder) -> None:
    with (
        BatchLoader(ManifestShards(tmp_path / "none yet")) as loader,
        pytest.raises(DataError, match="lacks 4 of the segments 0 to 3"),
    ):
        list(loader.batches(specs(1)))


def test_columns_own_the_memory_they_lie_in(folder) -> None:
    """As torch has to know when the memory is pinned and copies are under way."""
    with BatchLoader(GivenShards([folder])) as loader:
        (batch,) = loader.batches(specs(1))
    for column in batch:
        assert column.untyped_storage().nbytes() == column.nbytes
    assert len({column.untyped_storage().data_ptr() for column in batch}) == len(batch)
