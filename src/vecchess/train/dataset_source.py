"""Positions of recorded games to learn from: what ``--objective supervised`` takes.

The last games are held out: after each iteration the network, as it would be deployed, is asked
about them, at every time step.
"""

from typing import Any

from vecchess.config import TrainConfig
from vecchess.errors import ConfigError
from vecchess.train.data.batch_spec import BatchSpec
from vecchess.train.data.loader_pool import LoaderPool
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.step.learner import Learner
from vecchess.train.training_source import IterationPlan

MOST_HELD_OUT = 8192
"""So many positions, drawn from those held out, are asked about."""
HOLDOUT_SEED = 20


class DatasetSource:
    """A fixed set of positions, gone through ``epochs`` times in all."""

    def __init__(
        self, config: TrainConfig, ranks: Ranks, loader: LoaderPool, num_shards: int
    ) -> None:
        """Counts the positions of the first ``num_shards`` shards that ``loader`` has.

        Raises ConfigError where they are too few for a batch.
        """
        self._config, self._ranks, self._loader, self._num_shards = (
            config,
            ranks,
            loader,
            num_shards,
        )
        self.num_positions = loader.count(self._plan(0, 0, 0, 1))
        self.num_held_out = int(self.num_positions * config.holdout)
        self._num_learnt = self.num_positions - self.num_held_out
        self._num_steps = config.epochs * self._num_learnt // config.batch_size
        if self._num_steps < config.iterations:
            raise ConfigError(
                f"{self._num_learnt:,} positions, {config.epochs} times, make {self._num_steps} "
                f"batches of {config.batch_size}, too few for {config.iterations} iterations: give "
                "more games or epochs, or fewer --iterations"
            )

    def prepare(self, iteration: int, steps_before: int) -> IterationPlan:
        """The part of the corpus whose turn it is."""
        ends = [self._num_steps * k // self._config.iterations for k in (iteration, iteration + 1)]

        def plan(step: int) -> BatchSpec:
            return self._plan(step, self._config.seed, 0, self._num_learnt)

        return IterationPlan(ends[1] - ends[0], plan, self.num_positions)

    def state(self) -> dict[str, Any]:
        """Nothing: the files are what they were."""
        return {"positions": self.num_positions}

    def restore(self, state: dict[str, Any]) -> None:
        """Raises ConfigError where the corpus has changed."""
        if state["positions"] != self.num_positions:
            raise ConfigError(
                f"--data has {self.num_positions:,} positions, the run began with "
                f"{state['positions']:,}: give the same files"
            )

    def examine(self, learner: Learner) -> dict[str, Any]:
        """How the deployed network does on positions held out: a figure for each time step."""
        if not self.num_held_out:
            return {}
        num = min(self.num_held_out, MOST_HELD_OUT) // self._config.batch_size
        plans = [
            self._plan(step, HOLDOUT_SEED, self._num_learnt, self.num_positions)
            for step in range(max(num, 1))
        ]
        return learner.examine(self._loader.batches(plans))

    def _plan(self, step: int, seed: int, first: int, end: int) -> BatchSpec:
        config, rows = self._config, self._config.batch_size // self._ranks.world_size
        return BatchSpec(
            num_shards=self._num_shards,
            seed=seed,
            step=step,
            batch_size=config.batch_size,
            first_row=self._ranks.rank * rows,
            num_rows=rows,
            in_epochs=True,
            mirror=config.mirror,
            first_position=first,
            end_position=end,
        )
