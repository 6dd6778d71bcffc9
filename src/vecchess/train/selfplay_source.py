"""Self-play games as training data, one generation an iteration.

A generation is a number of positions, the same for each seat, whose games go on in the next one
(``store/seating.py``, decision 224). Objectives that learn from results learn from the games that
ended in a generation, on-policy objectives from all that was played in it. Both are known by the
segments that are recorded: none is played twice, and the data do not depend on time. Rank 0 has
the games played, and sends them to other machines.
"""

from typing import Any

import numpy as np

from vecchess.config import TrainConfig
from vecchess.fleet.fleet_run import GamesRefuted
from vecchess.inference.source import find
from vecchess.rng import random_word
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.supervisor.cut_finder import remove_cuts
from vecchess.selfplay.worker.networks import latest_net, mark_latest
from vecchess.store.maintenance.prune_games import first_needed, write_needed
from vecchess.store.manifest import Manifest
from vecchess.store.seating import Seating
from vecchess.store.stats import GameStats
from vecchess.train.data.batch_spec import BatchSpec, IterationPlan
from vecchess.train.data.replay_window import GivenShards, window_size
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.executor import GenerationPlayer
from vecchess.train.run_copies import RunCopies
from vecchess.train.step.learner import Learner

LOAD_FACTS = (
    "plies_per_s", "evals_per_s", "sims_per_s", "batch_fill", "device_busy", "host_busy",
    "mover_busy",
)  # fmt: skip
_EPOCHS_STREAM = 0x65706F636873


class SelfplaySource:
    """Plays one generation an iteration, and plans what is learnt from the newest ones."""

    def __init__(
        self,
        config: TrainConfig,
        copies: RunCopies,
        ranks: Ranks,
        stop: StopSignals,
        player: GenerationPlayer | None,
        data: GivenShards | None = None,
    ) -> None:
        """Only rank 0 has a ``player``. ``data``: recorded games to mix in."""
        self._config, self._copies, self._ranks = config, copies, ranks
        self._run = copies.run
        self._stop, self._player = stop, player
        self._data = data or GivenShards([])
        self._seating = Seating.of(config)
        self._history: list[int] = []
        """Positions to learn from of each generation."""
        self._nets: dict[int, str] = {}
        """The network of the iteration that is played next, if it is begun ahead, by its name."""
        self._manifest: Manifest | None = None
        if player is not None and first_needed(self._run.games, is_training=True) == 0:
            write_needed(self._run.games, 0)

    def prepare(self, iteration: int, steps_before: int) -> IterationPlan | None:
        """Have the generation played, and the window's games on every machine; None where a stop
        was requested. Raises GamesRefuted, on all ranks, where recorded games are wrong."""
        del self._history[iteration:]  # an entry that a stop during learning left behind
        played = self._play(self._player, iteration) if self._player else None
        self._wait_for_rank0()
        played = self._ranks.broadcast_object(played)
        if not played:
            return None
        if "refuted" in played:
            raise GamesRefuted(played["refuted"])
        self._history.append(played["positions"])
        if self._player is not None:
            self._note_needed()
            if self._config.lag:
                self._play_ahead(self._player, iteration + 1)
        return self._plan(played, steps_before)

    def state(self) -> dict[str, Any]:
        """Positions of every generation, the number of shards of each place of ``--data``, the
        newest network, and the one of an iteration that is begun ahead."""
        newest = latest_net(self._run)
        return {
            "history": self._history,
            "reference_shards": self._data.counts,
            "latest": [newest.name, newest.sha256],
            "nets": [[iteration, name] for iteration, name in self._nets.items()],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Resume after the generations of ``state``."""
        self._history = list(state["history"])
        counts = state["reference_shards"]
        if type(counts) is int:  # of all places together, in older runs
            ends = np.minimum(np.cumsum([0, *self._data.counts]), counts)
            counts = np.diff(ends).tolist()
        if not all(type(num) is int and num >= 0 for num in [*self._history, *counts]):
            raise ValueError("a number of positions or shards is none")
        self._data.keep_first(counts)
        self._nets = {int(iteration): str(name) for iteration, name in state.get("nets", [])}
        latest, config = state.get("latest"), self._config
        if self._player is None or not latest:
            return
        if config.lag or config.gate or not self._has_next:
            # what plays, or has to be beaten, is not what was published after the checkpoint:
            # perhaps that learnt from refuted games
            mark_latest(self._run, *map(str, latest))

    @property
    def _has_next(self) -> bool:
        """Whether the games of the iteration after the last are recorded already."""
        num = len(self._history)
        return not self._seating.segments(num, num + 1) - self._read_manifest().segments

    def evaluate(self, learner: Learner) -> dict[str, Any]:
        """Empty: no games are held out."""
        return {}

    def _play(self, player: GenerationPlayer, iteration: int) -> dict[str, Any]:
        """What was played, as JSON values; nothing where a stop was requested on any machine."""
        try:
            result = player.play(
                self._net_of(iteration),
                self._seating.segments(iteration, iteration + 1),
                lambda: self._ranks.heartbeat(self._stop.reason, is_done=False).stop,
            )
        except GamesRefuted as error:
            return {"refuted": error.generation}
        if result.stopped_by:
            self._stop.request_stop(result.stopped_by)
            return {}
        stats = result.stats
        positions = stats.searched_plies or sum(stats.time_steps.values())
        if self._config.is_on_policy:
            positions = self._seating.positions
        return {
            "positions": positions,
            "seconds": result.seconds,
            "load": result.throughput.to_dict(),
            "stats": stats.to_dict(),
        }

    def _net_of(self, iteration: int) -> str:
        """What plays an iteration: the newest network, or the one with which it was begun ahead."""
        name = self._nets.get(iteration) or latest_net(self._run).name
        return find(self._config.net).with_weights_of(self._run.nets / f"{name}.safetensors").text

    def _play_ahead(self, player: GenerationPlayer, iteration: int) -> None:
        """Begin an iteration with the network that is the newest now, which does not know the games
        of the one before."""
        self._nets = {iteration: self._nets.get(iteration) or latest_net(self._run).name}
        if iteration < self._config.iterations:
            segments = self._seating.segments(iteration, iteration + 1)
            player.play_ahead(self._net_of(iteration), segments)

    def _wait_for_rank0(self) -> None:
        """Wait until rank 0 has played the generation, or ended its play after a stop request."""
        while not (beat := self._ranks.heartbeat(self._stop.reason, is_done=True)).all_done:
            self._stop.request_stop(beat.stop)
        self._stop.request_stop(beat.stop)

    def _plan(self, played: dict[str, Any], steps_before: int) -> IterationPlan:
        """The updates of an iteration, from the newest generations that fit into the window."""
        config = self._config
        total, oldest = self._oldest_in_window(len(self._history))
        new = self._history[-1]
        num_steps = max(round(new * config.samples_per_position / config.batch_size), 1)
        window = self._seating.segments(oldest, len(self._history)).span
        self._copies.send_games(*window, with_unfinished=config.is_on_policy)
        seed = config.seed
        if config.is_on_policy:  # its steps count from 0, but epochs must differ
            seed = random_word(seed, _EPOCHS_STREAM, len(self._history)) >> 1

        def spec(step: int) -> BatchSpec:
            return BatchSpec(
                seed=seed,
                step=step - steps_before if config.is_on_policy else step,
                batch_size=config.batch_size,
                source_first=window[0],
                source_end=window[1],
                in_epochs=config.is_on_policy,
                mirror=config.mirror,
                reference_share=config.data_share if config.data else 0.0,
                num_reference_shards=len(self._data),
            )

        facts = self._facts(played, oldest)
        return IterationPlan(num_steps if total else 0, spec, total, facts)

    def _note_needed(self) -> None:
        """Note the first segment that the oldest of the newest checkpoints needs: pruning spares
        all from there on, or all where the run may go back. The window of a later one never begins
        earlier. Unfinished games that no checkpoint goes on with are removed."""
        config = self._config
        back = config.checkpoint_every * (config.keep_checkpoints + 1)
        first = max(len(self._history) - back, 1)
        _, oldest = self._oldest_in_window(first)
        needed = 0 if config.may_go_back else self._seating.segments(oldest, first).span[0]
        write_needed(self._run.games, needed)
        remove_cuts(self._run, self._read_manifest(), (first - 1) * self._seating.seats)

    def _read_manifest(self) -> Manifest:
        """The run's manifest, up to its end: of a long run only what is new is read again."""
        manifest = self._manifest = self._manifest or self._run.manifest()
        manifest.refresh()
        return manifest

    def _oldest_in_window(self, num: int) -> tuple[int, int]:
        """Positions of the first ``num`` generations, and the first one that a window then has: it
        holds the newest of them at least."""
        total, oldest = sum(self._history[:num]), num - 1
        if self._config.is_on_policy:
            return total, oldest
        room = window_size(total, self._config.window_positions) - self._history[oldest]
        while oldest and room >= self._history[oldest - 1]:
            oldest -= 1
            room -= self._history[oldest]
        return total, oldest

    def _facts(self, played: dict[str, Any], oldest: int) -> dict[str, Any]:
        """Facts about a generation."""
        stats, load = GameStats.from_dict(played["stats"]), played["load"]
        seconds = max(played["seconds"], 1e-9)
        return {
            **{name: load[name] for name in LOAD_FACTS},
            "seconds": round(played["seconds"], 3),
            "games_per_s": round(stats.games / seconds if load["plies_per_s"] else 0.0, 3),
            "positions": self._history[-1],
            "window_positions": sum(self._history[oldest:]),
            "mean_length": round(stats.mean_length, 2),
            "mean_time_steps": round(stats.mean_time_steps or load["mean_time_steps"], 3),
            **stats.to_dict(),
        }
