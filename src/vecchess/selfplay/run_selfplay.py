"""One self-play run from settings to summary: the command ``vecchess selfplay``."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console

from vecchess.config import BUILT_IN_NETS, SelfplayConfig, build, read_toml, to_toml
from vecchess.errors import ConfigError
from vecchess.inference.playable_net import PlayableSizes
from vecchess.machine_limits import memory_text
from vecchess.ports.prometheus import metrics_endpoint
from vecchess.runtime.devices import Device, parse_gpus, share_out
from vecchess.runtime.progress import ProgressDisplay
from vecchess.runtime.signals import OnSignal, StopSignals, exit_code
from vecchess.selfplay.games.game_table import start_table
from vecchess.selfplay.supervisor.status_watcher import StatusWatcher, write_throughput
from vecchess.selfplay.supervisor.supervisor import RunResult, Supervisor, no_heartbeat
from vecchess.selfplay.worker.memory_plan import check_search, fitting_share
from vecchess.selfplay.worker.networks import (
    configured_network,
    selfplay_source,
    store_configured_net,
    stored_net,
)
from vecchess.selfplay.worker.precompile import Precompiler
from vecchess.selfplay.worker.slot_tuning import with_remembered_slots
from vecchess.store.id_set import IdSet
from vecchess.store.metrics import MetricsLog
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import (
    absolute_paths,
    check_resumable,
    note_start,
    pin_run,
    pinned,
)
from vecchess.store.status_file import StatusWriter

SCHEMA = 1


class Executor(Protocol):
    """Plays games, or a generation of a training: ``Supervisor`` on this machine, or others."""

    def play(
        self, net: str, ids: IdSet, heartbeat: Callable[[], str] = no_heartbeat
    ) -> RunResult: ...


OpenExecutor = Callable[
    [SelfplayConfig, RunFolder, list[Device], ProgressDisplay, StatusWriter, StopSignals],
    AbstractContextManager[Executor],
]
"""Returns who plays the games of a run, for a block."""


def play_run(
    config: SelfplayConfig,
    run_dir: Path | None,
    resume: bool,
    console: Console,
    quiet: bool,
    stops: StopSignals | None = None,
    open_executor: "OpenExecutor | None" = None,
) -> dict[str, Any]:
    """Play ``config.games`` games into a run folder; returns the summary, ready for JSON.

    open_executor: who plays; None: this machine. stops: ends the run early, entered by the caller;
    before the first game it raises ``Stopped``.

    Raises ConfigError or NetworkError before anything is written where the settings will not do,
    DataError when the disk refuses, WorkerDied when a worker dies again and again.
    """
    stops = stops or StopSignals()
    stops.set_action(OnSignal.RAISE)
    devices = parse_gpus(config.gpus, may_share=True)
    given = absolute_paths(config)
    run = _run_to_resume(given, run_dir) if resume else _new_run(run_dir)
    check_playable(pinned(run, given) if resume else given, devices)
    if not resume:
        # a bad file is to be found before anything is made or compiled
        selfplay_source(given.net).check()
        run.create()
    with (
        run.locked(),
        StatusWriter(run, "selfplay", on_status=stops.on_status) as status,
        metrics_endpoint(config.metrics_host, config.metrics_port, lambda: status.facts),
    ):
        if not resume:
            pin_run(run, given)
        for line in note_start(run, given):
            status.add_note(line)
            console.print(line, soft_wrap=True, markup=False)
        config = pinned(run, given)
        report = partial(console.print, soft_wrap=True, markup=False)
        with Precompiler(config, report, devices) as precompiler:
            network = stored_net(config, run) if resume else configured_network(config)
            net_file = store_configured_net(network, run)
            status.log.write_changes(run.write_config(to_toml(given)))
            precompiler.finish(net_file)
        display = ProgressDisplay(console, quiet)
        here = partial(_on_this_machine, network.config, net_file)
        opened = (open_executor or here)(config, run, devices, display, status, stops)
        with display, opened as executor:
            stops.set_action(OnSignal.SET_FLAG)
            games = IdSet([(0, config.num_games)])
            result = executor.play(net_file, games, lambda: stops.reason)
        summary = _summary(config, run, devices, result)
        status.finish(summary)
    return summary


def check_playable(config: SelfplayConfig, devices: list[Device]) -> None:
    """Raise ConfigError for settings that games cannot be played with."""
    start_table(config.game)
    check_search(config.tree, fitting_share(config, devices, config.num_games), devices)


def _summary(
    config: SelfplayConfig, run: RunFolder, devices: list[Device], result: RunResult
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "run_dir": str(run.path),
        "target": config.games,
        "max_plies": config.game.max_plies,
        "executor": config.executor,
        "devices": [device.label for device in devices],
        **result.to_dict(),
        "exit_code": exit_code(result.stopped_by),
    }


@contextmanager
def _on_this_machine(
    sizes: PlayableSizes,
    net_file: str,
    config: SelfplayConfig,
    run: RunFolder,
    devices: list[Device],
    display: ProgressDisplay,
    status: StatusWriter,
    stops: StopSignals,
) -> Iterator[Supervisor]:
    """The workers of this machine for the games that are not recorded yet, which it announces."""
    config = with_remembered_slots(config, sizes, devices)
    with closing(MetricsLog(run.path, report_line=status.add_note)) as log:
        watcher = StatusWatcher(display, status, partial(write_throughput, log))
        with Supervisor(config, run, devices, watcher, stops) as supervisor:
            supervisor.ledger.open(IdSet([(0, config.num_games)]))
            if not display.is_quiet:
                display.print(_announcement(supervisor, net_file, run))
            yield supervisor


def _new_run(run_dir: Path | None) -> RunFolder:
    """The folder of a new run; raises ConfigError where there is one already."""
    run = RunFolder(run_dir or Path("runs") / f"selfplay-{datetime.now():%Y%m%d-%H%M%S}")
    if run.has_begun:
        raise ConfigError(f"{run.path} holds a run already: add --resume, or choose another folder")
    return run


def _run_to_resume(config: SelfplayConfig, run_dir: Path | None) -> RunFolder:
    """The run in ``run_dir``. Raises ConfigError where there is none, where resuming would mix
    games of different settings, or it has more games already."""
    if run_dir is None:
        raise ConfigError("--resume needs --run-dir: the folder of the run to resume")
    run = RunFolder.existing(run_dir)
    check_resumable(run, config)
    before = build(SelfplayConfig, read_toml(run.config))
    recorded = run.manifest().stats.games
    if config.num_games < min(recorded, before.num_games):
        end = f"to {before.games:,}" if before.games else "until it is stopped"
        raise ConfigError(
            f"{run.path} has {recorded:,} games already: --games {config.games:,} is fewer; "
            f"leave --games out to play on {end}"
        )
    return run


def _announcement(supervisor: Supervisor, net_file: str, run: RunFolder) -> str:
    """The line before the first game: how many games, with what, on which workers."""
    ledger, config, devices = supervisor.ledger, supervisor.config, supervisor.devices
    count, num_games = len(devices), max(ledger.num_open, 1)
    share, usual = (of(config, devices, num_games) for of in (fitting_share, share_out))
    labels = ", ".join(f"{device.label}" for device in devices)
    net = net_file
    if net not in BUILT_IN_NETS:
        net = f"{Path(config.net).name} ({Path(net_file).stem[:8]})"
    short = f"\n{memory_text()} have no room for {usual.games} games" if share != usual else ""
    before = f" ({ledger.num_recorded:,} recorded before)" if ledger.num_recorded else ""
    count_text = f"{ledger.num_open:,} games" if supervisor.target else "games until a stop"
    return (
        f"{count_text}{before} with {net}{_search_text(config)} "
        f"on {count} worker{'s' if count > 1 else ''} ({labels}): "
        f"{share.games} games in parallel per worker, network batch {share.slots} -> "
        f"{run.path}{short}"
    )


def _search_text(config: SelfplayConfig) -> str:
    """How moves are searched, to follow the network's name; "" without search."""
    tree = config.tree
    if tree.search == "none":
        return ""
    fast = f" or {tree.fast_sims:,}" if tree.fast_sims else ""
    return f", {tree.search} {tree.sims:,}{fast},"
