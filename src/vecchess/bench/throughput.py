"""``bench throughput``: speed of self-play, or of its machinery with a constant network."""

import os
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from threadpoolctl import threadpool_limits

from vecchess.config import CONSTANT_NET, SelfplayConfig
from vecchess.errors import ConfigError
from vecchess.machine_limits import num_cores
from vecchess.runtime.devices import Device, Share, parse_gpus, see_only, share_out
from vecchess.runtime.json_pipe import Message
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.server import SelfplayServer
from vecchess.selfplay.supervisor.supervisor import SelfplayWatcher, Supervisor
from vecchess.selfplay.supervisor.worker_throughput import throughput_between
from vecchess.selfplay.worker.networks import configured_network, store_configured_net
from vecchess.selfplay.worker.setup import build_server
from vecchess.selfplay.worker.slot_tuning import with_remembered_slots
from vecchess.store.id_set import IdSet
from vecchess.store.run_folder import RunFolder

SCHEMA = 1
ENDLESS = 1 << 40
"""More games than a bench will play."""
SETTLE_S = 1.0
SETTLE_PLIES = 600
"""Plies a game before measuring, with the constant network. All games begin together, and late
positions cost more than early ones, so games of all lengths have to be in progress."""


def run(config: SelfplayConfig, seconds: float, cores: int) -> dict[str, Any]:
    """Play for ``seconds`` and return speeds; ``cores`` > 0 keeps this process to that number.

    One device: in this process, nothing written. Several: real workers, shards in a temporary
    folder. Raises ConfigError for wrong devices or settings.
    """
    keep_to_cores(cores)
    devices = parse_gpus(config.gpus, may_share=True)
    if len(devices) == 1:
        see_only(devices[0])
    with tempfile.TemporaryDirectory(prefix="vecchess-bench-") as folder:
        run_folder = RunFolder(Path(folder))
        run_folder.create()
        network = configured_network(config)
        net = store_configured_net(network, run_folder)
        config = with_remembered_slots(config, network.config, devices)
        if len(devices) > 1:
            return _with_workers(config, net, devices, run_folder, seconds)
        return _in_process(config, net, devices[0], seconds)


def keep_to_cores(cores: int) -> None:
    """Bind this process and its threads to ``cores`` cores; 0 leaves it free."""
    if cores == 0:
        return
    if not hasattr(os, "sched_setaffinity"):
        raise ConfigError("--cores works on Linux only")
    allowed = sorted(os.sched_getaffinity(0))
    if not 1 <= cores <= len(allowed):
        raise ConfigError(f"--cores {cores}: this process may use 1 to {len(allowed)}")
    os.sched_setaffinity(0, allowed[:cores])
    threadpool_limits(cores)  # numpy's and torch's threads would wait for each other in turns


def started_server(
    config: SelfplayConfig, net: str, device: Device
) -> tuple[SelfplayServer, Share]:
    """A server that plays without end, its kernels compiled, and its share of the machine.

    Raises as ``build_server``.
    """
    share = share_out(config, [device], ENDLESS)
    numbers = GameIdPool()
    numbers.add(IdSet([(0, ENDLESS)]))
    server = build_server(config, net, device, share, numbers)
    server.start()
    while server.engine.counters.positions < share.slots:  # compiles where necessary
        server.step()
    turn_for(server, SETTLE_S)
    if net == CONSTANT_NET and config.tree.search == "none":
        settle(server)
    return server, share


def _in_process(config: SelfplayConfig, net: str, device: Device, seconds: float) -> dict[str, Any]:
    server, share = started_server(config, net, device)
    facts: dict[str, Any] = {
        "schema": SCHEMA,
        "device": device.label,
        "net": config.net,
        **vars(share),
        "cores": num_cores(),
    }
    first, last, spent = turn_for(server, seconds)
    facts |= throughput_between(first, last, spent).to_dict()
    server.close()
    return facts | {"bytes_per_game": round(server.nbytes / share.games)}


def settle(server: SelfplayServer) -> None:
    """Play until games of all lengths are in progress."""
    while server.engine.counters.positions < SETTLE_PLIES * server.requests.num_rows:
        turn_for(server, SETTLE_S)


def turn_for(server: SelfplayServer, seconds: float) -> tuple[Message, Message, float]:
    """Turn the central loop; returns the counters before and after, and the time between."""
    games = 0
    first = server.to_message() | {"games": 0}
    start = perf_counter()
    while (spent := perf_counter() - start) < seconds:
        server.step()
        games += sum(records.num_games for records in server.take_finished())
    return first, server.to_message() | {"games": games}, spent


class _Deadline(SelfplayWatcher):
    """Ends self-play after a number of seconds of play."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._start = 0.0

    def update(self, games: Supervisor) -> None:
        if not self._start and all(w.stage == "playing" for w in games.workers.values()):
            self._start = perf_counter()
        if self._start and perf_counter() - self._start > self._seconds:
            games.stop("time")


def _with_workers(
    config: SelfplayConfig, net: str, devices: list[Device], run: RunFolder, seconds: float
) -> dict[str, Any]:
    with (
        StopSignals() as stops,
        Supervisor(config, run, devices, _Deadline(seconds), stops) as games,
    ):
        result = games.play(net, IdSet([(0, 1 << 22)]))
    return {
        "schema": SCHEMA,
        "device": ", ".join(device.label for device in devices),
        "net": config.net,
        **vars(games.assigner.share),
        "workers": len(devices),
        **result.throughput.to_dict(),
    }
