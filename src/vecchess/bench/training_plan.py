"""``vecchess train --plan``: what a training will cost here, by some seconds of it.

The network is the one that the run starts with: a trained one spikes more or less, and its games
are longer or shorter. Starting and compiling are not counted. Decision 230.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vecchess.bench.training_speed import (
    FLOAT,
    FOLDED,
    LearningSpeed,
    Speed,
    learning_speed,
    playing_speed,
)
from vecchess.config import TrainConfig
from vecchess.errors import ConfigError
from vecchess.importers.pgn_import import is_pgn
from vecchess.machine_limits import num_cores
from vecchess.runtime.cost_meter import Cost
from vecchess.runtime.devices import Device, parse_gpus
from vecchess.runtime.reporting import ReportLine
from vecchess.selfplay.worker.networks import publish
from vecchess.store.maintenance.prune_games import GB
from vecchess.store.run_folder import RunFolder
from vecchess.store.seating import Seating
from vecchess.train.data.batch_spec import note_on_idle
from vecchess.train.initial_network import first_net
from vecchess.train.run_train import check_settings
from vecchess.train.step.trained_module import exported_net
from vecchess.train.training_matches import OPPONENTS, own_players

SCHEMA = 1
MEASURED_S = 10.0
BYTES_PER_PLY, BYTES_PER_SEARCH = 6.5, 75.0
"""Bytes of a shard for a move that was sampled, and for one with the target of a search."""
TENSORS_IN_CHECKPOINT = 4
"""float32 values for each weight: itself, its average, and AdamW's two moments."""
MATCH_MOVES = 80
"""Moves of a network in a game of a match, about."""


@dataclass(frozen=True)
class TrainingPlan:
    """A training as it is configured, and what it will cost."""

    config: TrainConfig
    devices: list[Device]
    playing: Speed | None
    """None where recorded games alone are learnt from."""
    learning: LearningSpeed
    net_bytes: int
    num_weights: int

    @property
    def positions(self) -> int:
        """Positions that are played."""
        return Seating.of(self.config).positions * self.config.iterations if self.playing else 0

    @property
    def samples(self) -> int:
        """Samples that are learnt; those of fast searches are among them, for their values."""
        config = self.config
        if self.playing is None:
            return self.learning.recorded_samples
        learnt = Seating.of(config).positions * config.samples_per_position
        return max(round(learnt / config.batch_size), 1) * config.batch_size * config.iterations

    def costs(self) -> dict[str, Cost]:
        """The cost of each part of the run."""
        parts = {"learning": self._learning_cost(), "matches": self._match_cost()}
        if self.playing is not None:
            parts = {"playing": self.playing.cost_of(self.positions)} | parts
        return parts

    @property
    def total(self) -> Cost:
        """The cost of the run."""
        total = Cost()
        for cost in self.costs().values():
            total = total.then(cost)
        return total

    def _learning_cost(self) -> Cost:
        phases = self.learning.phases
        share = self.config.fold_at if FLOAT in phases and FOLDED in phases else 1.0
        first, *rest = phases.values()
        cost = first.cost_of(share * self.samples)
        return cost.then(rest[0].cost_of((1 - share) * self.samples)) if rest else cost

    def _match_cost(self) -> Cost:
        """The cost of matches for progress, at the speed of self-play; nothing where there is none
        to tell it."""
        config = self.config
        if self.playing is None or not config.eval_every:
            return Cost()
        num_times = 1 + -(-config.iterations // config.eval_every)
        moves = num_times * config.eval_games * len(OPPONENTS) * MATCH_MOVES
        policy = 1 if config.tree.search == "none" else 1 / (config.tree.sims + 1)
        searched = len(own_players(config)) - 1
        return self.playing.cost_of(moves * (policy + searched))

    def disk_bytes(self) -> dict[str, int]:
        """Bytes in the run's folder at its end; where its window needs more games than ``keep_gb``
        has room for, there are more."""
        config = self.config
        full = config.tree.full_share if config.tree.search != "none" else 0.0
        per_ply = full * BYTES_PER_SEARCH + (1 - full) * BYTES_PER_PLY
        games = self.positions * per_ply
        if config.keep_gb and not config.may_go_back:
            games = min(games, config.keep_gb * GB)
        kept = min(config.keep_checkpoints, config.iterations + 1)
        kept += config.iterations // config.keep_every if config.keep_every else 0
        return {
            "games": round(games),
            "networks": self.net_bytes * (config.iterations + 1),
            "checkpoints": 4 * TENSORS_IN_CHECKPOINT * self.num_weights * kept,
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        speeds = {name: round(one.per_s, 1) for name, one in self.learning.phases.items()}
        costs: Mapping[str, Cost] = self.costs() | {"total": self.total}
        return {
            "schema": SCHEMA,
            "devices": [device.label for device in self.devices],
            "machines": self.config.nnodes,
            "cores": num_cores(),
            "iterations": self.config.iterations,
            "positions": self.positions,
            "samples": self.samples,
            "positions_per_s": None if self.playing is None else round(self.playing.per_s, 1),
            "samples_per_s": speeds,
            "cost": {name: cost.to_dict() for name, cost in costs.items()},
            "disk_bytes": self.disk_bytes(),
        }


def plan_training(config: TrainConfig, report_line: ReportLine) -> TrainingPlan:
    """Measure play, then each phase of learning, for ``MEASURED_S`` each; other machines count as
    alike. ``report_line`` gets what takes time. Nothing stays on disk.

    Raises ConfigError, NetworkError or DataError for what ``vecchess train`` refuses, and
    ConfigError for PGN files to learn from alone.
    """
    devices = parse_gpus(config.gpus)
    check_settings(config, devices)
    if line := note_on_idle(config, len(devices) * config.nnodes):
        report_line(line)
    if config.objective == "supervised":
        for place in config.data:
            if is_pgn(place):
                raise ConfigError(
                    f"{place}: a plan counts the positions of recorded games; make some of the PGN "
                    f"file first: vecchess gather pgn {place} --out FOLDER, then --data FOLDER"
                )
    with tempfile.TemporaryDirectory(prefix="vecchess-plan-") as folder:
        run = RunFolder(Path(folder) / "run")
        run.create()
        first = first_net(config)
        net = publish(exported_net(first), run, 0, 0)
        playing = None
        if config.objective != "supervised":
            report_line(f"playing for {MEASURED_S:g} s ...")
            playing = playing_speed(config, devices, run, net, MEASURED_S, report_line)
        report_line(f"learning for {MEASURED_S:g} s a phase ...")
        games = Path(folder) / "games"
        games.mkdir()
        learning = learning_speed(config, devices, games, MEASURED_S)
        num_weights = sum(weight.numel() for weight in first.parameters())
        return TrainingPlan(
            config, devices, playing, learning, net.file.stat().st_size, num_weights
        )
