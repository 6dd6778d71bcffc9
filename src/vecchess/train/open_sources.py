"""Opens the games that a run learns from: its own, recorded ones, or both."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from rich.console import Console

from vecchess.config import TrainConfig
from vecchess.runtime.devices import Device
from vecchess.selfplay.supervisor.selfplay_progress import SelfplayDisplay
from vecchess.selfplay.supervisor.status_watcher import StatusWatcher
from vecchess.selfplay.supervisor.supervisor import SelfplayWatcher, Supervisor
from vecchess.selfplay.worker.slot_tuning import with_remembered_slots
from vecchess.store.run_folder import RunFolder
from vecchess.train.data.loader_pool import LoaderPool
from vecchess.train.data.replay_window import GivenShards, ManifestShards, ShardSource
from vecchess.train.data.samples import SharedBuffers
from vecchess.train.dataset_source import DatasetSource, import_data, shard_folders
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.selfplay_source import SelfplaySource, selfplay_config
from vecchess.train.train_reporter import TrainReporter
from vecchess.train.trainer import Trainer, TrainingSource

IMPORT_TIMEOUT_S = 24 * 3600.0
"""Time that the import of a large PGN file may take."""


class TrainingShards(NamedTuple):
    """The games of a run on this machine."""

    games: ShardSource
    """``GivenShards`` where the run plays no games."""
    reference: GivenShards | None = None
    """Recorded games to mix with ``games``."""


def find_shards_of(
    config: TrainConfig, run: RunFolder, ranks: Ranks, reporter: TrainReporter
) -> TrainingShards:
    """All ranks call it. Raises ConfigError or DataError where recorded games are wrong."""
    given = _given_shards(config, run, ranks, reporter) if config.data else None
    if config.objective == "supervised" and given is not None:
        return TrainingShards(given)
    return TrainingShards(ManifestShards(run.games), given)


def open_loader(
    config: TrainConfig,
    shards: TrainingShards,
    buffers: SharedBuffers,
    ranks: Ranks,
    reporter: TrainReporter,
) -> LoaderPool:
    """Loader processes for batches of ``shards``, built in ``buffers``."""
    return LoaderPool(
        shards.games,
        buffers,
        trace=config.loss.gae_lambda if config.objective == "ppo" else 1.0,
        pin_memory=ranks.device.type == "cuda",
        stall_timeout_s=config.stall_timeout_s,
        report_line=reporter.report_line,
        reference=shards.reference,
    )


@contextmanager
def open_source(
    trainer: Trainer, shards: TrainingShards, devices: list[Device], console: Console, quiet: bool
) -> Iterator[TrainingSource]:
    """The source of each iteration's positions. Self-play workers end with the block."""
    config, run, ranks = trainer.config, trainer.run, trainer.ranks
    if isinstance(shards.games, GivenShards):
        yield DatasetSource(config, ranks, trainer.loader, len(shards.games))
        return
    num_reference = len(shards.reference) if shards.reference is not None else 0
    if not ranks.is_local_main:
        yield SelfplaySource(config, run, ranks, trainer.stop, None, num_reference)
        return
    settings = selfplay_config(config, config.net)
    settings = with_remembered_slots(settings, trainer.learner.net.config, devices)
    with (
        SelfplayDisplay(console, quiet or not ranks.is_main) as shown,
        Supervisor(
            settings, run, devices, _watcher(shown, trainer.reporter), trainer.stop
        ) as supervisor,
    ):
        yield SelfplaySource(config, run, ranks, trainer.stop, supervisor, num_reference)


def _watcher(shown: SelfplayWatcher, reporter: TrainReporter) -> SelfplayWatcher:
    """``shown``, which also writes the status on ranks that have one."""
    if reporter.status is None:
        return shown
    return StatusWatcher(shown, reporter.status, reporter.log_load)


def _given_shards(
    config: TrainConfig, run: RunFolder, ranks: Ranks, reporter: TrainReporter
) -> GivenShards:
    """The recorded games. One rank of a machine imports PGN files while the others wait."""
    folder = run.path / "data"
    with ranks.timeout(IMPORT_TIMEOUT_S):
        if ranks.is_local_main:
            import_data(config.data, folder, reporter.report_line)
        ranks.barrier()
    return GivenShards(shard_folders(config.data, folder))
