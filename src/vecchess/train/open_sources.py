"""Where the positions come from that a run learns from: its own games, recorded ones, or both."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from rich.console import Console

from vecchess.config import TrainConfig
from vecchess.runtime.devices import Device
from vecchess.selfplay.run_selfplay import watcher_for
from vecchess.selfplay.supervisor.status_watcher import StatusWatcher
from vecchess.selfplay.supervisor.supervisor import SelfplayWatcher, Supervisor
from vecchess.selfplay.worker.slot_tuning import with_remembered_slots
from vecchess.store.run_folder import RunFolder
from vecchess.train.data.dataset_files import shards_of
from vecchess.train.data.loader_pool import LoaderPool
from vecchess.train.data.replay_window import GivenShards, ManifestShards, ShardSource
from vecchess.train.data.shared_buffers import SharedBuffers
from vecchess.train.dataset_source import DatasetSource
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.selfplay_source import SelfplaySource, selfplay_config
from vecchess.train.train_reporter import TrainReporter
from vecchess.train.trainer import Trainer
from vecchess.train.training_source import TrainingSource

GATHER_S = 24 * 3600.0
"""A large PGN file may take so long to gather."""


class Supply(NamedTuple):
    """The games of a run on this machine."""

    shelf: ShardSource
    """A ``GivenShards`` where nothing is played."""
    reference: GivenShards | None = None
    """Recorded games that are mixed with those on the shelf."""


def find_supply(
    config: TrainConfig, run: RunFolder, ranks: Ranks, reporter: TrainReporter
) -> Supply:
    """All ranks call it. Raises ConfigError or DataError where recorded games are not right."""
    given = _given(config, run, ranks, reporter) if config.data else None
    if config.objective == "supervised" and given is not None:
        return Supply(given)
    return Supply(ManifestShards(run.games), given)


def open_loader(
    config: TrainConfig,
    supply: Supply,
    places: SharedBuffers,
    ranks: Ranks,
    reporter: TrainReporter,
) -> LoaderPool:
    """Batches of those games, made in ``places``."""
    return LoaderPool(
        supply.shelf,
        places,
        trace=config.loss.gae_lambda if config.objective == "ppo" else 1.0,
        pin_memory=ranks.device.type == "cuda",
        stall_timeout_s=config.stall_timeout_s,
        report_line=reporter.report_line,
        reference=supply.reference,
    )


@contextmanager
def open_source(
    trainer: Trainer, supply: Supply, devices: list[Device], console: Console, quiet: bool
) -> Iterator[TrainingSource]:
    """What each iteration learns from. Workers, where there are any, end with the block."""
    config, run, ranks = trainer.config, trainer.run, trainer.ranks
    if isinstance(supply.shelf, GivenShards):
        yield DatasetSource(config, ranks, trainer.loader, len(supply.shelf))
        return
    num_reference = len(supply.reference) if supply.reference is not None else 0
    if not ranks.is_local_main:
        yield SelfplaySource(config, run, ranks, trainer.stop, None, num_reference)
        return
    settings = selfplay_config(config, config.net)
    settings = with_remembered_slots(settings, trainer.learner.net.config, devices)
    with (
        watcher_for(console, quiet or not ranks.is_main) as shown,
        Supervisor(
            settings, run, devices, _watcher(shown, trainer.reporter), trainer.stop
        ) as campaign,
    ):
        yield SelfplaySource(config, run, ranks, trainer.stop, campaign, num_reference)


def _watcher(shown: SelfplayWatcher, reporter: TrainReporter) -> SelfplayWatcher:
    """One that writes down what it sees, on ranks that have a status to write to."""
    if reporter.status is None:
        return shown
    return StatusWatcher(shown, reporter.status, reporter.loaded)


def _given(
    config: TrainConfig, run: RunFolder, ranks: Ranks, reporter: TrainReporter
) -> GivenShards:
    """The recorded games. Other ranks wait while their leader gathers PGN files."""
    folder = run.path / "data"
    with ranks.timeout(GATHER_S):
        if ranks.is_local_main:
            shards_of(config.data, folder, reporter.report_line, gathers=True)
        ranks.barrier()
    return GivenShards(shards_of(config.data, folder, reporter.report_line, gathers=False))
