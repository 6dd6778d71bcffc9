"""The training loop on one rank: have positions ready, learn, publish, evaluate, save."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import tee
from time import monotonic
from typing import Any, Protocol

from vecchess.config import TrainConfig
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.worker.networks import forget_others, publish
from vecchess.store.run_folder import RunFolder
from vecchess.train.data.batch_loader import BatchLoader
from vecchess.train.data.batch_spec import IterationPlan
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.step.learner import Learner
from vecchess.train.train_reporter import TrainReporter
from vecchess.train.training_matches import TrainingMatches

FIRST_UPDATE_S = 300.0
"""Time that the first update of a process may take on GPUs."""


class TrainingSource(Protocol):
    """The positions that iterations learn from: games played by the run, or recorded ones."""

    def prepare(self, iteration: int, steps_before: int) -> IterationPlan | None:
        """Have the positions of an iteration ready; None where a stop was requested."""

    def state(self) -> dict[str, Any]:
        """JSON values for a checkpoint."""

    def restore(self, state: dict[str, Any]) -> None:
        """Resume from the state of a checkpoint."""

    def evaluate(self, learner: Learner) -> dict[str, Any]:
        """Errors of the network on held-out positions; empty where there are none."""


@dataclass
class TrainProgress:
    """How far the run is, the same on all ranks; part of a checkpoint."""

    iteration: int = 0
    """Iterations done."""
    iteration_step: int = 0
    """Updates done in the current iteration."""
    positions: int = 0
    """Positions played, or read, so far."""
    has_begun: bool = False
    """The first network is published and evaluated."""
    candidate_waits: bool = False
    """The gate has not judged the newest network, because a stop was requested."""
    matches: list[dict[str, Any]] = field(default_factory=list)
    """Results of progress matches, in order: see ``firsts_and_newest``."""
    matches_wait: bool = False
    """Matches are due that a stop ended."""


def firsts_and_newest(matches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first and the newest of the ``matches`` of each player and opponent, in their order.

    A long run plays thousands, which its checkpoints and its status have no room for;
    ``metrics.jsonl`` has them all.
    """
    firsts: dict[str, int] = {}
    newest: dict[str, int] = {}
    for place, match in enumerate(matches):
        names = f"{match.get('player')} against {match.get('opponent')}"
        firsts.setdefault(names, place)
        newest[names] = place
    return [matches[place] for place in sorted({*firsts.values(), *newest.values()})]


class Trainer:
    """Runs the iterations that are left."""

    def __init__(
        self,
        config: TrainConfig,
        run: RunFolder,
        ranks: Ranks,
        stop: StopSignals,
        learner: Learner,
        loader: BatchLoader,
        reporter: TrainReporter,
        matches: TrainingMatches,
    ) -> None:
        """``run``: what this machine has of the run."""
        self.config, self.run, self.ranks, self.stop = config, run, ranks, stop
        self.learner, self.loader = learner, loader
        self.reporter, self.matches = reporter, matches
        self.progress = TrainProgress()
        self._part_s = 0.0
        self._is_warm = False

    @property
    def position(self) -> tuple[int, int]:
        """Iteration (1 first) and update up to which all work is done."""
        progress = self.progress
        return progress.iteration + (progress.iteration_step > 0), self.learner.steps

    def train(
        self,
        source: TrainingSource,
        save: Callable[[], None],
        share: Callable[[], None] = lambda: None,
    ) -> None:
        """Run until the last iteration is done or a stop is requested.

        ``save`` writes a checkpoint, on rank 0 alone; it is called at the end either way. ``share``
        is called after each iteration.
        """
        progress = self.progress
        self.reporter.begin_iteration(self.learner, progress.iteration)
        if not progress.has_begun:
            self._publish()
            self._play_matches()
            progress.has_begun = not self.stop.reason
            save()
        elif progress.candidate_waits and self._publish_and_evaluate(source):
            save()
        elif progress.matches_wait:
            self._play_matches()
            save()
        while progress.iteration < self.config.iterations and not self._agree_on_stop():
            is_done = self._prepare_and_learn(source) and self._publish_and_evaluate(source)
            if is_done and self._is_due(self.config.checkpoint_every):
                save()
            share()
        if self.stop.reason:
            save()

    def _prepare_and_learn(self, source: TrainingSource) -> bool:
        """Get an iteration's positions and learn from them; False after a stop."""
        progress = self.progress
        self.reporter.begin_iteration(self.learner, progress.iteration + 1)
        plan = source.prepare(progress.iteration, self.learner.steps - progress.iteration_step)
        if plan is None:
            return False
        if progress.iteration_step == 0:
            self.reporter.log_games(plan)
        if not self._learn(plan):
            return False
        progress.iteration, progress.iteration_step = progress.iteration + 1, 0
        progress.positions = plan.positions
        return True

    def _learn(self, plan: IterationPlan) -> bool:
        """Make the updates of ``plan`` that are left; False after a stop."""
        progress = self.progress
        before = self.learner.steps - progress.iteration_step
        if progress.iteration_step == 0:
            self.learner.begin_generation()
        left = range(progress.iteration_step, plan.num_steps)
        shares, rank = self.learner.shares, self.ranks.rank
        specs, due = tee(shares.share_of(rank, plan.spec(before + step)) for step in left)
        batches = self.loader.batches(specs)
        with self.reporter.display_learning(plan, progress.iteration_step) as display:
            while progress.iteration_step < plan.num_steps:
                began = monotonic()
                batch, first_row = next(batches), next(due).first_row
                waited_s = monotonic() - began
                rank_values = self._rank_values(waited_s)
                if self._done(plan) >= self.config.fold_at * self.config.iterations:
                    self._fold()
                progress.iteration_step += 1
                with self._patience():
                    metrics = self.learner.step(batch, self._done(plan), rank_values, first_row)
                self._part_s = self.learner.seconds_a_part(batch, waited_s)
                num_stops, *times = metrics.rank_sums
                waits, part_times = times[: self.ranks.world_size], times[self.ranks.world_size :]
                shares.note(part_times)
                display.update(progress.iteration_step, metrics.means, waits)
                if num_stops:
                    self._agree_on_stop()
                    return False
        return True

    @contextmanager
    def _patience(self) -> Iterator[None]:
        """Ranks wait longer for each other at the first update on GPUs, which compiles kernels and
        loads libraries."""
        if self._is_warm or self.ranks.device.type == "cpu":
            yield
        else:
            with self.ranks.timeout(max(self.config.rank_timeout_s, FIRST_UPDATE_S)):
                yield
        self._is_warm = True

    def _done(self, plan: IterationPlan) -> float:
        """Iterations done, the current one in part."""
        return self.progress.iteration + self.progress.iteration_step / plan.num_steps

    def _rank_values(self, waited_s: float) -> list[float]:
        """Numbers that are summed over ranks with a step: stop flag; time each rank waited, and
        took for a part of the batch before."""
        values = [0.0] * (2 * self.ranks.world_size)
        values[self.ranks.rank] = waited_s
        values[self.ranks.world_size + self.ranks.rank] = self._part_s
        return [float(bool(self.stop.reason)), *values]

    def _agree_on_stop(self) -> bool:
        """Exchange stop requests with all ranks; returns whether any rank has one."""
        self.stop.request_stop(self.ranks.heartbeat(self.stop.reason, is_done=True).stop)
        return bool(self.stop.reason)

    def _is_due(self, every: int) -> bool:
        """True every so many iterations, and after the last."""
        done = self.progress.iteration
        return done == self.config.iterations or done % every == 0

    def _fold(self) -> None:
        if not self.learner.net.folded:
            self.learner.fold()
            self._is_warm = False
            self.reporter.note("weights are int8 from here on: what learns is what plays")

    def _publish_and_evaluate(self, source: TrainingSource) -> bool:
        """Publish the network, evaluate it and play matches; False after a stop."""
        if not self._publish():
            return False
        self.reporter.log_evaluation(source.evaluate(self.learner))
        if self.config.eval_every and self._is_due(self.config.eval_every):
            self._play_matches()
        return True

    def _publish(self) -> bool:
        """Write the network to the run, and to its copies, if the gate admits it.

        False where a stop came before the gate's decision; the next start repeats it.
        """
        self.ranks.broadcast_(self.learner.weights())
        net, self.progress.candidate_waits = self.learner.exported(), False
        if self.config.gate and self.progress.has_begun:
            self.reporter.set_state("evaluating")
            verdict = self.matches.judge(net, self.progress.iteration)
            if verdict is None:
                self.progress.candidate_waits = True
                return False
            self.reporter.log_gate(verdict)
            if not verdict["admitted"]:
                return True
        self.reporter.share_cost(self.ranks)
        if self.ranks.is_local_main:
            samples, positions = self.learner.samples, self.progress.positions
            newest = publish(net, self.run, samples, positions)
            self.reporter.log_publish(newest)
            if not self.ranks.is_main:
                forget_others(newest)
        self.ranks.barrier()
        return True

    def _play_matches(self) -> None:
        """Progress matches, of which every rank plays a share."""
        self.progress.matches_wait = False
        if not self.config.eval_every:
            return
        self.reporter.set_state("evaluating")
        matches = self.matches.play()
        self.progress.matches_wait = not matches
        for match in matches:
            match["iteration"] = self.progress.iteration
            self.reporter.log_match(match)
        self.progress.matches = firsts_and_newest(self.progress.matches + matches)
