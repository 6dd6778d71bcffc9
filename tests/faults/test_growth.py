"""Long runs in short: after the warm-up nothing that a process holds grows any more."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from time import sleep

import numpy as np
import pytest
from bench.usage import Usage, descendants, held_by
from rich.console import Console

from bench import usage
from tests.selfplay.test_supervisor import CONFIG
from tests.selfplay.test_swap_network import network, saved
from tests.train.games import games, searched, specs
from vecchess.runtime.devices import CPU
from vecchess.runtime.progress import ProgressDisplay
from vecchess.selfplay.supervisor import status_watcher as chronicles
from vecchess.selfplay.supervisor.status_watcher import StatusWatcher, write_throughput
from vecchess.selfplay.supervisor.supervisor import Supervisor
from vecchess.store import status_file as statuses
from vecchess.store.id_set import IdSet
from vecchess.store.metrics import MetricsLog
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import write_shard
from vecchess.store.status_file import StatusWriter
from vecchess.train.data.batch_loader import BatchLoader
from vecchess.train.data.replay_window import GivenShards

ROOT = Path(__file__).parents[2]
MOST_MB = 16.0
"""By so much the memory of a process that has warmed up may differ: allocators go on settling."""
SAMPLES, PAUSE_S = 10, 0.02

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux only")


def holdings() -> dict[str, float]:
    """What this process and those below it hold, all together, when they hold the least: threads
    and descriptors come and go."""
    samples = []
    for _ in range(SAMPLES):
        pids = [os.getpid(), *descendants(os.getpid())]
        held = [found for pid in pids if (found := held_by(pid)) is not None]
        total = {kind: sum(one[kind] for one in held) for kind in held[0]}
        samples.append(total | {"processes": len(held), "shared": len(shared_by(pids))})
        sleep(PAUSE_S)
    return {kind: min(sample[kind] for sample in samples) for kind in samples[0]}


def shared_by(pids: list[int]) -> set[str]:
    """Files in shared memory that these processes have mapped, with their inodes."""
    found = set()
    for pid in pids:
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
            found |= {" ".join(line.split()[4:]) for line in lines if f" {usage.SHM}/" in line}
    return found


def assert_nothing_grows(once: Callable[[int], object], warm: int, times: int) -> None:
    """``once(number)`` again and again: after ``warm`` times nothing more is held."""
    for number in range(warm):
        once(number)
    before = holdings()
    for number in range(warm, warm + times):
        once(number)
    after = holdings()
    grown = {kind: after[kind] - before[kind] for kind in before}
    assert grown.pop("rss_mb") < MOST_MB * before["processes"]
    assert all(growth <= 0 for growth in grown.values()), grown


@pytest.mark.thorough
def test_generations_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With another network each, a shard a game, and all that is told of them."""
    monkeypatch.setattr(statuses, "INTERVAL_S", 0.01)
    monkeypatch.setattr(chronicles, "STATUS_INTERVAL_S", 0.01)
    monkeypatch.setattr(chronicles, "METRICS_INTERVAL_S", 0.01)
    run, files = RunFolder(tmp_path / "run"), [saved(tmp_path, network(seed)) for seed in (1, 2)]
    run.create()
    config = CONFIG.model_copy(update={"shard_games": 1, "shard_interval_s": 0.01})
    display = ProgressDisplay(Console(quiet=True), quiet=True)
    with (
        StatusWriter(run, "selfplay") as status,
        closing(MetricsLog(run.path, report_line=status.add_note)) as log,
        Supervisor(
            config,
            run,
            [CPU],
            StatusWatcher(display, status, partial(write_throughput, log)),
        ) as supervisor,
    ):

        def generation(number: int) -> None:
            result = supervisor.play(files[number % 2], IdSet([(4 * number, 4 * number + 4)]))
            assert result.stats.games == 4

        assert_nothing_grows(generation, warm=4, times=8)
        assert supervisor.assigner.restarts == 0
    assert run.records().num_games == 48


def test_loaders_leave_nothing_behind(tmp_path: Path) -> None:
    records = searched(games())
    for index in range(4):
        write_shard(tmp_path / f"{index}.npz", records.take(np.arange(3 * index, 3 * index + 3)))
    with BatchLoader(GivenShards([tmp_path]), threads=1) as loader:
        assert_nothing_grows(lambda _: len(list(loader.batches(specs(4)))), warm=5, times=20)


def test_growth_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a process that takes a megabyte and a descriptor a second, and one that takes nothing."""
    clock, held = [0.0], {"rss_mb": 100.0, "descriptors": 10.0, "threads": 3.0}
    monkeypatch.setattr(usage, "monotonic", lambda: clock[0])
    monkeypatch.setattr(usage, "descendants", lambda root: [7])
    monkeypatch.setattr(
        usage, "held_by", lambda pid: {k: v + clock[0] * (pid == 1) for k, v in held.items()}
    )
    found = Usage(1)
    for second in range(101):
        clock[0] = float(second)
        found.sample()
    growth = found.growth(settle_s=40.0)
    assert growth["main"] == {"rss_mb": 60.0, "descriptors": 60.0, "threads": 60.0}
    assert growth["child"] == {"rss_mb": 0.0, "descriptors": 0.0, "threads": 0.0}
    assert growth["all"]["children"] == 0.0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_day_in_two_minutes() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.endurance", "--minutes", "2"], cwd=ROOT,
        capture_output=True, text=True, check=False, timeout=400,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["exit_codes"] == {"train": 75, "uci": 0}
    assert (report["grew"], report["processes_left"]) == ([], [])
    assert min(report["intervals"].values()) > 0
