"""Generations played by others give the bits of one machine."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tests.fleet.simulated_store import SimulatedStore
from vecchess.config import ContributeConfig, SelfplayConfig, TrainConfig, build
from vecchess.fleet.block_games import BlockGames
from vecchess.fleet.contributor import contribute
from vecchess.fleet.fleet_run import FleetExecutor
from vecchess.fleet.steps import Store
from vecchess.runtime.devices import CPU
from vecchess.runtime.progress import ProgressDisplay
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.supervisor.supervisor import SelfplayWatcher, Supervisor
from vecchess.selfplay.worker.networks import store_net
from vecchess.snn.create import create_sized
from vecchess.snn.presets import NetConfig
from vecchess.store.inflight import read_saved
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import pin_run
from vecchess.store.seating import Seating
from vecchess.store.status_file import StatusWriter

pytestmark = pytest.mark.thorough

NET = NetConfig(num_planes=25, blocks=1, channels=32, time_steps=4)
CONFIG = build(
    TrainConfig,
    {
        "seats": 20, "positions_per_iter": 400, "seed": 3, "gpus": "cpu", "threads": 1,
        "block_seats": 3, "verify_share": 0.0, "tree": {"sims": 4},
        "game": {"max_plies": 30, "temperature": "1.0"},
    },
)  # fmt: skip
GENERATIONS = 3


class Quiet(SelfplayWatcher):
    """A watcher that keeps the lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def show(self, facts: dict[str, Any]) -> None:
        self.facts = facts

    def report_line(self, line: str) -> None:
        self.lines.append(line)


def new_run(path: Path) -> RunFolder:
    run = RunFolder(path)
    run.create()
    pin_run(run, CONFIG)
    return run


def play_all(run: RunFolder, executor: Any, name: str = "") -> None:
    """Play all generations, each with a network of its own, all of them files of that name."""
    seating = Seating.of(CONFIG)
    for generation in range(GENERATIONS):
        net = store_net(create_sized(NET, generation), run)
        net = net.replace(net.with_name(name)) if name else net
        result = executor.play(str(net), seating.segments(generation, generation + 1))
        assert not result.stopped_by


def digests(run: RunFolder) -> list[str]:
    """A digest of the games of each generation: those that ended, and those that wait."""
    manifest, seating, found = run.manifest(), Seating.of(CONFIG), []
    for generation in range(GENERATIONS):
        entries = manifest.entries_of(seating.segments(generation, generation + 1))
        ended = [manifest.shard(entry).read() for entry in entries]
        waiting = [read_saved(run.cuts / entry.file, run.run_id, entry.cut) for entry in entries]
        from vecchess.store.inflight import join_saved
        from vecchess.store.records import concatenate

        games = BlockGames(concatenate(ended), join_saved(waiting))
        order = np.argsort(games.waiting.records.numbers)  # type: ignore[union-attr]
        digest = games.ended.digest() + games.waiting.take(order).records.digest()  # type: ignore[union-attr]
        found.append(digest)
    return found


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The digests of one machine."""
    run = new_run(tmp_path_factory.mktemp("alone") / "run")
    values = CONFIG.model_dump(include={"seed", "gpus", "threads", "tree", "game"})
    config = build(SelfplayConfig, values)
    with Supervisor(config, run, [CPU], Quiet(), seating=Seating.of(CONFIG)) as supervisor:
        play_all(run, supervisor)
    return digests(run)


@contextmanager
def players(store: Store, num: int) -> Iterator[list[dict[str, Any]]]:
    """Players that go on until the block ends; gets their summaries."""
    stop, summaries = StopSignals(), list[dict[str, Any]]()

    def play() -> None:
        config = build(ContributeConfig, {"gpus": "cpu", "threads": 1, "concurrent_games": 4})
        display = ProgressDisplay(Console(file=StringIO()), quiet=True)
        summaries.append(contribute(store, config, stop, display, tests_itself=False))

    threads = [threading.Thread(target=play) for _ in range(num)]
    for thread in threads:
        thread.start()
    try:
        yield summaries
    finally:
        stop.request_stop("the end of the test")
        for thread in threads:
            thread.join()


@pytest.mark.parametrize(
    ("num_players", "share"), [pytest.param(1, 0.0, marks=pytest.mark.slow), (2, 0.5)]
)
def test_generations_are_those_of_one_machine(
    num_players: int, share: float, tmp_path: Path, alone: list[str]
) -> None:
    run, store, watcher = new_run(tmp_path / "run"), SimulatedStore(), Quiet()
    config = CONFIG.model_copy(update={"verify_share": share})
    with (
        players(store, num_players) as summaries,
        FleetExecutor(config, run, store, [CPU], watcher, keeps_results=False) as executor,
    ):
        play_all(run, executor)
    assert digests(run) == alone
    assert sum(each["blocks"] for each in summaries) >= 7 * GENERATIONS
    assert watcher.lines == []
    assert (executor.num_checked > 0) == (share > 0)
    assert executor.facts["blocks_checked"] == executor.num_checked
    with StatusWriter(run, "train") as status:
        status.update(**executor.facts)


def test_networks_are_told_by_their_content(tmp_path: Path, alone: list[str]) -> None:
    """A training that went back may give another network the name of one that was forgotten. Names
    of networks begin with that of the run's folder, which may have any letter.
    """
    name = ".läufe a+b.safetensors"
    run, store, watcher = new_run(tmp_path / "run"), SimulatedStore(), Quiet()
    store.put(f"nets/{name}", b"of a history that was forgotten")
    with (
        players(store, 1),
        FleetExecutor(CONFIG, run, store, [CPU], watcher, keeps_results=False) as executor,
    ):
        play_all(run, executor, name)
    assert (executor.facts["net"], executor.facts["eta_s"]) == (name, 0.0)
    assert digests(run) == alone
