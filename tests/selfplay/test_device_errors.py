"""What a worker and its parent do when the device has too little memory, or fails."""

import multiprocessing
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench.fake_device import FAKE

from tests.store.games import shard
from vecchess.config import SelfplayConfig
from vecchess.errors import DeviceError, WorkerDied
from vecchess.inference.open_network import FEWEST_SLOTS
from vecchess.runtime.devices import CPU, Device, Share, share_out
from vecchess.runtime.json_pipe import JsonPipe
from vecchess.runtime.signals import stop_signals
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.supervisor import worker_pool
from vecchess.selfplay.supervisor.work_assigner import WorkAssigner
from vecchess.selfplay.worker import worker
from vecchess.selfplay.worker.protocol import COMPILING
from vecchess.selfplay.worker.setup import build_server
from vecchess.selfplay.worker.worker import WorkerPlan, run_worker
from vecchess.snn.create import create_network
from vecchess.snn.integer.net_file import save_net
from vecchess.store.id_set import IdSet
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_log import RunLog, read_log

GPU = Device("cuda:0", "gpu 0", "0")
CONFIG = SelfplayConfig(slots=64)
SHARE = Share(slots=4096, games=64, movers=1, threads=1)
NO_MEMORY = DeviceError("out of device memory while opening the network", True)
LOST = DeviceError("the device failed while taking a time step: CUDA error: unknown error")


@pytest.fixture
def net(tmp_path: Path) -> str:
    save_net(create_network("tiny", 0), tmp_path / "net")
    return str(tmp_path / "net")


def with_memory(most_slots: int) -> SelfplayConfig:
    """On a device that has memory for so many slots."""
    return SelfplayConfig(backend=f"{FAKE}?oom_above={most_slots}")


@pytest.mark.parametrize("name", ["tiny", "constant"])
def test_half_the_slots_are_tried_until_they_fit(name: str, net: str) -> None:
    said: list[str] = []
    file = net if name == "tiny" else name
    server = build_server(with_memory(1500), file, CPU, SHARE, GameIdPool(), said.append)
    assert server.engine.slots.num_slots == 1024
    assert said == [
        "the device has no memory for 4,096 slots; trying 2,048",
        "the device has no memory for 2,048 slots; trying 1,024",
    ]


def test_a_device_without_any_memory_is_an_error(net: str) -> None:
    said: list[str] = []
    with pytest.raises(DeviceError, match="memory"):
        build_server(with_memory(3), net, CPU, SHARE, GameIdPool(), said.append)
    assert said[-1].endswith(f"trying {FEWEST_SLOTS}")


@pytest.fixture
def signals_kept() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in stop_signals()}
    yield
    for number, action in before.items():
        signal.signal(number, action)


@pytest.mark.parametrize("error", [NO_MEMORY, LOST])
def test_a_worker_reports_its_device_in_one_line(
    error: DeviceError,
    net: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    signals_kept: None,
) -> None:
    def fail(*args: object) -> None:
        raise error

    monkeypatch.setattr(worker, "build_server", fail)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    plan = WorkerPlan(0, CPU, SelfplayConfig(slots=8), net, RunFolder(tmp_path), "", "0000", SHARE)
    mine, theirs = multiprocessing.Pipe()
    with pytest.raises(SystemExit) as left:
        run_worker(plan, theirs, [0, 0, 0])
    assert left.value.code == 1
    (message,) = JsonPipe(mine).receive() or []
    assert message == {
        "kind": "failed",
        "error": str(error),
        "expected": False,
        "out_of_memory": error.out_of_memory,
    }


class DyingWorker:
    """A worker's handle whose process ended with ``last_words``."""

    last_words: dict[str, Any]

    def __init__(self, plan: WorkerPlan) -> None:
        self.plan = plan
        self.name = f"worker {plan.index} ({plan.device.label})"
        self.stage, self.pid = "playing", 4711
        self.last_lines = lambda: ["CUDA error"]
        self.failure = None
        self.pipe = SimpleNamespace(receive=lambda: [self.last_words])

    def send_games(self, ids: IdSet, saved: list[str], cuts: object, blocks: object) -> None:
        self.first_game = ids.ranges[0][0]


@pytest.fixture
def notes() -> list[str]:
    """What people are told."""
    return []


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, notes: list[str]) -> WorkAssigner:
    monkeypatch.setattr(worker_pool, "WorkerProcess", DyingWorker)
    run = RunFolder(tmp_path / "run")
    run.create()
    log = RunLog(run.path)
    made = WorkAssigner(CONFIG, run, [GPU], notes.append, log.write)
    made.share = share_out(CONFIG, [GPU], 100_000)
    made.begin_generation("constant", IdSet([(0, 100_000)]))
    made.start_workers()
    return made


def _die(parent: WorkAssigner, error: DeviceError) -> None:
    facts = {"error": str(error), "expected": False, "out_of_memory": error.out_of_memory}
    DyingWorker.last_words = {"kind": "failed", **facts}
    parent._replace(parent.pool.workers[0], "exit code 1")


def test_a_lost_device_is_taken_up_again_as_it_was(parent: WorkAssigner, notes: list[str]) -> None:
    _die(parent, LOST)
    assert parent.pool.workers[0].plan.share.slots == 64
    (line,) = notes
    assert line.startswith(f"worker 0 (gpu 0) died: {LOST}; ")
    died, restarted = read_log(parent.inflight.path.parent)
    assert (died["event"], restarted["event"]) == ("worker died", "worker restarted")
    assert (died["worker"], died["pid"], died["stage"]) == ("worker 0 (gpu 0)", 4711, "playing")
    assert (died["reason"], died["stderr"]) == (str(LOST), ["CUDA error"])


def test_after_running_out_of_memory_a_worker_starts_with_half_the_slots(
    parent: WorkAssigner, notes: list[str]
) -> None:
    _die(parent, NO_MEMORY)
    assert parent.pool.workers[0].plan.share == replace(parent.share, slots=32)
    assert notes[-1] == "worker 0 (gpu 0) goes on with 32 slots"
    _die(parent, NO_MEMORY)
    assert parent.pool.workers[0].plan.share.slots == FEWEST_SLOTS
    with pytest.raises(WorkerDied, match="3 times in a row: out of device memory"):
        _die(parent, NO_MEMORY)


def test_a_worker_that_chose_its_share_is_followed_by_half_of_that(
    parent: WorkAssigner, notes: list[str]
) -> None:
    """Also where it was told in the last words; a larger choice leaves the plan as it is."""
    tell = {"kind": "share", "slots": 100, "games": 200}
    parent.handle_message(parent.pool.workers[0], tell)
    assert notes[-1] == "worker 0 (gpu 0): 200 games in parallel, network batch 100"
    assert parent.pool.workers[0].plan.share == parent.share
    dying: Any = parent.pool.workers[0]
    failed = {"kind": "failed", "error": str(NO_MEMORY), "out_of_memory": True}
    dying.pipe.receive = lambda: [tell | {"slots": 40, "games": 80}, failed]
    parent._replace(dying, "exit code 1")
    assert parent.pool.workers[0].plan.share == replace(parent.share, slots=20)
    parent.handle_message(parent.pool.workers[0], tell | {"slots": 20, "games": 40})
    halved = parent.pool.halve_share(parent.pool.workers[0].plan)
    assert halved == replace(parent.share, slots=10, games=20)


def test_a_worker_that_brings_games_may_die_as_often_as_it_likes(parent: WorkAssigner) -> None:
    """Also where it died between writing a shard and telling of it."""
    for _ in range(8):
        dying = parent.pool.workers[0]
        assert isinstance(dying, DyingWorker)
        name = f"{dying.plan.shard_prefix}-000000.npz"
        shard(dying.plan.run.games, name, [dying.first_game], parent.pool.run_id)
        _die(parent, LOST)
    assert (parent.ledger.num_recorded, parent.restarts) == (8, 8)
    _die(parent, LOST)
    with pytest.raises(WorkerDied, match="3 times in a row"):
        _die(parent, LOST)


def test_a_gpu_worker_may_compile_longer_than_it_may_stall(parent: WorkAssigner) -> None:
    handle = parent.pool.workers[0]
    assert parent.pool.stall_timeout_s(handle) == CONFIG.stall_timeout_s
    for stage in ("starting", "loading the network", COMPILING):
        handle.stage = stage
        assert parent.pool.stall_timeout_s(handle) == worker_pool.LOADING_S


def test_a_worker_that_was_killed_for_want_of_memory_is_followed_by_a_smaller_one(
    parent: WorkAssigner, notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's count of such kills tells them from others; it may happen until one game is
    left, and then as often as any death."""
    kills, pool = parent.pool._oom_kills, parent.pool

    def end_as(killed_so_far: int) -> None:
        monkeypatch.setattr(worker_pool, "oom_kills", lambda: killed_so_far)
        dying: Any = pool.workers[0]
        dying.pipe.receive = list
        dying.was_killed, dying.reason_of_death = True, lambda: "killed by SIGKILL"
        parent._replace(dying, pool.reason_of_death(dying))

    end_as(kills)
    assert "died: killed by SIGKILL; possibly out of memory; " in notes[0]
    games = [pool.workers[0].plan.share.games]
    notes.clear()
    while games[-1] > 1:
        kills += 1
        end_as(kills)
        games.append(pool.workers[0].plan.share.games)
    assert games == [128, 64, 32, 16, 8, 4, 2, 1]
    assert "killed by the system, out of memory: it may use " in notes[0]
    assert notes[1] == "worker 0 (gpu 0) goes on with 64 games at a time and 32 slots"
    end_as(kills + 1)
    with pytest.raises(WorkerDied, match="3 times in a row: killed by the system, out of memory"):
        end_as(kills + 2)
