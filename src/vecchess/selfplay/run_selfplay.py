"""One self-play run from settings to summary: what ``vecchess selfplay`` does."""

from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from rich.console import Console

from vecchess.config import BUILT_IN_NETS, SelfplayConfig, build, read_toml, to_toml
from vecchess.errors import ConfigError
from vecchess.runtime.atomic_write import write_atomically
from vecchess.runtime.devices import parse_gpus, share_out
from vecchess.runtime.prometheus import metrics_endpoint
from vecchess.runtime.signals import OnSignal, StopSignals, exit_code
from vecchess.selfplay.games.openings import start_table
from vecchess.selfplay.supervisor.run_result import RunResult
from vecchess.selfplay.supervisor.selfplay_progress import LiveWatcher, PlainWatcher, QuietWatcher
from vecchess.selfplay.supervisor.status_watcher import StatusWatcher
from vecchess.selfplay.supervisor.supervisor import SelfplayWatcher, Supervisor
from vecchess.selfplay.supervisor.throughput_log import ThroughputLog
from vecchess.selfplay.worker.networks import (
    check_net,
    configured_network,
    store_configured_net,
    stored_net,
)
from vecchess.selfplay.worker.precompile import Precompiler
from vecchess.selfplay.worker.setup import check_search
from vecchess.selfplay.worker.slot_tuning import with_remembered_slots
from vecchess.store.run_folder import RunFolder
from vecchess.store.status_file import StatusWriter

SCHEMA = 1
DECIDES_GAMES = ("net", "seed", "game", "exits", "tree")
"""A run may only be resumed with the same of these."""
DECIDES_NOTHING = ("cache_mb",)
"""But for those among them that no game depends on."""


def play_run(
    config: SelfplayConfig,
    run_dir: Path | None,
    resume: bool,
    console: Console,
    quiet: bool,
    stops: StopSignals | None = None,
) -> dict[str, Any]:
    """Play ``config.games`` games into a run folder; returns the summary, ready for JSON.

    stops: what ends it early, entered by the caller: before the first game by raising ``Stopped``.
    None: nothing.

    Raises ConfigError or NetworkError before anything is written where the settings will not do,
    DataError when the disk refuses, WorkerDied when a worker cannot be kept alive.
    """
    stops = stops or StopSignals()
    stops.set_action(OnSignal.RAISE)
    devices = parse_gpus(config.gpus)
    start_table(config.game)
    check_search(config.tree, share_out(config, devices, config.games), len(devices))
    if not resume:
        check_net(config.net)  # a bad file is to be found before anything is made or compiled
    run = _folder(config, run_dir, resume)
    with run.locked(), StatusWriter(run, "selfplay") as status, _endpoint(config, status):
        with Precompiler(config, lambda line: console.print(line, soft_wrap=True)) as warmup:
            network = stored_net(run) if resume else configured_network(config)
            net_file = store_configured_net(config, network, run)
            write_atomically(run.config, to_toml(config).encode())
            warmup.finish(net_file)
        sizes = None if network is None else network.config
        settled = with_remembered_slots(config, sizes, devices)
        with (
            watcher_for(console, quiet) as watcher,
            ThroughputLog(run, status.add_note) as loads,
            Supervisor(
                settled, run, devices, StatusWatcher(watcher, status, loads.keep), stops
            ) as campaign,
        ):
            stops.set_action(OnSignal.SET_FLAG)
            campaign.ledger.open([(0, config.games)])
            _announce(campaign, net_file, run, console, quiet)
            result = campaign.play(net_file, range(config.games))
        summary = _summary(result, config, run)
        status.finish(summary)
    return summary


def _endpoint(config: SelfplayConfig, status: StatusWriter) -> AbstractContextManager[object]:
    """What Prometheus may ask."""
    return metrics_endpoint(config.metrics_host, config.metrics_port, lambda: status.facts)


def _folder(config: SelfplayConfig, run_dir: Path | None, resume: bool) -> RunFolder:
    """The folder to write to: a new one, or the one to go on with."""
    if resume:
        if run_dir is None:
            raise ConfigError("--resume needs --run-dir: which run is to go on?")
        run = RunFolder.existing(run_dir)
        _refuse_other_games(config, run)
        return run
    run = RunFolder(run_dir or Path("runs") / f"selfplay-{datetime.now():%Y%m%d-%H%M%S}")
    if run.has_begun:
        raise ConfigError(f"{run.path} holds a run already: add --resume, or choose another folder")
    run.create()
    return run


def _refuse_other_games(config: SelfplayConfig, run: RunFolder) -> None:
    """Raise ConfigError where resuming would mix games of different settings."""
    before = build(SelfplayConfig, read_toml(run.config))
    for key, old in _deciding(before).items():
        new = _deciding(config)[key]
        if old != new:
            raise ConfigError(f"{run.path} was started with {key} = {old!s}, not {new!s}")


def _deciding(config: SelfplayConfig) -> dict[str, Any]:
    """The settings that decide games, by name."""
    values: dict[str, Any] = {}
    for key in DECIDES_GAMES:
        value = getattr(config, key)
        values |= dict(value) if isinstance(value, BaseModel) else {key: value}
    return {key: value for key, value in values.items() if key not in DECIDES_NOTHING}


def watcher_for(console: Console, quiet: bool) -> AbstractContextManager[SelfplayWatcher]:
    """What shows how games go: live on a terminal, lines elsewhere, or nothing."""
    if quiet:
        return nullcontext(QuietWatcher(console))
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveWatcher(console)
    return nullcontext(PlainWatcher(console))


def _announce(
    campaign: Supervisor, net_file: str, run: RunFolder, console: Console, quiet: bool
) -> None:
    """Say who plays how many games, before the first one starts."""
    if quiet:
        return
    ledger, config, devices = campaign.ledger, campaign.config, campaign.devices
    share, count = share_out(config, devices, max(ledger.num_open, 1)), len(devices)
    workers = f"{count} worker{'s' if count > 1 else ''}"
    split = ", ".join(f"{device.label}" for device in devices)
    net = net_file if net_file in BUILT_IN_NETS else Path(net_file).name
    left = f"{ledger.num_open:,} games" + (
        f" ({ledger.num_recorded:,} recorded before)" if ledger.num_recorded else ""
    )
    console.print(
        f"{left} with {net}{_search_words(config)} on {workers} ({split}): "
        f"{share.games} games at a time each, "
        f"{share.slots} in the network -> {run.path}",
        soft_wrap=True,
        markup=False,
    )


def _search_words(config: SelfplayConfig) -> str:
    """How moves are searched, to follow the network's name; nothing where they are not."""
    tree = config.tree
    if tree.search == "none":
        return ""
    fast = f" or {tree.fast_sims:,}" if tree.fast_sims else ""
    return f", {tree.search} {tree.sims:,}{fast},"


def _summary(result: RunResult, config: SelfplayConfig, run: RunFolder) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "run_dir": str(run.path),
        "target": config.games,
        **result.to_dict(),
        "exit_code": exit_code(result.stopped_by),
    }
