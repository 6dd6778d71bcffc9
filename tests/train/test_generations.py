"""SelfplaySource: each its own numbers and shards, whatever else is on disk."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.store.games import made_up
from vecchess.config import TrainConfig, build
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.supervisor.run_result import RunResult
from vecchess.selfplay.supervisor.worker_throughput import Throughput
from vecchess.snn.create import create_sized
from vecchess.snn.presets import NetConfig
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import write_shard
from vecchess.store.stats import GameStats
from vecchess.train.checkpoint.checkpoint_folder import STATE_FILE, CheckpointFolder, load
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.publish import latest_net, publish
from vecchess.train.selfplay_source import SelfplaySource

GAMES = 6


class FakeCampaign:
    """Records made-up games, two shards a generation, unless they are there already."""

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self.played: list[int] = []
        self.stops = False

    def play(self, net: str, numbers: range, pulse: Any) -> RunResult:
        pulse()
        known = {int(n) for shard in self.run.manifest().shards for n in shard.read().numbers}
        wanted = [number for number in numbers if number not in known]
        self.played += wanted
        manifest = Manifest(self.run.games)
        for part in np.array_split(np.array(wanted, np.int64), 2):
            if len(part):
                records = made_up(part.tolist(), searched=True)
                file = f"{part[0]:06d}.npz"
                sha256 = write_shard(self.run.games / file, records)
                manifest.append(ShardEntry(file, sha256, GameStats.of(records)))
        stopped_by = "SIGTERM" if self.stops else ""
        return RunResult(GameStats(), Throughput(), 1.0, stopped_by, 0)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "run")
    folder.create()
    publish(create_sized(NetConfig(num_planes=25, blocks=1, channels=32), 1), folder, 0, 0)
    return folder


def generations(
    run: RunFolder, num_reference_shards: int = 0, **settings: Any
) -> tuple[SelfplaySource, FakeCampaign]:
    known = {"games_per_iter": GAMES, "batch_size": 4} | settings
    campaign, ranks = FakeCampaign(run), Ranks.alone(torch.device("cpu"))
    config = build(TrainConfig, known)
    source = SelfplaySource(config, run, ranks, StopSignals(), campaign, num_reference_shards)  # type: ignore[arg-type]
    return source, campaign


def test_every_number_is_somebodys() -> None:
    config = build(TrainConfig, {"games_per_iter": 10})
    numbers: list[int] = []
    for iteration in range(3):
        for node in range(4):
            ranks = Ranks.alone(torch.device("cpu"))
            ranks.num_nodes, ranks.node = 4, node
            part = SelfplaySource(config, RunFolder(Path("none")), ranks, StopSignals(), None)
            numbers += part.numbers(iteration)
    assert numbers == list(range(30))


def test_a_stage_learns_from_the_window(run: RunFolder) -> None:
    source, campaign = generations(run, samples_per_position=2.0, window_positions=1000)
    stages = [source.prepare(iteration, 10 * iteration) for iteration in range(3)]
    assert campaign.played == list(range(3 * GAMES))
    plans = [stage.plan(7) for stage in stages if stage]
    assert [(plan.first_shard, plan.num_shards) for plan in plans] == [(0, 2), (0, 4), (0, 6)]
    told = [stage.told for stage in stages if stage]
    assert [one["games"] for one in told] == [GAMES] * 3
    assert told[2]["window_positions"] == sum(one["positions"] for one in told)
    for stage, one in zip(stages, told, strict=True):
        assert stage
        assert stage.num_steps == round(one["positions"] * 2.0 / 4)


def test_drawn_moves_are_learnt_from_in_their_generation(run: RunFolder) -> None:
    source, _ = generations(run, objective="reinforce")
    plans = []
    for iteration in range(3):
        stage = source.prepare(iteration, 5 * iteration)
        assert stage
        plans.append(stage.plan(5 * iteration))
    assert [(plan.first_shard, plan.num_shards) for plan in plans] == [(0, 2), (2, 4), (4, 6)]
    assert [(plan.step, plan.in_epochs) for plan in plans] == [(0, True)] * 3
    orders = {tuple(plan.draw(20).tolist()) for plan in plans}
    assert len(orders) == 3, "each generation in an order of its own"
    for objective, samples in (("reinforce", 1), ("ppo", 3)):
        source, _ = generations(run, objective=objective)
        stage = source.prepare(0, 0)
        assert stage
        assert stage.num_steps == round(stage.positions * samples / 4)
    source, _ = generations(run, objective="ppo", samples_per_position=0.5)
    stage = source.prepare(0, 0)
    assert stage
    assert stage.num_steps == round(stage.positions / 8)


def test_reference_games_are_those_that_the_run_began_with(run: RunFolder) -> None:
    source, _ = generations(run, 3, data=(Path("games"),), data_share=0.5)
    again, _ = generations(run, data=(Path("games"),), data_share=0.5)
    again.restore(source.state())
    stage = again.prepare(0, 0)
    assert stage
    assert (stage.plan(0).num_reference_shards, stage.plan(0).reference_share) == (3, 0.5)


def test_a_run_that_goes_back_plays_nothing_twice(run: RunFolder) -> None:
    source, _ = generations(run)
    source.prepare(0, 0)
    state = source.state()
    later = [source.prepare(iteration, 0) for iteration in (1, 2)]
    again, campaign = generations(run)
    again.restore(state)
    for iteration, expected in zip((1, 2), later, strict=True):
        stage = again.prepare(iteration, 0)
        assert stage
        assert expected
        assert stage.plan(0) == expected.plan(0)
        assert stage.positions == expected.positions
    assert campaign.played == []


def test_what_is_remembered_of_a_long_run_can_be_read_again(run: RunFolder, tmp_path: Path) -> None:
    source, _ = generations(run)
    parts = [[[4 * i + node, 4 * i + node + 4, 10_000] for node in range(4)] for i in range(2500)]
    source.restore({"history": np.array(parts)})
    path = CheckpointFolder(tmp_path / "checkpoints").save(
        "long", {"source": source.state()}, {"iteration": 2500, "step": 0}
    )
    found = load(path).state["source"]
    assert found["history"].tolist() == parts
    assert (path / STATE_FILE).stat().st_size < 300_000


def test_histories_of_earlier_checkpoints_are_read(run: RunFolder) -> None:
    source, _ = generations(run)
    part = {"first_shard": 0, "end_shard": 2, "positions": 9, "seconds": 1.0, "load": {}}
    source.restore({"history": [[part]]})
    assert source.state()["history"].tolist() == [[[0, 2, 9]]]
    source.restore({"history": []})
    assert len(source.state()["history"]) == 0


def test_a_stop_leaves_the_generation_to_the_next_start(run: RunFolder) -> None:
    source, campaign = generations(run)
    campaign.stops = True
    assert source.prepare(0, 0) is None
    assert len(source.state()["history"]) == 0
    assert latest_net(run).file.exists()
