"""Recorded games as training data: for ``--objective supervised``, or mixed with a run's own games.

PGN files are imported into shards in the run's folder first. Supervised learning holds out the last
games of each place: after each iteration the network, as it would be deployed, is evaluated on
them.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vecchess.config import TrainConfig
from vecchess.errors import ConfigError
from vecchess.importers.pgn_import import import_pgn, is_pgn
from vecchess.runtime.atomic_write import remove_folder
from vecchess.runtime.reporting import ReportLine
from vecchess.selfplay.worker.networks import latest_net, mark_latest
from vecchess.store.run_folder import RunFolder
from vecchess.train.data.batch_loader import BatchLoader
from vecchess.train.data.batch_spec import BatchSpec, IterationPlan
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.step.learner import Learner

MOST_HELD_OUT = 8192
"""Held-out positions that an evaluation takes at most."""
HOLDOUT_SEED = 20


class DatasetSource:
    """A fixed set of positions, learnt from ``epochs`` times in all."""

    def __init__(
        self,
        config: TrainConfig,
        ranks: Ranks,
        loader: BatchLoader,
        num_shards: int,
        run: RunFolder | None = None,
    ) -> None:
        """Counts the positions of the first ``num_shards`` shards that ``loader`` has.

        ``run``: where networks are published; without it there is no ``state``. Raises ConfigError
        where the positions are too few for a batch.
        """
        self._config, self._ranks, self._loader = config, ranks, loader
        self._num_shards, self._run = num_shards, run
        self.num_positions = loader.count(self._spec(0, 0, 0, 1))
        self.num_held_out = int(self.num_positions * config.holdout)
        self._num_learnt = self.num_positions - self.num_held_out
        self.num_steps = config.epochs * self._num_learnt // config.batch_size
        """Updates of the whole run."""
        if self.num_steps < config.iterations:
            raise ConfigError(
                f"{self._num_learnt:,} positions, {config.epochs} times, make {self.num_steps} "
                f"batches of {config.batch_size}, too few for {config.iterations} iterations: give "
                "more games or epochs, or fewer --iterations"
            )

    def prepare(self, iteration: int, steps_before: int) -> IterationPlan:
        """The iteration's part of the dataset: an equal one of what is left.

        Raises ConfigError where that is too little, as after more iterations were asked for.
        """
        left, parts = self.num_steps - steps_before, self._config.iterations - iteration
        if left < parts:
            raise ConfigError(
                f"{self._config.epochs} epochs leave {max(left, 0):,} updates for {parts} more "
                "iterations: give more --epochs, or fewer --iterations"
            )

        def spec(step: int) -> BatchSpec:
            return self._spec(step, self._config.seed, 0, self._num_learnt)

        return IterationPlan(left // parts, spec, self.num_positions)

    def state(self) -> dict[str, Any]:
        """The number of positions, the size of a batch, which tells how many are learnt, and the
        newest network."""
        assert self._run is not None
        newest = latest_net(self._run)
        return {
            "positions": self.num_positions,
            "batch_size": self._config.batch_size,
            "latest": [newest.name, newest.sha256],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Raises ConfigError where the dataset or the size of a batch has changed."""
        if state["positions"] != self.num_positions:
            raise ConfigError(
                f"--data has {self.num_positions:,} positions, the run began with "
                f"{state['positions']:,}: give the same files"
            )
        before, size = state["batch_size"], self._config.batch_size
        if before != size:
            raise ConfigError(
                f"a supervised run goes on with its --batch-size, {before}, not {size}: it counts "
                "the positions that are learnt"
            )
        latest = state.get("latest")  # older runs do not tell
        if self._run is not None and self._ranks.is_main and latest and self._config.gate:
            # a candidate has to beat the best network of then, not one that was published later
            mark_latest(self._run, *map(str, latest))

    def evaluate(self, learner: Learner) -> dict[str, Any]:
        """Errors of the deployed network on held-out positions, each taken once, by time step."""
        if not self.num_held_out:
            return {}
        num, size = min(self.num_held_out, MOST_HELD_OUT), self._config.batch_size
        parts = []
        for step in range(-(-num // size)):
            spec = self._spec(step, HOLDOUT_SEED, self._num_learnt, self.num_positions)
            part = learner.shares.share_of(self._ranks.rank, spec)
            left = max(0, num - step * size - part.first_row)
            parts.append(replace(part, num_rows=min(part.rows, left)))
        return learner.evaluate(self._loader.batches(parts))

    def _spec(self, step: int, seed: int, first: int, end: int) -> BatchSpec:
        config = self._config
        return BatchSpec(
            source_end=self._num_shards,
            seed=seed,
            step=step,
            batch_size=config.batch_size,
            in_epochs=True,
            mirror=config.mirror,
            first_position=first,
            end_position=end,
        )


def import_data(places: Sequence[Path], folder: Path, report_line: ReportLine) -> None:
    """Import each PGN file among ``places`` into a folder of shards in ``folder``, unless done.

    Raises ConfigError with the file, game and move where a game is wrong.
    """
    for index, place in enumerate(places):
        out = _shard_folder(index, place, folder)
        if out != place and not out.exists():
            num_games = import_pgn([place], out).games
            report_line(f"{place}: {num_games} games gathered into {out}")


def shard_folders(places: Sequence[Path], folder: Path) -> list[Path]:
    """``places``, each PGN file replaced by the folder that ``import_data`` made of it."""
    return [_shard_folder(index, place, folder) for index, place in enumerate(places)]


def kept_data(places: Sequence[Path], folder: Path) -> tuple[Path, ...]:
    """``places``, each PGN file that was imported replaced by its folder: the file is not read
    again."""
    folders = shard_folders(places, folder)
    return tuple(
        made if made.exists() else place for place, made in zip(places, folders, strict=True)
    )


def forget_imports(places: Sequence[Path], folder: Path) -> None:
    """Remove what ``import_data`` made for a start that ended before the run: a file may hold other
    games now."""
    for out in set(shard_folders(places, folder)) - set(places):
        remove_folder(out)


def _shard_folder(index: int, place: Path, folder: Path) -> Path:
    return folder / f"{index}-{place.stem}" if is_pgn(place) else place
