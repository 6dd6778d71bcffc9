"""Generations played by workers that live on: the same games, each once, whatever happens."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from bench.fake_device import FAKE

from tests.selfplay.test_swap_network import network, play, saved, server_of
from tests.store.games import made_up
from vecchess.config import GameConfig, SelfplayConfig, TreeConfig
from vecchess.config.settings import MOST_GAMES
from vecchess.errors import NetworkError
from vecchess.runtime.devices import CPU
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.supervisor import supervisor as supervisor_module
from vecchess.selfplay.supervisor.supervisor import SelfplayWatcher, Supervisor
from vecchess.snn.create import create_sized
from vecchess.store.id_set import IdSet
from vecchess.store.manifest import ShardEntry
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_log import RunLog, read_log
from vecchess.store.seating import Seating

CONFIG = SelfplayConfig(
    slots=8, seed=3, shard_interval_s=0.05,
    game=GameConfig(max_plies=24, random_plies=2),
)  # fmt: skip
WAITING = CONFIG.model_copy(update={"backend": f"{FAKE}?latency=3ms"})
"""The same games on a device that takes its time, so that a few of them can be disturbed."""
GUMBEL = TreeConfig(search="gumbel", sims=4, cache_mb=1)


class Notes(SelfplayWatcher):
    """A watcher that keeps what it is told, and does something in every round."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.do: Callable[[Supervisor], object] = lambda supervisor: None

    def update(self, supervisor: Supervisor) -> None:
        self.do(supervisor)

    def report_line(self, line: str) -> None:
        self.lines.append(line)

    @property
    def deaths(self) -> list[str]:
        return [line for line in self.lines if "died" in line]


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    run = RunFolder(tmp_path / "run")
    run.create()
    return run


def digest_of(run: RunFolder, first: int, end: int) -> str:
    """Of the recorded games first .. end, of which none may lack and none be there twice."""
    records = run.records()
    inside = np.flatnonzero((records.numbers >= first) & (records.numbers < end))
    assert records.numbers[inside].tolist() == list(range(first, end))
    return records.take(inside).digest()


@pytest.mark.thorough
@pytest.mark.parametrize("tree", [TreeConfig(), pytest.param(GUMBEL, marks=pytest.mark.slow)])
def test_generations(tree: TreeConfig, run: RunFolder, tmp_path: Path) -> None:
    """Two networks in turns, a worker killed between generations, one that crashes in the midst of
    one, and a network of other sizes, which ends the supervisor with a word."""
    config = WAITING.model_copy(update={"tree": tree})
    files = [saved(tmp_path, network(seed)) for seed in (1, 2)]
    notes, far = Notes(), 10**9

    def crash_one(supervisor: Supervisor) -> None:
        worker = supervisor.workers.get(1)
        if supervisor.ledger.num_recorded > 0 and worker is not None and worker.has_played:
            os.kill(worker.pid, signal.SIGSEGV)
            notes.do = lambda supervisor: None

    notes.log_event = RunLog(run.path).write  # type: ignore[method-assign]
    with Supervisor(config, run, [CPU, CPU], notes) as supervisor:
        assert supervisor.workers == {}
        first = supervisor.play(files[0], IdSet([(0, 16)]))
        pids = [worker.pid for worker in supervisor.workers.values()]
        second = supervisor.play(files[1], IdSet([(16, 24), (far, far + 8)]))
        assert [worker.pid for worker in supervisor.workers.values()] == pids
        assert (first.stats.games, second.stats.games, notes.deaths) == (16, 16, [])
        assert second.throughput.games_per_s > 0

        os.kill(pids[0], signal.SIGKILL)
        supervisor.workers[0].kill()
        third = supervisor.play(files[0], IdSet([(32, 40)]))
        assert (third.restarts, third.stats.games) == (1, 8)
        assert "killed by SIGKILL; possibly out of memory; 0 unfinished" in notes.deaths[0]

        notes.do = crash_one
        fourth = supervisor.play(files[1], IdSet([(100, 160)]))
        assert (fourth.restarts, fourth.stats.games, fourth.stopped_by) == (1, 60, "")
        workers = list(supervisor.workers.values())
        other = create_sized(network(1).config.model_copy(update={"blocks": 1}), 1)
        with pytest.raises(NetworkError, match="other sizes"):
            supervisor.play(saved(tmp_path, other), IdSet([(160, 164)]))
        assert (supervisor.workers, supervisor.ledger.num_recorded) == ({}, 0)
    assert not any(worker.is_alive for worker in workers)
    assert_the_log_keeps_why_a_worker_crashed(run, files)

    fresh = [server_of(CONFIG.model_copy(update={"tree": tree}), file) for file in files]
    for server, numbers in ((0, (0, 16)), (1, (16, 24)), (1, (far, far + 8)), (0, (32, 40))):
        records = play(fresh[server], *numbers)
        assert digest_of(run, *numbers) == records.digest()
        assert records.nets == (network(1 + server).sha256,)
    assert digest_of(run, 100, 160) == play(fresh[1], 100, 160).digest()
    for server in fresh:
        server.close()


def assert_the_log_keeps_why_a_worker_crashed(run: RunFolder, nets: list[str]) -> None:
    """A segmentation fault tells of itself on stderr alone."""
    events = list(read_log(run.path))
    kinds = [each["event"] for each in events]
    assert kinds[0] == "network"
    assert events[0]["net"] == Path(nets[0]).name
    died = [each for each in events if each["event"] == "worker died"]
    assert [each["reason"].partition(";")[0] for each in died[:2]] == [
        "killed by SIGKILL", "killed by SIGSEGV",
    ]  # fmt: skip
    assert "Fatal Python error: Segmentation fault" in died[1]["stderr"]
    after = events[events.index(died[1]) + 1]
    assert (after["event"], after["pid"] != died[1]["pid"]) == ("worker restarted", True)


def segments_by_worker(run: RunFolder, seating: Seating, generation: int) -> list[int]:
    """How many segments of a generation each of two workers played."""
    entries = run.manifest().entries_of(seating.segments(generation, generation + 1))
    counts = [0, 0]
    for entry in entries:
        counts[int(entry.file.split("-")[1])] += len(entry.segments)
    return counts


@pytest.mark.thorough
def test_a_slow_worker_gets_fewer_seats(tmp_path: Path) -> None:
    """And the games are those of one worker."""
    seating, file, digests = Seating(seats=24, turns=12), saved(tmp_path, network(1)), []
    for number, latency in ((2, "25ms&slow_worker=1"), (1, "0s")):
        run = RunFolder(tmp_path / str(number))
        run.create()
        backend = f"{FAKE}?latency={latency}"
        config = CONFIG.model_copy(update={"backend": backend})
        with Supervisor(config, run, [CPU] * number, Notes(), seating=seating) as supervisor:
            for generation in range(3):
                supervisor.play(file, seating.segments(generation, generation + 1))
        digests.append(run.records().digest())
        counts = [segments_by_worker(run, seating, generation) for generation in range(3)]
        if number == 2:
            assert counts[0] == [12, 12], "nothing is known of their speed"
            assert counts[1][0] > 12 < counts[2][0]
        assert [sum(each) for each in counts] == [24] * 3
    assert digests[0] == digests[1]


NUM_STOPPED = 60


@pytest.mark.thorough
def test_a_generation_is_stopped_and_gone_on_with(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the caller's pulse where it has no end, by a signal where it is of any size, and by
    another process later."""
    files = [saved(tmp_path, network(seed)) for seed in (1, 2)]
    monkeypatch.setattr(supervisor_module, "HEARTBEAT_S", 0.0)
    notes, calls, left = Notes(), [], list[float | None]()
    with StopSignals() as stops, Supervisor(WAITING, run, [CPU], notes, stops) as supervisor:

        def heartbeat() -> str:
            calls.append(time.monotonic())
            return "the others wait" if supervisor.ledger.num_recorded else ""

        notes.do = lambda supervisor: left.append(supervisor.remaining_s)
        result = supervisor.play(files[0], IdSet([(0, MOST_GAMES)]), heartbeat)
        assert (supervisor.target, result.stopped_by) == (0, "the others wait")
        recorded = result.stats.games
        assert len(calls) > 1
        assert 0 < recorded == supervisor.ledger.num_recorded < NUM_STOPPED
        assert (supervisor.workers, set(left)) == ({}, {None})

        def interrupt(supervisor: Supervisor) -> None:
            if supervisor.ledger.num_recorded > recorded:
                signal.raise_signal(signal.SIGTERM)

        notes.do = interrupt
        result = supervisor.play(files[0], IdSet([(0, 99_999_999_999_999)]))
        assert (result.stopped_by, stops.reason) == ("SIGTERM", "SIGTERM")
        assert recorded < result.stats.games == run.manifest().stats.games < NUM_STOPPED
        assert supervisor.play(files[1], IdSet()).stats.games == 0
    with Supervisor(CONFIG, run, [CPU], Notes()) as supervisor:
        assert supervisor.play(files[0], IdSet([(0, NUM_STOPPED)])).stats.games == NUM_STOPPED
    fresh = server_of(CONFIG, files[0])
    assert digest_of(run, 0, NUM_STOPPED) == play(fresh, 0, NUM_STOPPED).digest()
    fresh.close()


def test_a_generation_that_is_recorded_needs_no_worker(run: RunFolder, tmp_path: Path) -> None:
    with Supervisor(CONFIG, run, [CPU], Notes()) as supervisor:
        result = supervisor.play("no such file", IdSet())
        assert (result.stats.games, result.stopped_by, supervisor.workers) == (0, "", {})


def test_games_that_wait_are_counted_beside_recorded_segments(run: RunFolder) -> None:
    """Of two segments whose three games are recorded; the worker has finished two games more."""
    games = made_up([0, 1, 8])
    entry = ShardEntry.of("0000-000-aa0000-000000.npz", "", games)
    supervisor = Supervisor(CONFIG, run, [CPU], Notes(), seating=Seating(seats=8, turns=60))
    supervisor.assigner.begin_generation("constant", IdSet([(0, 8)]))
    supervisor.ledger.assign(0, 8)
    supervisor.ledger.record(0, replace(entry, segments=IdSet([(0, 2)])))
    worker: Any = SimpleNamespace(games=5, recorded=3)
    supervisor.workers[0] = worker
    assert (supervisor.num_unwritten, supervisor.num_finished) == (2, 5)
