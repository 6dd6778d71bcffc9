"""Self-play games as training data, one generation an iteration.

A generation is a number of positions, the same for each seat, whose games go on in the next one
(``store/seating.py``, decision 224). Objectives that learn from results learn from the games that
ended in a generation, on-policy objectives from all that was played in it. Both are known by the
segments that are recorded: none is played twice, and the data do not depend on time.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from vecchess.config import TrainConfig
from vecchess.inference.source import find
from vecchess.rng import random_word
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.supervisor.cut_finder import remove_cuts
from vecchess.selfplay.supervisor.worker_throughput import Throughput, combined_throughput
from vecchess.store.id_set import IdSet
from vecchess.store.maintenance.prune_games import first_needed, write_needed
from vecchess.store.run_folder import RunFolder
from vecchess.store.seating import Seating
from vecchess.store.stats import GameStats
from vecchess.train.data.batch_spec import BatchSpec, IterationPlan
from vecchess.train.data.replay_window import window_size
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.executor import GenerationPlayer
from vecchess.train.publish import latest_net, mark_latest
from vecchess.train.step.learner import Learner

LOAD_FACTS = (
    "plies_per_s", "evals_per_s", "sims_per_s", "batch_fill", "device_busy", "host_busy",
    "mover_busy",
)  # fmt: skip
_EPOCHS_STREAM = 0x65706F636873


class Generation(NamedTuple):
    """What is known of a generation, the same on all machines."""

    positions: int
    """Positions to learn from, on all machines together."""
    num_nodes: int
    """Machines that played it; 0 where their number changed meanwhile."""


@dataclass
class Recorded:
    """Segments that are recorded, and counts over the games that ended in them."""

    segments: IdSet
    stats: GameStats


class SelfplaySource:
    """Plays one generation an iteration, and plans what is learnt from the newest ones."""

    def __init__(
        self,
        config: TrainConfig,
        run: RunFolder,
        ranks: Ranks,
        stop: StopSignals,
        player: GenerationPlayer | None,
        num_reference_shards: int = 0,
    ) -> None:
        """``run`` is the folder of this machine; only its local rank 0 has a ``player``.

        ``num_reference_shards``: shards of reference games to mix in.
        """
        self._config, self._run, self._ranks = config, run, ranks
        self._stop, self._player = stop, player
        self._num_reference_shards = num_reference_shards
        self._seating = Seating.of(config)
        self._history: list[Generation] = []
        self._nets: dict[int, str] = {}
        """By iteration, the name of the network that plays it."""
        self._first_iteration: int | None = None
        """The first iteration of this process: other machines may have played it before."""
        if player is not None and first_needed(run.games, is_training=True) == 0:
            write_needed(run.games, 0)

    def prepare(self, iteration: int, steps_before: int) -> IterationPlan | None:
        """Play the generation, on all machines; None where a stop was requested."""
        del self._history[iteration:]  # an entry that a stop during learning left behind
        part = self._play(self._player, iteration) if self._player else {}
        self._wait_for_others()
        parts = [part for part in self._ranks.gather_object(part) if part]
        if len(parts) < self._ranks.num_nodes:
            return None
        is_mixed = any(part["has_others"] for part in parts)
        positions = sum(part["positions"] for part in parts)
        self._history.append(Generation(positions, 0 if is_mixed else len(parts)))
        if self._player is not None:
            self._note_needed()
        return self._plan(parts, steps_before)

    def state(self) -> dict[str, Any]:
        """Every generation as [positions, machines], the number of reference shards, the newest
        network, and the networks of iterations that are played or begun."""
        history = [list(generation) for generation in self._history]
        newest = latest_net(self._run)
        return {
            "history": history,
            "reference_shards": self._num_reference_shards,
            "latest": [newest.name, newest.sha256],
            "nets": [[iteration, name] for iteration, name in self._nets.items()],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Resume after the generations of ``state``."""
        self._history = [Generation(*each) for each in state["history"]]
        before, now = state["reference_shards"], self._num_reference_shards
        if not all(
            type(num) is int and num >= 0 for each in [*self._history, [before]] for num in each
        ):
            raise ValueError("a number of positions or shards is none")
        self._num_reference_shards = min(before, now) if now else before  # fewer: compacted
        self._nets = {int(iteration): str(name) for iteration, name in state.get("nets", [])}
        if self._player is not None and (latest := state.get("latest")):
            mark_latest(self._run, *map(str, latest))  # not that of a killed process's next one

    def evaluate(self, learner: Learner) -> dict[str, Any]:
        """Empty: no games are held out."""
        return {}

    def segments(self, iteration: int) -> IdSet:
        """The segments that this machine plays in an iteration."""
        return self._seating.share(iteration, self._ranks.node, self._ranks.num_nodes)

    def _play(self, player: GenerationPlayer, iteration: int) -> dict[str, Any]:
        """This machine's part as JSON values; none where a stop was requested, here or on another
        machine."""
        segments, net = self.segments(iteration), self._net_of(iteration)
        if self._first_iteration is None:
            self._first_iteration = iteration
        is_first = iteration == self._first_iteration
        elsewhere = self._recorded_elsewhere(segments if is_first else IdSet())
        result = player.play(
            net,
            segments - elsewhere.segments,
            lambda: self._ranks.heartbeat(self._stop.reason, is_done=False).stop,
        )
        if result.stopped_by:
            self._stop.request_stop(result.stopped_by)
            return {}
        if self._config.lag:
            self._play_ahead(player, iteration + 1)
        else:
            self._nets.clear()
        stats = result.stats
        stats.add(elsewhere.stats)
        positions = stats.searched_plies or sum(stats.time_steps.values())
        if self._config.is_on_policy:
            positions = len(segments) * self._seating.turns
        return {
            "positions": positions,
            "has_others": bool(elsewhere.segments),
            "seconds": result.seconds,
            "load": result.throughput.to_dict(),
            "stats": stats.to_dict(),
        }

    def _net_of(self, iteration: int) -> str:
        """The network that plays an iteration: the newest one, or the one that was the newest when
        it was begun ahead."""
        name = self._nets.setdefault(iteration, latest_net(self._run).name)
        file = self._run.nets / f"{name}.safetensors"
        return find(self._config.net).with_weights_of(file).text

    def _play_ahead(self, player: GenerationPlayer, iteration: int) -> None:
        """Begin an iteration with the network that is the newest now, which does not know the games
        of the one before."""
        net = self._net_of(iteration)
        self._nets = {number: name for number, name in self._nets.items() if number >= iteration}
        if iteration < self._config.iterations:
            player.play_ahead(net, self.segments(iteration))

    def _recorded_elsewhere(self, segments: IdSet) -> Recorded:
        """Those of ``segments`` that other machines recorded, before their number changed, as far
        as this one sees their folders."""
        found = Recorded(IdSet(), GameStats())
        for run in self._run.machines if segments else ():
            if run.path != self._run.path and run.has_games:
                entries = run.manifest().entries_of(segments)
                found.segments |= IdSet.union(entry.segments for entry in entries) & segments
                found.stats.add(*(entry.stats for entry in entries))
        return found

    def _wait_for_others(self) -> None:
        """Wait until all machines have played their part, or a stop is requested."""
        while True:
            beat = self._ranks.heartbeat(self._stop.reason, is_done=True)
            if beat.stop:
                self._stop.request_stop(beat.stop)
            if beat.stop or beat.all_done:
                return

    def _plan(self, newest: list[dict[str, Any]], steps_before: int) -> IterationPlan:
        """The updates of an iteration, from the newest generations that fit into the window."""
        config = self._config
        total, oldest = self._oldest_in_window(len(self._history))
        new = self._history[-1].positions
        num_steps = max(round(new * config.samples_per_position / config.batch_size), 1)
        window, num_segments = self._seating.segments(oldest, len(self._history)).span, None
        if {each.num_nodes for each in self._history[oldest:]} == {self._ranks.num_nodes}:
            num_segments = len(self.segments(0)) * (len(self._history) - oldest)
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
                source_segments=num_segments,
                in_epochs=config.is_on_policy,
                mirror=config.mirror,
                reference_share=config.data_share if config.data else 0.0,
                num_reference_shards=self._num_reference_shards,
            )

        facts = self._facts(newest, oldest)
        return IterationPlan(num_steps if total else 0, spec, total, facts)

    def _note_needed(self) -> None:
        """Note the first segment that the oldest of the newest checkpoints needs: pruning spares
        all from there on. The window of a later one never begins earlier. Unfinished games that no
        checkpoint goes on with are removed."""
        config = self._config
        back = config.checkpoint_every * (config.keep_checkpoints + 1)
        first = max(len(self._history) - back, 1)
        _, oldest = self._oldest_in_window(first)
        write_needed(self._run.games, self._seating.segments(oldest, first).span[0])
        remove_cuts(self._run, (first - 1) * self._seating.seats)

    def _oldest_in_window(self, num: int) -> tuple[int, int]:
        """Positions of the first ``num`` generations, and the first one that a window then has."""
        total = sum(generation.positions for generation in self._history[:num])
        return total, num - self._num_generations(num, total)

    def _num_generations(self, end: int, total: int) -> int:
        """How many of the newest of ``end`` generations the window holds; at least one."""
        if self._config.is_on_policy:
            return 1
        room, num = window_size(total, self._config.window_positions), 0
        for generation in reversed(self._history[:end]):
            room -= generation.positions
            if room < 0 and num:
                break
            num += 1
        return num

    def _facts(self, parts: list[dict[str, Any]], oldest: int) -> dict[str, Any]:
        """Facts about a generation, all machines together."""
        stats = GameStats()
        for part in parts:
            stats.add(GameStats.from_dict(part["stats"]))
        window = sum(generation.positions for generation in self._history[oldest:])
        seconds = max(part["seconds"] for part in parts)
        loads = [part["load"] for part in parts]
        load = combined_throughput([Throughput.from_dict(load) for load in loads]).to_dict()
        return {
            **{name: load[name] for name in LOAD_FACTS},
            "seconds": round(seconds, 3),
            "games_per_s": round(stats.games / max(seconds, 1e-9), 3),
            "positions": self._history[-1].positions,
            "window_positions": window,
            "mean_length": round(stats.mean_length, 2),
            "mean_time_steps": round(stats.mean_time_steps or load["mean_time_steps"], 3),
            "loads": loads,
            **stats.to_dict(),
        }
