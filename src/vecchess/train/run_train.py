"""Runs one training from settings to summary: what ``vecchess train`` does."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from vecchess.arena.ratings.sprt import Sprt
from vecchess.config import TrainConfig, to_toml
from vecchess.errors import ConfigError
from vecchess.fleet.fleet_run import GamesRefuted, check_executor
from vecchess.importers.recorded_places import check_places
from vecchess.inference.source import find
from vecchess.ports.prometheus import metrics_endpoint
from vecchess.runtime.atomic_write import remove_file
from vecchess.runtime.devices import Device, parse_gpus, seen_among
from vecchess.runtime.progress import ProgressDisplay
from vecchess.runtime.signals import OnSignal, StopSignals, exit_code
from vecchess.runtime.terminal import CleanConsole, note_console
from vecchess.selfplay.run_selfplay import check_playable
from vecchess.selfplay.worker.networks import latest_net
from vecchess.snn.modules.neuron_dispatch import obstacle_to_neurons
from vecchess.store.metrics import MetricsLog
from vecchess.store.remote.run_places import push_of
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import (
    GAMES_VERSION,
    absolute_paths,
    changed_settings,
    check_resumable,
    has_pins,
    note_start,
    pin_run,
    pinned,
)
from vecchess.store.seating import Seating
from vecchess.store.status_file import STATUS_FILE, StatusWriter
from vecchess.train.checkpoint.checkpoint_folder import CheckpointFolder
from vecchess.train.checkpoint.trainer_state import TrainerState
from vecchess.train.data.batch_loader import BatchLoader
from vecchess.train.data.batch_spec import note_on_idle
from vecchess.train.data.replay_window import GivenShards, ManifestShards
from vecchess.train.data.value_targets import SampleRules
from vecchess.train.dataset_source import (
    DatasetSource,
    forget_imports,
    import_data,
    kept_data,
    shard_folders,
)
from vecchess.train.distributed.environment import Cluster, launch_id, local_ranks
from vecchess.train.distributed.launch import run_ranks
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.distributed.shared_settings import OWN, settings_from_rank0
from vecchess.train.executor import GenerationPlayer, open_executor, selfplay_config
from vecchess.train.initial_network import first_net, first_sizes
from vecchess.train.run_copies import RunCopies, open_folder
from vecchess.train.run_cost import RunCost, cost_before
from vecchess.train.selfplay_source import SelfplaySource
from vecchess.train.step.learner import Learner
from vecchess.train.train_reporter import TrainReporter
from vecchess.train.trainer import Trainer, TrainingSource
from vecchess.train.training_matches import TrainingMatches

SCHEMA = 1
OF_FURTHER_RANKS = "run_dir", "net", "exit_code"
"""What a rank that is not its machine's first has of the summary."""
FILES_TIMEOUT_S = 24 * 3600.0
"""A rank may take so long to import or count games, or to reach a bucket, before it is lost."""


def train_run(
    config: TrainConfig,
    run_dir: Path | None,
    resume: bool,
    quiet: bool,
    flags: Mapping[str, Any] | None = None,
    stop: StopSignals | None = None,
    prints_nothing: bool = False,
) -> dict[str, Any]:
    """Train until the last iteration is done or a stop is requested; returns the summary.

    The summary is ready for JSON; a rank that torchrun or srun started beside its machine's first
    has ``OF_FURTHER_RANKS`` of it. ``stop`` requests an early end, and the caller has entered it;
    None: no early end. On a machine without the run's settings ``flags`` are given, and ``config``
    is that of ``settings_before_joining``: the rest comes from rank 0. ``quiet`` leaves out the
    progress, ``prints_nothing`` the notes too, which the run keeps.

    Raises ConfigError, NetworkError or DataError before anything is written where the settings are
    wrong; RankLost where a rank is lost; DataError, DeviceError or WorkerDied where the disk, a
    device or a worker fails for good.
    """
    devices = parse_gpus(config.gpus)
    if resume and run_dir is None:
        raise ConfigError("--resume needs --run-dir: which run is to go on?")
    folder = run_dir or Path("runs") / f"train-{datetime.now():%Y%m%d-%H%M%S}"
    cluster = Cluster(config.nnodes, config.node_rank, config.master_addr, config.master_port)
    place = local_ranks(devices, cluster, os.environ)[0]
    if place.node == 0 and flags is not None:
        raise ConfigError(
            f"{folder} is not a run: it has no config.toml; only further machines can do without, "
            "told --nnodes, --node-rank and --master-addr"
        )
    if place.num_nodes == 1:
        _check(config, folder, devices, resume)
    arguments = (
        config, folder, devices, resume, quiet, flags, stop or StopSignals(), prints_nothing,
    )  # fmt: skip
    return run_ranks(train_rank, arguments, devices, cluster, config.rank_timeout_s)


def train_rank(
    ranks: Ranks,
    config: TrainConfig,
    folder: Path,
    devices: list[Device],
    resume: bool,
    quiet: bool,
    flags: Mapping[str, Any] | None,
    stop: StopSignals,
    prints_nothing: bool = False,
) -> dict[str, Any]:
    """One rank's part of a run; see ``train_run``. Spawned ranks get stop requests from rank 0."""
    stop.set_action(OnSignal.SET_FLAG)
    given = settings_from_rank0(config, flags, ranks)
    ranks.require_same(given.model_dump_json(exclude=OWN))
    if ranks.is_main and ranks.num_nodes > 1:  # others need none of the files that settings name
        _check(config, folder, devices, resume)
    if launch := launch_id(os.environ):
        ranks.end_soon_if(lambda: bool(stop.reason))
    folder, resume = _shared_folder(folder, given, resume, ranks, launch)
    console = note_console(quiet=prints_nothing or not ranks.is_main)
    with ranks.timeout(given.rank_timeout_s):  # that of rank 0's settings
        while True:
            try:
                return _train(ranks, given, folder, devices, resume, quiet, stop, console)
            except GamesRefuted as error:  # all ranks get it
                resume = True
                if ranks.is_main:
                    go_back(RunFolder(folder), error.generation, Seating.of(given).seats)
                    console.print(f"{error}: the training goes back to before it", markup=False)
                ranks.barrier()


def _train(
    ranks: Ranks,
    given: TrainConfig,
    folder: Path,
    devices: list[Device],
    resume: bool,
    quiet: bool,
    stop: StopSignals,
    console: CleanConsole,
) -> dict[str, Any]:
    """Train from the newest checkpoint on; returns the rank's summary. Raises GamesRefuted, on all
    ranks, where games that were learnt from are wrong."""
    launch = launch_id(os.environ)
    with ExitStack() as stack:
        run = stack.enter_context(open_folder(folder, ranks))
        cost = RunCost.of_ranks(ranks, cost_before(run, not (resume and has_pins(run))))
        status = stack.enter_context(_open_run(run, given, resume, ranks, console, cost, stop))
        copies = RunCopies(run, ranks)
        copies.send_start()
        config = _with_kept_files(given, run)
        reporter = TrainReporter(config, console if ranks.is_main else None, quiet, status, cost)
        trainer, source = _open_trainer(
            stack, config, copies, ranks, stop, devices, reporter, console, quiet
        )
        state = TrainerState(trainer, source, _checkpoints(config, run, ranks))
        state.restore()
        copies.send_latest()
        if ranks.is_main:
            _check_iterations(trainer, source)
            if launch:
                run.write_launch(launch)
            changes = run.write_config(to_toml(absolute_paths(given)))
            if status is not None:
                status.log.write_changes(changes)
            since = trainer.position if resume else None
            reporter.log = stack.enter_context(
                closing(MetricsLog(run.path, since, reporter.report_line))
            )
        push = push_of(run.path, ranks.is_main, reporter.report_line, stop)

        def share() -> None:
            with ranks.leaving_together(FILES_TIMEOUT_S):
                push()

        share()
        trainer.train(source, state.save, share)
        summary = _summary(trainer, folder)
        if not ranks.is_local_main:
            summary = {name: summary[name] for name in OF_FURTHER_RANKS}
        if status is not None:
            status.finish(summary)
    return summary


def go_back(run: RunFolder, generation: int, seats: int) -> None:
    """Forget all that follows from the games of a generation, and these: checkpoints, then games.

    Raises DataError where the disk refuses; what is left then is forgotten by the next start.
    """
    CheckpointFolder(run.path / "checkpoints").forget_from(generation)
    manifest = run.manifest()
    with manifest.locked():
        kept = [entry for entry in manifest.entries if entry.segments.span[1] <= generation * seats]
        gone = {entry.file for entry in manifest.entries} - {entry.file for entry in kept}
        manifest.replace(kept)
    for file in gone:
        remove_file(run.games / file)
        remove_file(run.cuts / file)


def _open_trainer(
    stack: ExitStack,
    config: TrainConfig,
    copies: RunCopies,
    ranks: Ranks,
    stop: StopSignals,
    devices: list[Device],
    reporter: TrainReporter,
    console: CleanConsole,
    quiet: bool,
) -> tuple[Trainer, TrainingSource]:
    """The trainer before the first iteration, and its source; ``stack`` closes their processes.

    Raises ConfigError or DataError where recorded games are wrong.
    """
    run, learner = copies.run, Learner(config, first_net(config).to(ranks.device), ranks)
    if obstacle := obstacle_to_neurons(ranks.device):
        reporter.report_line(f"neurons learn in torch's own operators, which is slower: {obstacle}")
    if line := note_on_idle(config, ranks.world_size):
        reporter.note(line)
    with ranks.leaving_together(FILES_TIMEOUT_S):
        data = None
        if config.data:
            with stop.interrupting():  # it may take long, and nothing is there to save yet
                data = _recorded_games(config, copies, ranks, reporter)
        is_supervised = config.objective == "supervised" and data is not None
        loader = BatchLoader(
            data if is_supervised and data else ManifestShards(run.games, config.is_on_policy),
            config.loaders,
            learner.net.config.num_planes,
            SampleRules.of(config),
            pin_memory=ranks.device.type == "cuda",
            stall_timeout_s=config.stall_timeout_s,
            report_line=reporter.report_line,
            reference=None if is_supervised else data,
        )
        stack.enter_context(loader)
        matches = TrainingMatches(config, run, ranks, seen_among(devices), stop)
        trainer = Trainer(config, run, ranks, stop, learner, loader, reporter, matches)
        source: TrainingSource
        if is_supervised and data:
            with stop.interrupting():
                source = DatasetSource(config, ranks, loader, len(data), run)
        else:
            display = ProgressDisplay(console, quiet)
            player = _open_player(stack, trainer, devices, display)
            source = SelfplaySource(config, copies, ranks, stop, player, data)
    return trainer, source


def _open_player(
    stack: ExitStack, trainer: Trainer, devices: list[Device], display: ProgressDisplay
) -> GenerationPlayer | None:
    """What plays the generations, on rank 0."""
    config, ranks = trainer.config, trainer.ranks
    if ranks.num_nodes > 1 and config.executor == "local":
        trainer.reporter.note(f"{ranks.hosts[0]} plays alone, {ranks.num_nodes} machines learn")
    if not ranks.is_main:
        return None
    return stack.enter_context(open_executor(trainer, devices, stack.enter_context(display)))


def _recorded_games(
    config: TrainConfig, copies: RunCopies, ranks: Ranks, reporter: TrainReporter
) -> GivenShards:
    """The games of ``--data``. Rank 0 imports PGN files, and sends them to other machines."""
    folder = _imports_of(copies.run)
    if ranks.is_main:
        import_data(config.data, folder, reporter.report_line)
    ranks.barrier()
    copies.send_data()
    return GivenShards(shard_folders(config.data, folder))


@contextmanager
def _open_run(
    run: RunFolder,
    config: TrainConfig,
    resume: bool,
    ranks: Ranks,
    console: CleanConsole,
    cost: RunCost,
    stop: StopSignals,
) -> Iterator[StatusWriter | None]:
    """Create, lock and pin the run's folder; yields its status, also served to Prometheus, on rank
    0. Raises ConfigError where machines have other versions of the games."""
    with ExitStack() as stack:
        status = None
        if ranks.is_main:
            run.create()
            stack.enter_context(run.locked())
            writer = StatusWriter(run, "train", cost.facts, cost.memory_bytes, stop.on_status)
            status = stack.enter_context(writer)
            address = config.metrics_host, config.metrics_port
            stack.enter_context(metrics_endpoint(*address, lambda: status.facts))
            if not (resume and has_pins(run)):
                pin_run(run, config)
                forget_imports(config.data, _imports_of(run))
            lines = note_start(run, config)
            if cost.total() is None:
                lines.append(f"{STATUS_FILE} does not tell what the run has cost so far")
            for line in lines:
                status.add_note(line)
                console.print(line, markup=False)
        ranks.require_same(str(GAMES_VERSION), "version of the games")
        yield status


def _with_kept_files(config: TrainConfig, run: RunFolder) -> TrainConfig:
    """``config`` with what the run has kept in place of the files that it names."""
    if not has_pins(run):
        return config
    data = kept_data(config.data, _imports_of(run))
    return pinned(run, config).model_copy(update={"data": data})


def _imports_of(run: RunFolder) -> Path:
    """Where games of PGN files are kept."""
    return run.path / "data"


def _check(config: TrainConfig, folder: Path, devices: list[Device], resume: bool) -> None:
    """``check_settings``, with what a run in ``folder`` that goes on has kept."""
    goes_on = resume or launch_id(os.environ)
    check_settings(_with_kept_files(config, RunFolder(folder)) if goes_on else config, devices)


def check_settings(config: TrainConfig, devices: list[Device]) -> None:
    """Raise ConfigError or NetworkError for settings that are wrong, before anything starts."""
    first_sizes(config)
    if config.gate:
        Sprt.parse(config.gate)
    check_places(config.data)
    if config.objective != "supervised":
        check_executor(config)
        check_playable(selfplay_config(config, config.net), devices)


def _shared_folder(
    folder: Path, config: TrainConfig, resume: bool, ranks: Ranks, launch: str
) -> tuple[Path, bool]:
    """Rank 0's folder, and whether the run there is resumed, on all ranks.

    A run that torchrun's job ``launch`` began is resumed when that job starts its ranks again.
    Raises ConfigError where this run may not write there, or where only another rank sees it.
    """
    run = RunFolder(folder)
    if launch:
        seen = [one["seen"] for one in ranks.gather_object({"seen": run.has_begun})]
        if True in seen[1:] and not seen[0]:
            other = seen.index(True)
            raise ConfigError(
                f"rank {other} on {ranks.hosts[other]} has the run {folder}, rank 0 on "
                f"{ranks.hosts[0]} does not see it: give a --run-dir that all machines share"
            )
    if ranks.is_main and run.has_begun and not resume:
        resume = bool(launch) and run.launch == launch
        if not resume:
            raise ConfigError(
                f"{folder} holds a run already: add --resume, or choose another folder"
            )
        if changes := changed_settings(run, absolute_paths(config), OWN):
            raise ConfigError(
                f"{folder} holds a run that this torchrun began with {', '.join(changes)}: start "
                "with the same flags, variables and files, add --resume, or choose another folder"
            )
    if ranks.is_main and resume:
        run = RunFolder.existing(folder)
        check_resumable(run, absolute_paths(config))
    found = ranks.broadcast_object({"folder": str(folder), "resume": resume})
    return Path(found["folder"]), bool(found["resume"])


def _check_iterations(trainer: Trainer, source: TrainingSource) -> None:
    """Raise ConfigError where fewer are wanted than are done, or recorded games do not suffice."""
    done, wanted = trainer.progress.iteration, trainer.config.iterations
    if wanted < done:
        raise ConfigError(f"{done} iterations are done already: give --iterations {done} or more")
    if wanted > done and isinstance(source, DatasetSource):
        source.prepare(done, trainer.learner.steps - trainer.progress.iteration_step)
    if wanted == done:
        trainer.reporter.report_line(f"all {done} iterations are done: --iterations asks for more")


def _checkpoints(config: TrainConfig, run: RunFolder, ranks: Ranks) -> CheckpointFolder | None:
    if not ranks.is_main:
        return None
    kept = config.keep_checkpoints, config.keep_every
    return CheckpointFolder(run.path / "checkpoints", *kept, keep_first=config.may_go_back)


def _summary(trainer: Trainer, folder: Path) -> dict[str, Any]:
    progress, stop = trainer.progress, trainer.stop
    net = latest_net(trainer.run)
    file = folder / "nets" / net.file.name
    return {
        "schema": SCHEMA,
        "run_dir": str(folder),
        "objective": trainer.config.objective,
        "iterations": progress.iteration,
        "target": trainer.config.iterations,
        "steps": trainer.learner.steps,
        "samples": trainer.learner.samples,
        "positions": progress.positions,
        "net": str(file),
        "spelling": find(trainer.config.net).with_weights_of(file).text,
        "sha256": net.sha256,
        "folded": trainer.learner.net.folded,
        "matches": progress.matches,
        "cost": trainer.reporter.cost.facts(),
        "stopped_by": stop.reason,
        "exit_code": exit_code(stop.reason),
    }
