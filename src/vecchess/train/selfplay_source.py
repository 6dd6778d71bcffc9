"""The games a network plays against itself, one generation an iteration.

Game numbers say to which generation a game belongs: iteration i of N games a generation plays
i * N to (i + 1) * N, each machine its part of them. So what was recorded before a crash is known
by its number and is not played again, and what is learnt from does not depend on when a game ended.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vecchess.config import PlayConfig, SelfplayConfig, TrainConfig
from vecchess.rng import random_word
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.supervisor.supervisor import Supervisor
from vecchess.selfplay.supervisor.worker_throughput import Throughput, combined_throughput
from vecchess.store.run_folder import RunFolder
from vecchess.store.stats import GameStats
from vecchess.train.data.batch_spec import BatchSpec
from vecchess.train.data.window_size import window_size
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.publish import latest_net
from vecchess.train.step.learner import Learner
from vecchess.train.training_source import IterationPlan

TOLD_OF_LOAD = (
    "plies_per_s", "evals_per_s", "sims_per_s", "batch_fill", "device_busy", "mover_busy",
)  # fmt: skip
_EPOCHS_STREAM = 0x65706F636873


def selfplay_config(config: TrainConfig, net: str) -> SelfplayConfig:
    """How the games of a training run are played."""
    shared = {name: getattr(config, name) for name in PlayConfig.model_fields}
    return SelfplayConfig(net=net, games=config.games_per_iter, **shared)


class ShardSpan(NamedTuple):
    """Where one machine's part of a generation is."""

    first_shard: int
    end_shard: int
    """Its shards, by the lines of the machine's manifest."""
    positions: int
    """Plies that can be learnt from."""


@dataclass(frozen=True)
class NodeGames:
    """What one machine played of a generation."""

    stretch: ShardSpan
    seconds: float
    load: dict[str, Any]
    stats: GameStats

    def to_dict(self) -> dict[str, Any]:
        """Plain values, to be told to other ranks."""
        return vars(self) | {"stats": self.stats.to_dict()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "NodeGames":
        """The same from plain values."""
        stretch, stats = ShardSpan(*values["stretch"]), GameStats.from_dict(values["stats"])
        return cls(**values | {"stretch": stretch, "stats": stats})


class SelfplaySource:
    """Plays generation after generation, and says what is to be learnt after each."""

    def __init__(
        self,
        config: TrainConfig,
        run: RunFolder,
        ranks: Ranks,
        stop: StopSignals,
        campaign: Supervisor | None,
        num_reference_shards: int = 0,
    ) -> None:
        """``run`` is the folder of this machine; its leading rank alone has a ``campaign``.

        ``num_reference_shards``: shards of reference games that are mixed in.
        """
        self._config, self._run, self._ranks = config, run, ranks
        self._stop, self._campaign = stop, campaign
        self._num_reference_shards = num_reference_shards
        self._history: list[list[ShardSpan]] = []
        """The machines' parts of every generation so far."""

    def prepare(self, iteration: int, steps_before: int) -> IterationPlan | None:
        """Play the generation, on all machines; None where somebody asked to stop."""
        del self._history[iteration:]  # a stop in the middle of learning left it there
        part = None
        if self._campaign is not None:
            part = self._play(self._campaign, iteration)
        self._wait_for_others()
        told = self._ranks.gather_object(part.to_dict() if part else {})
        parts = [NodeGames.from_dict(values) for values in told if values]
        if len(parts) < self._ranks.num_nodes:
            return None
        self._history.append([part.stretch for part in parts])
        return self._stage(parts, steps_before)

    def state(self) -> dict[str, Any]:
        """Every machine's part of every generation, and how much there is to mix in."""
        history = np.array(self._history, np.int64)  # one tensor, however long a run goes on
        return {"history": history, "reference_shards": self._num_reference_shards}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on after those generations."""
        history = state["history"]
        if isinstance(history, list):  # earlier checkpoints hold every fact about a part
            names = ShardSpan._fields
            history = np.array([[[p[name] for name in names] for p in parts] for parts in history])
        self._history = [[ShardSpan(*part) for part in parts] for parts in history.tolist()]
        self._num_reference_shards = state.get("reference_shards", 0)

    def examine(self, learner: Learner) -> dict[str, Any]:
        """Nothing is kept from learning: new games come all the time."""
        return {}

    def numbers(self, iteration: int) -> range:
        """The games that this machine plays in an iteration."""
        games, nodes, node = self._config.games_per_iter, self._ranks.num_nodes, self._ranks.node
        first = iteration * games
        return range(first + games * node // nodes, first + games * (node + 1) // nodes)

    def _play(self, campaign: Supervisor, iteration: int) -> NodeGames | None:
        """This machine's part; None where somebody, here or elsewhere, asked to stop."""
        first_shard = self._parts_of_node()[-1].end_shard if self._history else 0
        net, numbers = latest_net(self._run).file, self.numbers(iteration)
        result = campaign.play(str(net), numbers, self._pulse)
        if result.stopped_by:
            self._stop.request_stop(result.stopped_by)
            return None
        end_shard, stats = self._recorded(first_shard, len(numbers))
        positions = stats.searched_plies or sum(stats.time_steps.values())
        return NodeGames(
            stretch=ShardSpan(first_shard, end_shard, positions),
            seconds=result.seconds,
            load=result.load.to_dict(),
            stats=stats,
        )

    def _recorded(self, first_shard: int, num_games: int) -> tuple[int, GameStats]:
        """Where the shards of a generation end, and what is in them.

        Later ones may be there: a run that goes back to a checkpoint plays nothing twice.
        """
        end, stats = first_shard, GameStats()
        for entry in self._run.manifest().entries[first_shard:]:
            if stats.games >= num_games:
                break
            stats.add(entry.stats)
            end += 1
        return end, stats

    def _pulse(self) -> str:
        """The heart-beat while this machine plays."""
        return self._ranks.heartbeat(self._stop.reason, is_done=False).stop

    def _wait_for_others(self) -> None:
        """Until the leaders of all machines are done, or somebody asked to stop."""
        while True:
            beat = self._ranks.heartbeat(self._stop.reason, is_done=True)
            if beat.stop:
                self._stop.request_stop(beat.stop)
            if beat.stop or beat.all_done:
                return

    def _parts_of_node(self) -> list[ShardSpan]:
        return [parts[self._ranks.node] for parts in self._history]

    def _stage(self, newest: list[NodeGames], steps_before: int) -> IterationPlan:
        """What is learnt now: from the newest generations that the window has room for."""
        config = self._config
        new = sum(part.stretch.positions for part in newest)
        total = sum(part.positions for parts in self._history for part in parts)
        oldest = len(self._history) - self._num_generations(total)
        mine = self._parts_of_node()
        num_steps = round(new * config.samples_per_position / config.batch_size)
        seed = self._seed_of_newest() if config.is_on_policy else config.seed

        def plan(step: int) -> BatchSpec:
            return BatchSpec(
                seed=seed,
                step=step - steps_before if config.is_on_policy else step,
                batch_size=config.batch_size,
                first_row=self._ranks.rank * (config.batch_size // self._ranks.world_size),
                num_rows=config.batch_size // self._ranks.world_size,
                first_shard=mine[oldest].first_shard,
                num_shards=mine[-1].end_shard,
                in_epochs=config.is_on_policy,
                mirror=config.mirror,
                reference_share=config.data_share if config.data else 0.0,
                num_reference_shards=self._num_reference_shards,
            )

        return IterationPlan(max(num_steps, 1), plan, total, self._told(newest, oldest))

    def _seed_of_newest(self) -> int:
        """Its steps count from 0, so its epochs need an order of their own."""
        return random_word(self._config.seed, _EPOCHS_STREAM, len(self._history)) >> 1

    def _num_generations(self, total: int) -> int:
        """How many of the newest generations are learnt from; one at least."""
        if self._config.is_on_policy:
            return 1
        room, num = window_size(total, self._config.window_positions), 0
        for parts in reversed(self._history):
            room -= sum(part.positions for part in parts)
            if room < 0 and num:
                break
            num += 1
        return num

    def _told(self, parts: list[NodeGames], oldest: int) -> dict[str, Any]:
        """Facts about a generation, all machines together."""
        stats = GameStats()
        for part in parts:
            stats.add(part.stats)
        window = sum(part.positions for later in self._history[oldest:] for part in later)
        seconds = max(part.seconds for part in parts)
        load = combined_throughput([Throughput.from_dict(part.load) for part in parts]).to_dict()
        return {
            **{name: load[name] for name in TOLD_OF_LOAD},
            "seconds": round(seconds, 3),
            "games_per_s": round(stats.games / max(seconds, 1e-9), 3),
            "positions": sum(part.stretch.positions for part in parts),
            "window_positions": window,
            "mean_length": round(stats.mean_length, 2),
            "mean_time_steps": round(stats.mean_time_steps or load["mean_time_steps"], 3),
            "loads": [part.load for part in parts],
            **stats.to_dict(),
        }
