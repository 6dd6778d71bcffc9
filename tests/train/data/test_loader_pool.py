"""Loader processes: equal batches from any number of them, and a clear line when one dies."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.train.data.odd_shards import DeadShards, SlowShards
from tests.train.games import games, searched, specs
from vecchess.chess.planes import num_planes
from vecchess.errors import DataError, WorkerDied
from vecchess.selfplay.supervisor.worker_process import UNATTENDED_S
from vecchess.store.records import GameRecords
from vecchess.store.shard import write_shard
from vecchess.train.data.collate import make_samples
from vecchess.train.data.loader_pool import LoaderPool
from vecchess.train.data.replay_window import GivenShards, ManifestShards
from vecchess.train.data.samples import Samples, SharedBuffers, row_bytes


@pytest.fixture(scope="module")
def records() -> GameRecords:
    return searched(games())


@pytest.fixture
def folder(tmp_path: Path, records: GameRecords) -> Path:
    for index in range(4):
        write_shard(tmp_path / f"{index}.npz", records.take(np.arange(3 * index, 3 * index + 3)))
    return tmp_path


def equal(one: Samples[torch.Tensor], other: Samples[torch.Tensor]) -> bool:
    return all(map(torch.equal, one, other))


def test_batches_do_not_depend_on_the_process(folder) -> None:
    with LoaderPool(GivenShards([folder]), SharedBuffers(32)) as here:
        wanted = list(here.batches(specs(6)))
        halves = list(here.batches(specs(2, first_row=16)))
        shuffled = list(here.batches(specs(3, in_epochs=True)))
    assert wanted[0].planes.dtype == torch.int64
    assert wanted[0].legal.dtype == torch.uint16
    assert wanted[0].policy.shape == (32, 218)
    assert not equal(wanted[0], wanted[1])
    assert equal(wanted[1].map(lambda column: column[16:]), halves[1])
    with LoaderPool(GivenShards([folder]), SharedBuffers(32, 2)) as there:
        assert there.count(specs(1)[0]) > 300
        for _ in range(2):  # the processes stay from one round to the next
            assert all(map(equal, wanted, there.batches(specs(6))))
        next(there.batches(specs(4)))  # left early
        assert all(map(equal, shuffled, there.batches(specs(3, in_epochs=True))))
    assert not active_children()


def test_reference_games_are_spread_evenly(folder) -> None:
    mixed = {"reference_share": 0.3, "num_reference_shards": 2}
    own = GivenShards([folder / f"{index}.npz" for index in (0, 1)])
    others = GivenShards([folder / f"{index}.npz" for index in (2, 3)])
    with LoaderPool(own, SharedBuffers(32), reference=others) as loader:
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
    with LoaderPool(others, SharedBuffers(4000)) as loader:
        (all_of_them,) = loader.batches(specs(1, source_end=2, batch_size=4000, mirror=False))
    known = {row.tobytes() for row in all_of_them.planes.numpy()}
    with LoaderPool(own, SharedBuffers(32), reference=others) as loader:
        (unmirrored,) = loader.batches(specs(1, source_end=2, mirror=False, **mixed))
    assert all(row.tobytes() in known for row in unmirrored.planes.numpy()[is_other])


def test_batches_hold_as_many_positions_as_the_network_sees(folder, records) -> None:
    spec = specs(1, mirror=False)[0]
    with (
        LoaderPool(GivenShards([folder]), SharedBuffers(32, 1, planes=num_planes(4))) as four,
        LoaderPool(GivenShards([folder]), SharedBuffers(32)) as one,
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


def test_a_lost_process_is_reported(folder) -> None:
    with LoaderPool(GivenShards([folder]), SharedBuffers(32, 1, prefetch=1)) as loader:
        batches = loader.batches(specs(20))
        next(batches)
        (process,) = active_children()
        for number in (signal.SIGINT, signal.SIGTERM):  # the parent decides, not the terminal
            os.kill(process.pid, number)
        next(batches)
        process.kill()
        with pytest.raises(WorkerDied, match="killed by SIGKILL"):
            list(batches)
    assert not active_children()


def test_a_process_that_hangs_is_reported(folder) -> None:
    """Stopped in the midst of an iteration, and between two of them."""
    for is_waiting in (True, False):
        with LoaderPool(
            GivenShards([folder]), SharedBuffers(32, 1, prefetch=1), stall_timeout_s=1.5
        ) as loader:
            batches = loader.batches(specs(8 if is_waiting else 2))
            next(batches)
            if not is_waiting:
                list(batches)
            for process in active_children():
                os.kill(process.pid or 0, signal.SIGSTOP)
            with pytest.raises(WorkerDied, match=r"has done nothing for 1.5 s .* resume"):
                list(batches if is_waiting else loader.batches(specs(8)))
        assert not active_children()


def test_a_disk_that_does_not_answer_is_reported(folder) -> None:
    with (
        LoaderPool(DeadShards([folder]), SharedBuffers(32, 1), stall_timeout_s=0.7) as loader,
        pytest.raises(WorkerDied, match=r"has done nothing for 0.7 s"),
    ):
        list(loader.batches(specs(1)))


def test_a_slow_start_is_no_hang(folder) -> None:
    with LoaderPool(SlowShards([folder]), SharedBuffers(32, 1), stall_timeout_s=0.6) as loader:
        assert len(list(loader.batches(specs(2)))) == 2


@pytest.mark.slow
def test_a_trainer_that_was_stopped_itself_reports_no_hang(folder) -> None:
    """Both sides stopped, as by Ctrl-Z, for longer than a process may do nothing."""
    program = (
        "import sys; from pathlib import Path; from tests.train.data.test_loader_pool import *;"
        "source, buffers = SlowShards([Path(sys.argv[1])]), SharedBuffers(32, 1);"
        "loader = LoaderPool(source, buffers, stall_timeout_s=1.0);"
        "print('begun', flush=True); print(len(list(loader.batches(specs(2))))); loader.close()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(folder)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(1.0)
    os.killpg(process.pid, signal.SIGSTOP)
    time.sleep(UNATTENDED_S + 3.0)
    os.killpg(process.pid, signal.SIGCONT)
    assert process.communicate(timeout=240) == ("2\n", "")


def test_errors_in_games_come_back_from_processes(folder) -> None:
    (folder / "2.npz").write_bytes(b"no shard")
    lines: list[str] = []
    with LoaderPool(
        GivenShards([folder]), SharedBuffers(32, 2), report_line=lines.append
    ) as loader:
        assert len(list(loader.batches(specs(6)))) == 6
        assert len(lines) == 1
        assert "2.npz" in lines[0]
        with pytest.raises(DataError, match="4 shards, not 9") as caught:
            list(loader.batches(specs(1, source_end=9)))
        assert "\n" not in str(caught.value)
        with pytest.raises(DataError, match="no positions to learn from"):
            list(loader.batches(specs(1, source_end=0)))


def test_a_manifest_may_grow(tmp_path, folder) -> None:
    with (
        LoaderPool(ManifestShards(tmp_path / "none yet"), SharedBuffers(32)) as loader,
        pytest.raises(DataError, match="has 0 of the segments 0 to 3, not 4"),
    ):
        list(loader.batches(specs(1, source_segments=4)))


def test_columns_own_the_memory_they_lie_in(folder) -> None:
    """As torch has to know when the memory is pinned and copies are under way."""
    with LoaderPool(GivenShards([folder]), SharedBuffers(32)) as loader:
        (batch,) = loader.batches(specs(1))
    storages = {column.untyped_storage().data_ptr() for column in batch}
    assert len(storages) == 1
    assert batch.planes.untyped_storage().nbytes() == 32 * row_bytes(25)
