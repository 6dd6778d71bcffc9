"""How a learner records the results of players. Games are made up."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fleet.simulated_store import SimulatedStore
from tests.fleet.test_fleet_run import Quiet
from tests.store.games import made_up
from vecchess.config import SelfplayConfig, TrainConfig
from vecchess.errors import DiskFull
from vecchess.fleet import fleet_run
from vecchess.fleet.block_games import BlockGames
from vecchess.fleet.fleet_run import FleetExecutor
from vecchess.fleet.steps import Accept, Steps
from vecchess.fleet.task import FleetTask
from vecchess.runtime import write_retry
from vecchess.runtime.atomic_write import write_atomically
from vecchess.runtime.devices import CPU
from vecchess.selfplay.supervisor.supervisor import RunResult, remaining_s
from vecchess.store import run_folder
from vecchess.store.id_set import IdSet
from vecchess.store.inflight import SavedGames
from vecchess.store.remote.block_file import BlockName, pack_block
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import pin_run
from vecchess.store.shard import shard_bytes

TASK = FleetTask(
    number=0, generation=0, first=0, end=8, size=2, net="constant", net_sha256=""
)  # fmt: skip
CONFIG = SelfplayConfig(net="constant", games=TASK.end, gpus="cpu")
TRAINING = TrainConfig(net="constant", seats=4, positions_per_iter=12, block_seats=2, gpus="cpu")
GENERATIONS = [
    FleetTask(
        number=number, generation=number, first=4 * number, end=4 * number + 4, size=2,
        net="constant", net_sha256="",
    ) for number in range(2)
]  # fmt: skip


def executor_of(
    run: RunFolder, watcher: Quiet, config: SelfplayConfig | TrainConfig = CONFIG
) -> FleetExecutor:
    """The executor of a new run."""
    run.create()
    pin_run(run, config)
    store: Any = SimulatedStore()
    seen: Any = watcher
    executor = FleetExecutor(config, run, store, [CPU], seen, keeps_results=False)
    executor.ledger.open(IdSet([(TASK.first, TASK.end)]))
    return executor


def block_of(run: RunFolder, ended: list[int], waiting: list[int]) -> bytes:
    """The result of a block of a training with games of these numbers."""
    games = made_up(waiting, seed=1)
    none = np.zeros(games.num_games, np.int8)
    plies = np.full(len(games.prob), 0.5, np.float32)
    games = replace(games, result=none, termination=none.astype(np.uint8), prob=plies)
    saved = SavedGames(games, np.zeros((len(none), 2), np.uint8), none.astype(np.uint8))
    return pack_block(*BlockGames(made_up(ended), saved).to_bytes(run.run_id))


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


class Heartbeats:
    """What the caller of a learner hears of it; a stop is requested at the last one."""

    def __init__(self, executor: FleetExecutor, watcher: Quiet, most: int) -> None:
        self.facts: list[tuple[int, int]] = []
        self._watcher, self._most = watcher, most
        executor._heartbeat = self.hear

    def hear(self) -> str:
        facts = self._watcher.facts
        self.facts.append((facts["games"], facts["positions"]))
        return "SIGINT" if len(self.facts) == self._most else ""


def test_a_learner_looks_for_a_stop_while_it_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_run, "HEARTBEAT_S", 0.0)
    run, watcher = RunFolder(tmp_path / "run"), Quiet()
    executor = executor_of(run, watcher)
    heard = Heartbeats(executor, watcher, 3)
    with pytest.raises(fleet_run._StopRequested, match="SIGINT"):
        executor._accept(TASK, results_of(run))
    assert heard.facts == [(TASK.end, 0)] * 3
    assert recorded(run) == [0, 1, 2, 3]


def test_a_learner_looks_for_a_stop_while_it_makes_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_run, "HEARTBEAT_S", 0.0)
    run, watcher = RunFolder(tmp_path / "run"), Quiet()
    executor = executor_of(run, watcher, TRAINING)
    results = {
        BlockName(0, 0, "a"): block_of(run, [0, 1], [4, 5]),
        BlockName(0, 1, "a"): block_of(run, [2, 3], [6, 7]),
    }
    executor._accept(GENERATIONS[0], results)
    heard = Heartbeats(executor, watcher, 4)
    draft = executor._draft("constant", 4)
    cuts = [entry.cut for entry in run.manifest().entries]
    assert [[part.sha256 for part in parts] for parts in draft.inputs] == [[cut] for cut in cuts]
    assert heard.facts == [(4, 12)] * 2
    with pytest.raises(fleet_run._StopRequested, match="SIGINT"):
        executor._draft("constant", 4)


def test_a_learner_looks_for_a_stop_while_the_check_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_run, "HEARTBEAT_S", 0.0)
    watcher = Quiet()
    executor = executor_of(RunFolder(tmp_path / "run"), watcher)
    Heartbeats(executor, watcher, 2)
    checker: Any = executor._opened_checker()
    checker._watcher.update(None)
    with pytest.raises(fleet_run._StopRequested, match="SIGINT"):
        checker._watcher.update(None)
    executor.__exit__()


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
    monkeypatch.setattr(run_folder, "write_atomically", write)
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


RECORDED = "it has games that are recorded already"
LATER = "it has games that come later"


@pytest.mark.parametrize(
    ("ended", "waiting", "fault"),
    [
        ([6, 7, 10], [14, 11], ""),
        ([], [7, 6], ""),
        ([5], [7, 6], "it has games of other seats"),
        ([6], [10, 9], "it has other seats"),
        ([2, 6], [10, 7], RECORDED),
        ([6], [10, 3], RECORDED),
        ([6, 10], [10, 7], LATER),
        ([14], [10, 7], LATER),
        ([6], [10, 35], LATER),
    ],
)
def test_games_that_cannot_follow_the_recorded_ones_are_a_fault(
    ended: list[int], waiting: list[int], fault: str, tmp_path: Path
) -> None:
    run = RunFolder(tmp_path / "run")
    executor = executor_of(run, Quiet(), TRAINING)
    before = {
        BlockName(0, 0, "a"): block_of(run, [0, 1], [4, 5]),
        BlockName(0, 1, "a"): block_of(run, [2, 3], [6, 7]),
    }
    for name, data in before.items():
        assert executor._fault(GENERATIONS[0], name, data) == ""
    executor._accept(GENERATIONS[0], before)
    result = BlockName(1, 1, "b"), block_of(run, ended, waiting)
    assert executor._fault(GENERATIONS[1], *result) == fault
    if not fault:
        executor._accept(GENERATIONS[1], dict([result]))
        assert recorded(run) == [0, 1, 2, 3, *ended]
        assert executor._fault(GENERATIONS[1], *result) == ""


@pytest.mark.parametrize("config", [CONFIG, TRAINING])
def test_the_speed_of_a_generation_is_that_since_its_beginning(
    config: SelfplayConfig | TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, watcher = RunFolder(tmp_path / "run"), Quiet()
    executor = executor_of(run, watcher, config)
    task, results = TASK, results_of(run)
    if config is TRAINING:
        task, results = GENERATIONS[0], {
            BlockName(0, 0, "a"): block_of(run, [0, 1], [4, 5]),
            BlockName(0, 1, "a"): block_of(run, [2, 3, 7], [6, 11]),
        }  # fmt: skip
    left = [results]

    def gathering(net: str) -> Steps[None]:
        while left:
            yield Accept(task, left.pop())

    def gained_by(result: RunResult) -> list[float]:
        load = result.throughput
        return [load.games_per_s * result.seconds, load.plies_per_s * result.seconds]

    monkeypatch.setattr(executor, "_gathering", gathering)
    ids = IdSet([(task.first, task.end)])
    result = executor.play("constant", ids)
    plies = 3 * task.end if config is TRAINING else result.stats.plies
    assert gained_by(result) == pytest.approx([len(recorded(run)), plies])
    assert gained_by(executor.play("constant", ids)) == [0.0, 0.0]


def test_remaining_time_follows_from_what_was_played_since_the_beginning() -> None:
    assert remaining_s(10, 30, 50, 8.0) == 8.0
    assert remaining_s(10, 50, 50, 8.0) == 0.0
    assert remaining_s(10, 10, 50, 8.0) is None
    assert remaining_s(0, 1, 1 << 62, 8.0) is None
