"""``bench throughput``: speed of self-play, or of its machinery with a constant network."""

import os
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from vecchess.config import CONSTANT_NET, SelfplayConfig
from vecchess.errors import ConfigError
from vecchess.inference.requests import Requests
from vecchess.runtime.devices import Device, parse_gpus, share_out
from vecchess.runtime.json_pipe import Message
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.mover import Mover
from vecchess.selfplay.games.server import SelfplayServer
from vecchess.selfplay.supervisor.supervisor import Supervisor
from vecchess.selfplay.supervisor.worker_throughput import throughput_between
from vecchess.selfplay.worker.networks import configured_network, store_configured_net
from vecchess.selfplay.worker.setup import build_server
from vecchess.selfplay.worker.slot_tuning import with_remembered_slots
from vecchess.store.id_set import IdSet
from vecchess.store.run_folder import RunFolder

SCHEMA = 1
ENDLESS = 1 << 40
"""More games than a bench will play."""
ROUNDS = 5
SETTLE_S = 1.0
SETTLE_PLIES = 600
"""With the constant network: plies a game before measuring. All games begin together, and late
positions cost more than early ones, so games of all lengths have to be in progress."""


def run(config: SelfplayConfig, seconds: float, cores: int) -> dict[str, Any]:
    """Play for ``seconds`` and return speeds; ``cores`` > 0 keeps this process to that number.

    One device: in this process, nothing written. Several: real workers, shards in a temporary
    folder. Raises ConfigError for wrong devices or settings.
    """
    keep_to_cores(cores)
    devices = parse_gpus(config.gpus)
    with tempfile.TemporaryDirectory(prefix="vecchess-bench-") as folder:
        run_folder = RunFolder(Path(folder))
        run_folder.create()
        network = configured_network(config)
        net = store_configured_net(config, network, run_folder)
        sizes = None if network is None else network.config
        config = with_remembered_slots(config, sizes, devices)
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


def _in_process(config: SelfplayConfig, net: str, device: Device, seconds: float) -> dict[str, Any]:
    share = share_out(config, [device], ENDLESS)
    numbers = GameIdPool()
    numbers.add(IdSet([(0, ENDLESS)]))
    server = build_server(config, net, device, share, numbers)
    server.start()
    while server.engine.counters.positions < share.slots:  # compiles where necessary
        server.step()
    _turn_for(server, SETTLE_S)
    facts: dict[str, Any] = {
        "schema": SCHEMA,
        "device": device.label,
        "net": config.net,
        "slots": share.slots,
        "games": share.games,
        "movers": share.movers,
        "threads": share.threads,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
    }
    if net == CONSTANT_NET and config.tree.search == "none":
        facts |= _against_movers_alone(server, seconds)
    else:
        first, last, spent = _turn_for(server, seconds)
        facts |= throughput_between(first, last, spent).to_dict()
    server.close()
    return facts | {"bytes_per_game": round(server.nbytes / share.games)}


def _turn_for(server: SelfplayServer, seconds: float) -> tuple[Message, Message, float]:
    """Turn the central loop; returns the counters before and after, and the time between."""
    games = 0
    first = server.to_message() | {"games": 0}
    start = perf_counter()
    while (spent := perf_counter() - start) < seconds:
        server.step()
        games += sum(records.num_games for records in server.take_finished())
    return first, server.to_message() | {"games": games}, spent


def _against_movers_alone(server: SelfplayServer, seconds: float) -> dict[str, Any]:
    """The whole machinery, and in turns the same movers without queue, slots and engine."""
    whole, alone, loads = [], [], []
    mover = _lone_mover(server)
    plies = SETTLE_PLIES * server.requests.num_rows
    while server.engine.counters.positions < plies:
        _turn_for(server, SETTLE_S)
    while mover.plies < SETTLE_PLIES * len(mover.rows):
        _play_alone(mover, SETTLE_S)
    for _ in range(ROUNDS):
        first, last, spent = _turn_for(server, seconds / ROUNDS / 2)
        loads.append(throughput_between(first, last, spent))
        whole.append(loads[-1].plies_per_s)
        alone.append(_play_alone(mover, seconds / ROUNDS / 2))
    ratios = [one / other for one, other in zip(whole, alone, strict=True)]
    middle = loads[int(np.argsort(whole)[ROUNDS // 2])]
    return middle.to_dict() | {
        "plies_per_s": round(median(whole)),
        "movers_alone_plies_per_s": round(median(alone)),
        "ratio_to_movers_alone": round(median(ratios), 4),
    }


def _lone_mover(server: SelfplayServer) -> Mover:
    """A mover like the server's first; its requests are answered with zeros."""
    num_games = len(server.movers[0].rows)
    requests = Requests.empty(num_games, server.requests.planes.shape[1])
    requests.steps[:] = 1
    return Mover(server.movers[0].rules, CONSTANT_NET, requests, 0, num_games, server.pool)


def _play_alone(mover: Mover, seconds: float) -> float:
    """Plies/s of one mover whose requests are answered at once."""
    plies = mover.plies
    start = perf_counter()
    while (spent := perf_counter() - start) < seconds:
        mover.play(mover.rows)
        mover.take_finished()
    return (mover.plies - plies) / spent


class _Deadline:
    """Ends self-play after a number of seconds of play."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._start = 0.0

    def update(self, games: Supervisor) -> None:
        if not self._start and all(w.stage == "playing" for w in games.workers.values()):
            self._start = perf_counter()
        if self._start and perf_counter() - self._start > self._seconds:
            games.stop("time")

    def report_line(self, line: str) -> None:
        """Drop ``line``."""


def _with_workers(
    config: SelfplayConfig, net: str, devices: list[Device], run: RunFolder, seconds: float
) -> dict[str, Any]:
    with (
        StopSignals() as stops,
        Supervisor(config, run, devices, _Deadline(seconds), stops) as games,
    ):
        result = games.play(net, range(1 << 22))
    return {
        "schema": SCHEMA,
        "device": ", ".join(device.label for device in devices),
        "net": config.net,
        "slots": games.assigner.share.slots,
        "games": games.assigner.share.games,
        "movers": games.assigner.share.movers,
        "threads": games.assigner.share.threads,
        "workers": len(devices),
        **result.throughput.to_dict(),
    }
