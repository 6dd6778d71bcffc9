"""Self-play generations: each has its own segments and shards, whatever else is on disk."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.store.games import made_up
from tests.train.distributed.meeting import Meeting, at_once
from tests.train.distributed.meeting import stop as stop_beats
from vecchess.config import TrainConfig, build
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.supervisor.supervisor import RunResult
from vecchess.selfplay.supervisor.worker_throughput import Throughput
from vecchess.selfplay.worker.networks import latest_net, publish
from vecchess.snn.create import create_sized
from vecchess.snn.presets import NetConfig
from vecchess.store import manifest as manifests
from vecchess.store.id_set import IdSet
from vecchess.store.maintenance.prune_games import first_needed
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.run_folder import RunFolder
from vecchess.store.seating import Seating
from vecchess.store.shard import write_shard
from vecchess.store.stats import GameStats
from vecchess.train.data.replay_window import GivenShards
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.run_copies import RunCopies
from vecchess.train.selfplay_source import SelfplaySource

SEATS, TURNS = 6, 40


class FakeSupervisor:
    """Records a made-up game for each segment, two shards a generation, unless they are there."""

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self.played: list[int] = []
        self.stops = False

    def play(self, net: str, segments: IdSet, heartbeat: Any) -> RunResult:
        for _ in range(4):  # some more after a stop, while workers write what they finished
            self.stops = bool(heartbeat()) or self.stops
        manifest = Manifest(self.run.games)
        wanted = (segments - manifest.segments).ids
        self.played += wanted.tolist()
        for part in np.array_split(wanted, 2):
            if len(part):
                records = made_up(part.tolist(), searched=True)
                file = f"{part[0]:06d}.npz"
                entry = ShardEntry.of(file, write_shard(self.run.games / file, records), records)
                manifest.append(replace(entry, segments=IdSet.of(part), cut="c" * 64))
                self.run.cuts.mkdir(exist_ok=True)
                (self.run.cuts / file).touch()
        stopped_by, stats = "SIGTERM" if self.stops else "", GameStats()
        stats.add(*(entry.stats for entry in manifest.entries_of(segments)))
        return RunResult(stats, Throughput(), 1.0, stopped_by, 0)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "run")
    folder.create()
    publish(
        create_sized(NetConfig(num_planes=25, blocks=1, channels=32, time_steps=4), 1), folder, 0, 0
    )
    return folder


def generations(
    run: RunFolder,
    shards: GivenShards | None = None,
    **settings: Any,
) -> tuple[SelfplaySource, FakeSupervisor]:
    sizes = {"positions_per_iter": SEATS * TURNS, "seats": SEATS, "batch_size": 4}
    supervisor, ranks = FakeSupervisor(run), Ranks.alone(torch.device("cpu"))
    config = build(TrainConfig, sizes | settings)
    copies = RunCopies(run, ranks)
    source = SelfplaySource(config, copies, ranks, StopSignals(), supervisor, shards)  # type: ignore[arg-type]
    return source, supervisor


@pytest.mark.parametrize(
    ("settings", "seating"),
    [
        ({}, (96, 200)),
        ({"positions_per_iter": 50}, (1, 50)),
        ({"positions_per_iter": 50, "seats": 200}, (50, 1)),
        ({"positions_per_iter": 1000, "seats": 3}, (3, 333)),
    ],
)
def test_an_iteration_is_divided_evenly(settings: dict[str, int], seating: object) -> None:
    assert Seating.of(build(TrainConfig, settings)) == Seating.of(settings) == seating


def test_an_iteration_learns_from_the_window(run: RunFolder) -> None:
    source, supervisor = generations(run, samples_per_position=2.0, window_positions=1000)
    plans = [source.prepare(iteration, 10 * iteration) for iteration in range(3)]
    assert supervisor.played == list(range(3 * SEATS))
    specs = [plan.spec(7) for plan in plans if plan]
    assert [(spec.source_first, spec.source_end) for spec in specs] == [(0, 6), (0, 12), (0, 18)]
    facts = [plan.facts for plan in plans if plan]
    assert [one["games"] for one in facts] == [SEATS] * 3
    assert facts[2]["window_positions"] == sum(one["positions"] for one in facts)
    for plan, one in zip(plans, facts, strict=True):
        assert plan
        assert plan.num_steps == round(one["positions"] * 2.0 / 4)


def test_drawn_moves_are_learnt_from_in_their_generation(run: RunFolder) -> None:
    source, _ = generations(run, objective="reinforce")
    specs = []
    for iteration in range(3):
        plan = source.prepare(iteration, 5 * iteration)
        assert plan
        specs.append(plan.spec(5 * iteration))
    assert [(spec.source_first, spec.source_end) for spec in specs] == [(0, 6), (6, 12), (12, 18)]
    assert [(spec.step, spec.in_epochs) for spec in specs] == [(0, True)] * 3
    orders = {tuple(spec.draw(20).tolist()) for spec in specs}
    assert len(orders) == 3, "each generation in an order of its own"
    for objective, samples in (("reinforce", 1), ("ppo", 3)):
        source, _ = generations(run, objective=objective)
        plan = source.prepare(0, 0)
        assert plan
        assert plan.positions == SEATS * TURNS, "unfinished games count"
        assert plan.num_steps == round(plan.positions * samples / 4)
    source, _ = generations(run, objective="ppo", samples_per_position=0.5)
    plan = source.prepare(0, 0)
    assert plan
    assert plan.num_steps == round(plan.positions / 8)


def place_of(folder: Path, num_shards: int) -> Path:
    """A folder of empty files that are named as shards."""
    folder.mkdir(exist_ok=True)
    for number in range(num_shards):
        (folder / f"{number}.npz").touch()
    return folder


@pytest.mark.parametrize("of_older_run", [False, True])
def test_reference_games_are_those_that_the_run_began_with(
    run: RunFolder, tmp_path: Path, of_older_run: bool
) -> None:
    places = [place_of(tmp_path / "a", 2), place_of(tmp_path / "b", 3)]
    began = GivenShards(places)
    source, _ = generations(run, began, data=tuple(places), data_share=0.5)
    state = json.loads(json.dumps(source.state()))
    assert state["reference_shards"] == [2, 3]
    if of_older_run:
        state["reference_shards"] = 5
    place_of(places[1], 7)  # the last place, so that an older run has the same games too
    if not of_older_run:
        place_of(places[0], 4)
    grown = GivenShards(places)
    again, _ = generations(run, grown, data=tuple(places), data_share=0.5)
    again.restore(state)
    plan = again.prepare(0, 0)
    assert plan
    assert (plan.spec(0).num_reference_shards, plan.spec(0).reference_share) == (5, 0.5)
    assert grown.parts(0, 5) == began.parts(0, 5)
    joined = GivenShards([place_of(tmp_path / "joined", 1), places[1]])
    compacted, _ = generations(run, joined, data=tuple(places), data_share=0.5)
    compacted.restore(source.state())
    assert compacted.state()["reference_shards"] == [1, 3]


def test_a_run_that_goes_back_plays_nothing_twice(run: RunFolder) -> None:
    source, _ = generations(run)
    source.prepare(0, 0)
    state = json.loads(json.dumps(source.state()))
    later = [source.prepare(iteration, 0) for iteration in (1, 2)]
    again, supervisor = generations(run)
    again.restore(state)
    for iteration, expected in zip((1, 2), later, strict=True):
        plan = again.prepare(iteration, 0)
        assert plan
        assert expected
        assert plan.spec(0) == expected.spec(0)
        assert plan.positions == expected.positions
    assert supervisor.played == []


def test_a_run_that_goes_back_plays_with_the_network_of_then(run: RunFolder) -> None:
    source, _ = generations(run)
    state, before = json.loads(json.dumps(source.state())), latest_net(run)
    publish(
        create_sized(NetConfig(num_planes=25, blocks=1, channels=32, time_steps=4), 2), run, 9, 9
    )
    assert latest_net(run) != before
    source.restore(state)
    assert latest_net(run) == before


@pytest.mark.parametrize("gate", ["", "0,5"])
def test_a_candidate_has_to_beat_the_network_of_then(run: RunFolder, gate: str) -> None:
    source, _ = generations(run, gate=gate)
    source.prepare(0, 0)
    state, before = json.loads(json.dumps(source.state())), latest_net(run)
    source.prepare(1, 0)
    copies = RunCopies(RunFolder(run.path / "copy"), source._ranks)  # of a rank without the games
    SelfplaySource(source._config, copies, source._ranks, StopSignals(), None).restore(state)
    publish(
        create_sized(NetConfig(num_planes=25, blocks=1, channels=32, time_steps=4), 2), run, 9, 9
    )
    again, _ = generations(run, gate=gate)
    again.restore(state)
    assert (latest_net(run) == before) == bool(gate), "no game is left to play with it"


def test_a_stop_leaves_the_generation_to_the_next_start(run: RunFolder) -> None:
    source, supervisor = generations(run)
    supervisor.stops = True
    assert source.prepare(0, 0) is None
    assert source.state()["history"] == []
    assert latest_net(run).file.exists()


def test_what_checkpoints_need_is_noted_for_pruning(run: RunFolder) -> None:
    """The window of the oldest kept checkpoint, or an earlier one: never a game that is read."""
    settings = {"window_positions": 1000, "keep_checkpoints": 1, "checkpoint_every": 2}
    source, _ = generations(run, **settings)
    needed = [first_needed(run.games, is_training=True)]
    firsts = []
    for iteration in range(12):
        plan = source.prepare(iteration, 0)
        assert plan
        firsts.append(plan.spec(0).source_first)
        needed.append(first_needed(run.games, is_training=True))
    assert needed == sorted(needed)
    assert needed[1:] == [0, 0, 0, 0, *firsts[:8]]
    assert needed[-1] > 0, "the window has moved"
    kept = sorted(int(path.stem) // SEATS for path in run.cuts.iterdir())
    assert set(kept) == set(range(7, 12)), "a run goes on from checkpoints of iterations 8 to 12"
    checked, _ = generations(run, executor="mailbox", **settings)
    checked.restore(source.state())
    checked._note_needed()
    assert first_needed(run.games, is_training=True) == 0, "it may have to go back to the first"
    (run.cuts / "lost.npz").touch()
    source.prepare(12, 0)
    assert not (run.cuts / "lost.npz").exists()


def test_of_the_manifest_only_new_lines_are_read(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, _ = generations(run)
    for iteration in range(3):
        source.prepare(iteration, 0)
    parse, num_lines = manifests.parse_lines, list[int]()

    def spy(lines: list[bytes], first: int) -> list[ShardEntry]:
        num_lines.append(len(lines))
        return parse(lines, first)

    monkeypatch.setattr(manifests, "parse_lines", spy)
    source._note_needed()
    assert num_lines == [0]


def test_what_a_checkpoint_says_is_checked(run: RunFolder) -> None:
    source, _ = generations(run)
    source.restore({"history": [300, 200], "reference_shards": 0})
    assert source.state()["history"] == [300, 200]
    for history in ([1, -2], [True], ["4"], [[300, 1]], 5):
        with pytest.raises((TypeError, ValueError)):
            source.restore({"history": history, "reference_shards": 0})


def test_all_ranks_wait_for_a_stop_to_be_carried_out(run: RunFolder) -> None:
    """Heart-beats go on until the last worker has written what it finished."""
    meeting = Meeting()
    sources = []
    for ranks in meeting.of(3):
        ranks.num_nodes = 1
        config = build(TrainConfig, {"positions_per_iter": SEATS * TURNS, "seats": SEATS})
        supervisor: Any = FakeSupervisor(run) if ranks.is_main else None
        stop = StopSignals()
        if ranks.rank == 1:
            stop.request_stop("SIGUSR2")
        sources.append(SelfplaySource(config, RunCopies(run, ranks), ranks, stop, supervisor))
    plans = at_once(*(lambda one=one: one.prepare(0, 0) for one in sources))
    assert plans == [None] * 3
    assert all(one._stop.reason for one in sources)
    for ranks in meeting.ranks:
        stop_beats(ranks)
