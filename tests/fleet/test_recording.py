"""How a learner records the results of players. Games are made up."""

from pathlib import Path

import pytest

from tests.fleet.simulated_store import SimulatedStore
from tests.fleet.test_fleet_run import Quiet
from tests.store.games import made_up
from vecchess.config import SelfplayConfig
from vecchess.errors import DiskFull
from vecchess.fleet import block_games, fleet_run
from vecchess.fleet.fleet_run import FleetExecutor
from vecchess.fleet.task import FleetTask
from vecchess.runtime import write_retry
from vecchess.runtime.atomic_write import write_atomically
from vecchess.runtime.devices import CPU
from vecchess.store.id_set import IdSet
from vecchess.store.remote.block_file import BlockName, pack_block
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import pin_run
from vecchess.store.shard import shard_bytes

TASK = FleetTask(
    number=0, generation=0, first=0, end=8, size=2, net="constant", net_sha256=""
)  # fmt: skip
CONFIG = SelfplayConfig(net="constant", games=TASK.end, gpus="cpu")


def executor_of(run: RunFolder, watcher: Quiet) -> FleetExecutor:
    """The executor of a run of self-play whose games are open."""
    run.create()
    pin_run(run, CONFIG)
    executor = FleetExecutor(CONFIG, run, SimulatedStore(), [CPU], watcher, keeps_results=False)  # type: ignore[arg-type]
    executor.ledger.open(IdSet([(TASK.first, TASK.end)]))
    return executor


def results_of(run: RunFolder) -> dict[BlockName, bytes]:
    """Results of all blocks."""
    return {
        BlockName(TASK.number, block, "player"): pack_block(
            shard_bytes(made_up(TASK.blocks.ids(block).ids.tolist()), run.run_id), b""
        )
        for block in range(TASK.blocks.num_blocks)
    }


def recorded(run: RunFolder) -> list[int]:
    """The recorded games, in the order of the manifest; each shard is what its line says."""
    shards = [shard.read() for shard in run.manifest().shards]
    return [number for games in shards for number in games.numbers.tolist()]


def test_results_wait_while_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, watcher, refusals = RunFolder(tmp_path / "run"), Quiet(), [2, 0, 1]

    def write(path: Path, data: bytes) -> None:
        if refusals and refusals[0]:
            refusals[0] -= 1
            raise DiskFull(f"cannot write {path.name}: No space left on device")
        if refusals:
            refusals.pop(0)
        write_atomically(path, data)

    executor = executor_of(run, watcher)
    monkeypatch.setattr(block_games, "write_atomically", write)
    monkeypatch.setattr(write_retry, "RETRY_S", 0.0)
    monkeypatch.setattr(fleet_run, "BUSY_S", 0.0)
    executor._accept(TASK, results_of(run))
    assert recorded(run) == list(range(TASK.end))
    files = [name.file for name in sorted(results_of(run))]
    again = "writing works again: they are recorded"
    assert watcher.lines == [
        f"cannot write {files[0]}: No space left on device: results of players wait", again,
        f"cannot write {files[2]}: No space left on device: results of players wait", again,
    ]  # fmt: skip
