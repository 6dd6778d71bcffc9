"""Speed and cost of the two halves of a training on this machine: its games, and its updates.

Games are played by the run's own workers, in seats as a training plays them. Updates are made by
the run's learner from its loader processes, on made-up games, or on the recorded ones that it
learns from. Of several ranks one is measured, and their exchange of gradients is not.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import numpy as np
import torch

from vecchess.config import CONSTANT_NET, SelfplayConfig, TrainConfig
from vecchess.evaluate.calibrate_exits import play_here
from vecchess.inference.source import find
from vecchess.machine_limits import num_cores
from vecchess.ragged import offsets_of
from vecchess.runtime.cost_meter import Cost, CostMeter
from vecchess.runtime.devices import CPU, Device, gpu_uuid, parse_gpus, see_only
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.torch_environment import torch_threads
from vecchess.selfplay.supervisor.supervisor import SelfplayWatcher, Supervisor
from vecchess.selfplay.worker.networks import PublishedNet
from vecchess.selfplay.worker.slot_tuning import with_remembered_slots
from vecchess.store.records import GameRecords
from vecchess.store.replay_positions import replay_positions
from vecchess.store.run_folder import RunFolder
from vecchess.store.seating import Seating
from vecchess.store.shard import write_shard
from vecchess.train.data.batch_loader import BatchLoader
from vecchess.train.data.batch_spec import BatchShares, BatchSpec, part_rows
from vecchess.train.data.replay_window import GivenShards
from vecchess.train.data.samples import Samples
from vecchess.train.data.value_targets import SampleRules
from vecchess.train.dataset_source import DatasetSource
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.executor import selfplay_config
from vecchess.train.initial_network import first_net
from vecchess.train.step.learner import Learner

SETTLE_S = 1.0
WARM_UP = 3
"""Updates before the timing, which compile kernels and allocate memory."""
TURNS = 1 << 16
"""More turns of a seat than are measured."""
NUM_GAMES, MAX_PLIES = 64, 120
"""Number and longest length of made-up games."""
TARGET_MOVES = 15
SHARD_GAMES = 64
FLOAT, FOLDED = "float", "folded"
"""The two phases of learning: before and after weights are int8."""


class Speed(NamedTuple):
    """Work that was done, and what it cost."""

    amount: float
    """Positions played, or samples learnt."""
    cost: Cost

    @property
    def per_s(self) -> float:
        """Amount in a second."""
        return self.amount / self.cost.wall_s

    def cost_of(self, amount: float) -> Cost:
        """What so much would cost."""
        return self.cost.times(amount / self.amount)

    def on(self, num: int) -> "Speed":
        """The speed of ``num`` that work side by side."""
        return Speed(self.amount * num, replace(self.cost.times(num), wall_s=self.cost.wall_s))


class LearningSpeed(NamedTuple):
    """Speeds of learning."""

    phases: dict[str, Speed]
    """Speeds by name: ``FLOAT``, ``FOLDED`` or both, as the run has them."""
    recorded_samples: int
    """Samples of the whole run where it learns from recorded games alone; else 0."""


def playing_speed(
    config: TrainConfig,
    devices: list[Device],
    run: RunFolder,
    net: PublishedNet,
    seconds: float,
    report_line: ReportLine,
) -> Speed:
    """Positions from ``seconds`` of play in ``run``.

    Raises ConfigError for settings that cannot be played, or what a worker raises.
    """
    file = find(config.net).with_weights_of(net.file).text
    settings = selfplay_config(config, file)
    settings = with_remembered_slots(settings, first_net(config).config, devices)
    seating = Seating.of(config)._replace(turns=TURNS)
    meter = _PlayMeter(seconds, devices, report_line)
    with Supervisor(settings, run, devices, meter, seating=seating) as supervisor:
        supervisor.play(file, seating.segments(0, 1))
    assert meter.speed is not None
    return meter.speed


class _PlayMeter(SelfplayWatcher):
    """Measures self-play as its watcher, and ends it."""

    def __init__(self, seconds: float, devices: list[Device], report_line: ReportLine) -> None:
        self.speed: Speed | None = None
        self._report_line = report_line
        self._seconds = seconds
        self._num_gpus = sum(device != CPU for device in devices)
        self._begin = 0.0
        self._first = 0
        self._meter: CostMeter | None = None

    def report_line(self, line: str) -> None:
        """Pass the line on."""
        self._report_line(line)

    def update(self, supervisor: Supervisor) -> None:
        """Begin, measure or end, as the workers are."""
        done, workers = supervisor.positions[0], list(supervisor.workers.values())
        if self.speed is not None or not done or any(w.stage != "playing" for w in workers):
            return
        self._begin = self._begin or monotonic()
        if self._meter is None and monotonic() >= self._begin + SETTLE_S:
            gpus = [worker.gpu for worker in workers if worker.gpu]
            self._meter, self._first = CostMeter([os.getpid()], self._num_gpus, gpus), done
        if self._meter is not None and done > self._first:
            cost = self._meter.read()
            if cost.wall_s >= self._seconds:
                self.speed = Speed(done - self._first, cost)
                supervisor.stop("measured")


def learning_speed(
    config: TrainConfig, devices: list[Device], folder: Path, seconds: float
) -> LearningSpeed:
    """Samples on all ranks together, from ``seconds`` of each phase on the first device.

    ``folder`` gets made-up games. Raises ConfigError where recorded games are too few, DataError
    where they are wrong.
    """
    shares = BatchShares(config, len(devices) * config.nnodes)
    num_ranks, rows = sum(map(bool, shares.parts)), len(shares.rows(0))
    config = config.model_copy(update={"batch_size": rows, "micro_batch": part_rows(config)})
    see_only(devices[0])
    with torch_threads(num_cores() // len(devices)):
        ranks = Ranks.alone(torch.device(devices[0].name))
        learner = Learner(config, first_net(config).to(ranks.device), ranks)
        data = _games(config, folder)
        with _loader(config, data, learner) as loader:
            source = None
            if config.objective == "supervised":
                source = DatasetSource(config, ranks, loader, len(data))
            batches = loader.batches(_specs(config, source, len(data)))
            phases = _phases(config, learner, batches, seconds)
    recorded = source.num_steps * config.batch_size if source is not None else 0
    return LearningSpeed({name: one.on(num_ranks) for name, one in phases.items()}, recorded)


def _games(config: TrainConfig, folder: Path) -> GivenShards:
    """The recorded games that are learnt from alone, or made-up ones."""
    if config.objective == "supervised":
        return GivenShards(list(config.data))
    records = play_games(NUM_GAMES, config.seed)
    if config.tree.search != "none":
        records = made_up_searches(records, config.seed)
    return as_shards(records, folder)


def made_up_searches(records: GameRecords, seed: int) -> GameRecords:
    """The games as if every ply had been searched, with targets of up to 15 of the legal moves."""
    draw = np.random.default_rng(seed)
    legal = replay_positions(records, np.arange(len(records.action))).requests
    counts = np.minimum(legal.num_legal, TARGET_MOVES).astype(np.int64)
    rows = [np.sort(row[:num]) for row, num in zip(legal.legal, counts, strict=True)]
    offsets = offsets_of(counts)
    return replace(
        records,
        visits=np.full(len(counts), 64, np.uint32),
        full=np.ones(len(counts), np.uint8),
        target_offsets=offsets,
        target_action=np.concatenate(rows),
        target_prob=draw.integers(1, 4000, offsets[-1]).astype(np.uint16),
    )


def as_shards(records: GameRecords, folder: Path) -> GivenShards:
    """The games in shards of 64, written to ``folder``."""
    num_games = records.num_games
    parts = np.array_split(np.arange(num_games), -(-num_games // SHARD_GAMES))
    for index, chosen in enumerate(parts):
        write_shard(folder / f"{index:06d}.npz", records.take(chosen))
    return GivenShards([folder])


def play_games(games: int, seed: int) -> GameRecords:
    """Games of 120 plies, drawn from the same answer for every position."""
    settings = {"net": CONSTANT_NET, "seed": seed, "game": {"max_plies": MAX_PLIES}}
    return play_here(SelfplayConfig.model_validate(settings), parse_gpus("cpu")[0], games)


def _loader(config: TrainConfig, data: GivenShards, learner: Learner) -> BatchLoader:
    return BatchLoader(
        data,
        config.loaders,
        learner.net.config.num_planes,
        SampleRules.of(config),
        pin_memory=learner.ranks.device.type == "cuda",
        stall_timeout_s=config.stall_timeout_s,
    )


def _specs(
    config: TrainConfig, source: DatasetSource | None, num_shards: int
) -> Iterator[BatchSpec]:
    """The batches of all updates, without an end."""
    if source is not None:
        yield from map(source.prepare(0, 0).spec, count())
    for step in count():
        yield BatchSpec(
            source_end=num_shards,
            seed=config.seed,
            step=step,
            batch_size=config.batch_size,
            in_epochs=config.is_on_policy,
            mirror=config.mirror,
        )


def _phases(
    config: TrainConfig, learner: Learner, batches: Iterator[Samples[torch.Tensor]], seconds: float
) -> dict[str, Speed]:
    on_gpu = learner.ranks.device.type == "cuda"
    found: dict[str, Speed] = {}
    is_folded = learner.net.folded
    for name in [FLOAT] * (not is_folded) + [FOLDED] * (is_folded or config.fold_at < 1):
        learner.begin_generation()
        if name == FOLDED:
            learner.fold()
        for _ in range(WARM_UP):
            _step(learner, batches)
        meter = CostMeter([os.getpid()], int(on_gpu), [gpu_uuid()] if on_gpu else [])
        num_steps, cost = 0, Cost()
        while not num_steps or cost.wall_s < seconds:
            _step(learner, batches)
            num_steps, cost = num_steps + 1, meter.read()
        found[name] = Speed(num_steps * config.batch_size, cost)
    return found


def _step(learner: Learner, batches: Iterator[Samples[torch.Tensor]]) -> None:
    learner.step(next(batches), done=0.0, rank_values=[0.0, 0.0])
