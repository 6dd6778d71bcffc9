"""The loop, on one rank: have positions ready, learn from them, publish, look, save."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from vecchess.config import TrainConfig
from vecchess.runtime.signals import StopSignals
from vecchess.snn.torch_integer import exported
from vecchess.store.run_folder import RunFolder
from vecchess.train.data.loader_pool import LoaderPool
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.gating import Gate
from vecchess.train.progress_matches import ProgressMatches
from vecchess.train.publish import publish
from vecchess.train.step.learner import Learner
from vecchess.train.train_reporter import TrainReporter
from vecchess.train.training_source import IterationPlan, TrainingSource


@dataclass
class TrainProgress:
    """Where in the run everybody is; part of a checkpoint."""

    iteration: int = 0
    """Iterations that are done."""
    step: int = 0
    """Updates of the current one that are done."""
    positions: int = 0
    """Positions played, or read, so far."""
    has_begun: bool = False
    """The first network is published and has been looked at."""
    candidate_waits: bool = False
    """The gate has not judged the newest network yet, because somebody asked to stop."""
    matches: list[dict[str, Any]] = field(default_factory=list)
    """ProgressMatches for progress so far, in order."""


class Trainer:
    """All iterations of a run, from wherever it stands."""

    def __init__(
        self,
        config: TrainConfig,
        run: RunFolder,
        ranks: Ranks,
        stop: StopSignals,
        learner: Learner,
        loader: LoaderPool,
        reporter: TrainReporter,
        matches: ProgressMatches,
        gate: Gate,
    ) -> None:
        """``run`` is the folder of this machine, for games and networks."""
        self.config, self.run, self.ranks, self.stop = config, run, ranks, stop
        self.learner, self.loader = learner, loader
        self.reporter, self.matches, self.gate = reporter, matches, gate
        self.standing = TrainProgress()

    @property
    def mark(self) -> tuple[int, int]:
        """Iteration (1 first) and update up to which everything is done."""
        standing = self.standing
        return standing.iteration + (standing.step > 0), self.learner.progress.steps

    def train(self, source: TrainingSource, save: Callable[[], None]) -> None:
        """Go on until the last iteration is done, or somebody asks to stop; saved either way.

        ``save`` writes a checkpoint; rank 0 alone does.
        """
        standing = self.standing
        self.reporter.begin(self.learner, standing.iteration)
        if not standing.has_begun:
            self._publish()
            self._evaluate()
            standing.has_begun = not self.stop.reason
            save()
        elif standing.candidate_waits and self._finish_iteration(source):
            save()
        while standing.iteration < self.config.iterations and not self._is_asked_to_stop():
            if self._iterate(source) and self._is_due(self.config.checkpoint_every):
                save()
        if self.stop.reason:
            save()

    def _iterate(self, source: TrainingSource) -> bool:
        """Once round; False where a stop left something of it to the next start."""
        standing = self.standing
        self.reporter.begin(self.learner, standing.iteration + 1)
        if standing.iteration >= self.config.fold_at * self.config.iterations:
            self._fold()
        stage = source.prepare(standing.iteration, self.learner.progress.steps - standing.step)
        if stage is None:
            return False
        if standing.step == 0:
            self.reporter.played(stage)
        if not self._learn(stage):
            return False
        standing.iteration, standing.step = standing.iteration + 1, 0
        standing.positions = stage.positions
        return self._finish_iteration(source)

    def _finish_iteration(self, source: TrainingSource) -> bool:
        """What follows the learning; False where a stop left it to the next start."""
        if not self._publish():
            return False
        self.reporter.examined(source.examine(self.learner))
        if self.config.eval_every and self._is_due(self.config.eval_every):
            self._evaluate()
        return True

    def _learn(self, stage: IterationPlan) -> bool:
        """The updates of a stage that are left; False where a stop came in between."""
        standing = self.standing
        before = self.learner.progress.steps - standing.step
        plans = (stage.plan(before + step) for step in range(standing.step, stage.num_steps))
        batches = self.loader.batches(plans)
        with self.reporter.learning(stage, standing.step) as line:
            while standing.step < stage.num_steps:
                asked = monotonic()
                batch = next(batches)
                notes = self._notes(monotonic() - asked)
                told = self.learner.step(batch, self._share_done(stage), notes)
                standing.step += 1
                line.update(standing.step, told)
                if told.notes[0]:
                    self._is_asked_to_stop()
                    return False
        return True

    def _share_done(self, stage: IterationPlan) -> float:
        """How much of the run lies behind, 0 to 1."""
        done = self.standing.iteration + self.standing.step / stage.num_steps
        return done / self.config.iterations

    def _notes(self, waited_s: float) -> list[float]:
        """What travels with a step's sums: whether to stop, and how long each rank waited."""
        waits = [0.0] * self.ranks.world_size
        waits[self.ranks.rank] = waited_s
        return [float(bool(self.stop.reason)), *waits]

    def _is_asked_to_stop(self) -> bool:
        """Whether any rank was asked; from then on all of them know why."""
        self.stop.request_stop(self.ranks.heartbeat(self.stop.reason, is_done=True).stop)
        return bool(self.stop.reason)

    def _is_due(self, every: int) -> bool:
        """Every so many iterations, and after the last."""
        done = self.standing.iteration
        return done == self.config.iterations or done % every == 0

    def _fold(self) -> None:
        if not self.learner.net.folded:
            self.learner.fold()
            self.reporter.note("weights are int8 from here on: what learns is what plays")

    def _publish(self) -> bool:
        """The network as it is now, in the folder of every machine, if the gate admits it.

        False where a stop left that to the next start.
        """
        self.ranks.broadcast_(list(self.learner.net.state_dict().values()))
        net = exported(self.learner.net) if self.ranks.is_local_main else None
        if self.config.gate and self.standing.has_begun:
            self.reporter.enter("evaluating")
            judged = self.gate.judge(net, self.standing.iteration, self.stop)
            self.standing.candidate_waits = judged is None
            if judged is None:
                return False
            self.reporter.gated(judged)
            if not judged["admitted"]:
                return True
        if net is not None:
            samples, positions = self.learner.progress.samples, self.standing.positions
            self.reporter.published(publish(net, self.run, samples, positions))
        self.ranks.barrier()
        return True

    def _evaluate(self) -> None:
        """ProgressMatches for progress, by rank 0, while the others wait."""
        if not self.config.eval_every:
            return
        self.reporter.enter("evaluating")
        found = self.matches.play(self.stop)
        for match in found:
            match["iteration"] = self.standing.iteration
            self.reporter.matched(match)
        self.standing.matches += found
