"""Generations played by workers that live on: the same games, each once, whatever happens."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bench.fake_device import FAKE

from tests.selfplay.test_swap_network import network, play, saved, server_of
from vecchess.config import GameConfig, SelfplayConfig, TreeConfig
from vecchess.config.settings import MOST_GAMES
from vecchess.errors import NetworkError
from vecchess.runtime.devices import CPU
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.supervisor import supervisor as supervisor_module
from vecchess.selfplay.supervisor.supervisor import Supervisor, as_ids
from vecchess.snn.create import create_network
from vecchess.store.id_set import IdSet
from vecchess.store.run_folder import RunFolder
from vecchess.store.seating import Seating

CONFIG = SelfplayConfig(
    slots=8, seed=3, shard_interval_s=0.05,
    game=GameConfig(max_plies=24, random_plies=2),
)  # fmt: skip
WAITING = CONFIG.model_copy(update={"backend": f"{FAKE}?latency=3ms"})
"""The same games on a device that takes its time, so that a few of them can be disturbed."""
GUMBEL = TreeConfig(search="gumbel", sims=4, cache_mb=1)


class Notes:
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


@pytest.mark.parametrize("tree", [TreeConfig(), pytest.param(GUMBEL, marks=pytest.mark.slow)])
def test_generations(tree: TreeConfig, run: RunFolder, tmp_path: Path) -> None:
    """Two networks in turns, a worker killed between generations and one in the midst of one."""
    config = WAITING.model_copy(update={"tree": tree})
    files = [saved(tmp_path, network(seed)) for seed in (1, 2)]
    notes, far = Notes(), 10**9

    def kill_one(supervisor: Supervisor) -> None:
        if supervisor.ledger.num_recorded > 0:
            os.kill(supervisor.workers[1].pid, signal.SIGKILL)
            notes.do = lambda supervisor: None

    with Supervisor(config, run, [CPU, CPU], notes) as supervisor:
        assert supervisor.workers == {}
        first = supervisor.play(files[0], range(16))
        pids = [worker.pid for worker in supervisor.workers.values()]
        second = supervisor.play(files[1], IdSet([(16, 24), (far, far + 8)]))
        assert [worker.pid for worker in supervisor.workers.values()] == pids
        assert (first.stats.games, second.stats.games, notes.deaths) == (16, 16, [])
        assert second.throughput.games_per_s > 0

        os.kill(pids[0], signal.SIGKILL)
        supervisor.workers[0].kill()
        third = supervisor.play(files[0], range(32, 40))
        assert (third.restarts, third.stats.games) == (1, 8)
        assert "killed by SIGKILL; possibly out of memory; 0 unfinished" in notes.deaths[0]

        notes.do = kill_one
        fourth = supervisor.play(files[1], range(100, 160))
        assert (fourth.restarts, fourth.stats.games, fourth.stopped_by) == (1, 60, "")
        workers = list(supervisor.workers.values())
    assert not any(worker.is_alive for worker in workers)

    fresh = [server_of(CONFIG.model_copy(update={"tree": tree}), file) for file in files]
    for server, numbers in ((0, (0, 16)), (1, (16, 24)), (1, (far, far + 8)), (0, (32, 40))):
        records = play(fresh[server], *numbers)
        assert digest_of(run, *numbers) == records.digest()
        assert records.nets == (network(1 + server).sha256,)
    assert digest_of(run, 100, 160) == play(fresh[1], 100, 160).digest()
    for server in fresh:
        server.close()


def segments_by_worker(run: RunFolder, seating: Seating, generation: int) -> list[int]:
    """How many segments of a generation each of two workers played."""
    entries = run.manifest().entries_of(seating.segments(generation, generation + 1))
    counts = [0, 0]
    for entry in entries:
        counts[int(entry.file.split("-")[1])] += len(entry.segments)
    return counts


def test_a_slow_worker_gets_fewer_seats(tmp_path: Path) -> None:
    """And the games are those of one worker."""
    seating, file, digests = Seating(seats=24, turns=12), saved(tmp_path, network(1)), []
    for number, name in ((2, "mixed"), (1, "alone")):
        run = RunFolder(tmp_path / name)
        run.create()
        backend = f"{FAKE}?latency=25ms&slow_worker={number - 1 or -1}"
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


NUM_STOPPED = 120


def test_a_generation_is_stopped_and_gone_on_with(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the caller's pulse, by a signal, and by another process later."""
    files = [saved(tmp_path, network(seed)) for seed in (1, 2)]
    monkeypatch.setattr(supervisor_module, "HEARTBEAT_S", 0.0)
    notes, calls = Notes(), []
    with StopSignals() as stops, Supervisor(WAITING, run, [CPU], notes, stops) as supervisor:

        def heartbeat() -> str:
            calls.append(time.monotonic())
            return "the others wait" if supervisor.ledger.num_recorded else ""

        result = supervisor.play(files[0], range(NUM_STOPPED), heartbeat)
        assert result.stopped_by == "the others wait"
        recorded = result.stats.games
        assert len(calls) > 1
        assert 0 < recorded == supervisor.ledger.num_recorded < NUM_STOPPED
        assert supervisor.workers == {}

        def interrupt(supervisor: Supervisor) -> None:
            if supervisor.ledger.num_recorded > recorded:
                signal.raise_signal(signal.SIGTERM)

        notes.do = interrupt
        result = supervisor.play(files[0], range(NUM_STOPPED))
        assert (result.stopped_by, stops.reason) == ("SIGTERM", "SIGTERM")
        assert recorded < result.stats.games < NUM_STOPPED
        assert supervisor.play(files[1], range(400, 310)).stats.games == 0
    with Supervisor(CONFIG, run, [CPU], Notes()) as supervisor:
        assert supervisor.play(files[0], range(NUM_STOPPED)).stats.games == NUM_STOPPED
    fresh = server_of(CONFIG, files[0])
    assert digest_of(run, 0, NUM_STOPPED) == play(fresh, 0, NUM_STOPPED).digest()
    fresh.close()


def test_a_network_of_other_sizes_ends_the_supervisor_with_a_word(
    run: RunFolder, tmp_path: Path
) -> None:
    sizes = tmp_path / "sizes.toml"
    sizes.write_text("blocks = 1\nchannels = 32\n")
    other = saved(tmp_path, create_network(str(sizes), 1))
    with Supervisor(CONFIG, run, [CPU], Notes()) as supervisor:
        supervisor.play(saved(tmp_path, network(1)), range(4))
        with pytest.raises(NetworkError, match="other sizes"):
            supervisor.play(other, range(4, 8))
        assert supervisor.workers == {}
        assert supervisor.ledger.num_recorded == 0
    assert digest_of(run, 0, 4)


def test_a_generation_that_is_recorded_needs_no_worker(run: RunFolder, tmp_path: Path) -> None:
    with Supervisor(CONFIG, run, [CPU], Notes()) as supervisor:
        result = supervisor.play("no such file", range(5, 5))
        assert (result.stats.games, result.stopped_by, supervisor.workers) == (0, "", {})


def test_games_are_numbered_in_steps_of_one() -> None:
    assert as_ids(range(3, 7)).ranges == [(3, 7)]
    assert as_ids(IdSet([(0, 2), (9, 10)])).ranges == [(0, 2), (9, 10)]
    with pytest.raises(ValueError, match="steps of 1"):
        as_ids(range(0, 10, 2))


def test_a_target_of_any_size_starts_at_once_and_can_be_stopped(
    run: RunFolder, tmp_path: Path
) -> None:
    notes = Notes()

    def stop(supervisor: Supervisor) -> None:
        if supervisor.ledger.num_recorded:
            supervisor.stop("enough")

    notes.do = stop
    with Supervisor(CONFIG, run, [CPU], notes) as supervisor:
        result = supervisor.play(saved(tmp_path, network(1)), range(99_999_999_999_999))
    assert result.stopped_by == "enough"
    assert 0 < result.stats.games == run.manifest().stats.games


def test_a_generation_without_an_end(run: RunFolder) -> None:
    notes, left = Notes(), list[float | None]()
    notes.do = lambda supervisor: left.append(supervisor.remaining_s)
    with Supervisor(CONFIG, run, [CPU], notes) as supervisor:
        ended = supervisor.play(
            "constant",
            range(MOST_GAMES),
            lambda: "enough" if supervisor.ledger.num_recorded else "",
        )
        assert (supervisor.target, ended.stopped_by) == (0, "enough")
    assert ended.stats.games > 0
    assert set(left) == {None}
