"""``bench inference``: slots with and without exits, fixed T, and the ReLU twin, in turns."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from vecchess.bench.entrants import (
    CONTINUOUS,
    FIXED,
    RELU_TWIN,
    Continuous,
    EntrantSetup,
    OwnEntrant,
    open_own,
    open_twin,
)
from vecchess.bench.paired_timing import (
    Laps,
    core_share,
    mean_steps,
    ratio,
    speed,
    time_in_turns,
)
from vecchess.bench.throughput import keep_to_cores
from vecchess.config.bench_settings import InferenceBench
from vecchess.errors import ConfigError, VecchessError
from vecchess.inference.playable_net import PlayableNet
from vecchess.inference.requests import Requests
from vecchess.inference.source import find
from vecchess.machine_limits import num_cores
from vecchess.runtime.devices import GPU_SLOTS, parse_gpus
from vecchess.runtime.torch_environment import torch_threads
from vecchess.selfplay.worker.networks import require_playable
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.snn.create import create_twin
from vecchess.snn.integer.integer_net import IntegerNet

SCHEMA = 1
CPU_SLOTS = 256
ROWS_PER_SLOT = 4
"""Positions a slot, where --positions is 0."""
TWIN_SEED = 0
BITS = "bits"
"""How answers agree of which every accumulator is equal."""


@dataclass(frozen=True)
class Contest:
    """One network, the positions, and our engines, opened and checked; ``fixed_T`` first."""

    name: str
    """What the network is called on the command line."""
    setup: EntrantSetup
    net: PlayableNet
    requests: Requests
    own: list[OwnEntrant]
    twin: IntegerNet | None
    """The ReLU network of the same sizes."""
    no_twin: str
    """Why it is not among our engines, "" where it is."""


def run(config: InferenceBench) -> dict[str, Any]:
    """Compare, in this process and in turns; returns what ``vecchess bench inference`` prints.

    Raises as ``open_contest``.
    """
    with open_contest(config) as contest:
        return describe(contest, time_in_turns(contest.own, config.seconds))


@contextmanager
def open_contest(config: InferenceBench) -> Iterator[Contest]:
    """Open and check our engines; torch has their threads within the block.

    Raises ``ConfigError`` for settings and ``NetworkError`` for a network that cannot be measured,
    ``VecchessError`` if one of our engines answers differently from reference.
    """
    setup, num = prepared(config)
    net = find(config.net).load(config.seed)
    require_playable(net, config.net)
    questions = random_requests(num, config.seed, net.config.num_planes)
    with torch_set_up(setup.threads):
        own, twin, no_twin = open_own(setup, net, questions), None, _no_twin(net, config.twin)
        if not no_twin:
            assert isinstance(net, IntegerNet)
            twin = create_twin(net.config, TWIN_SEED)
            try:
                own.append(open_twin(setup, twin, questions))
            except VecchessError as error:
                no_twin = str(error)
        yield Contest(config.net, setup, net, questions, own, twin, no_twin)


def describe(contest: Contest, laps: Laps) -> dict[str, Any]:
    """Speeds are positions/s, medians over rounds; ratios medians of ratios within a round.

    ``ratios`` are the speed of fixed T divided by that of the twin, null where that did not run,
    and for ``fixed_T`` the speed of continuous batching with exits divided by it.
    """
    setup, net = contest.setup, contest.net
    agrees = BITS if isinstance(net, IntegerNet) else None
    rows = [row(one.name, laps) | {"agrees": agrees} for one in contest.own]
    if contest.no_twin:
        rows.append(absent(RELU_TWIN, contest.no_twin))
    (continuous,) = (one for one in contest.own if one.name == CONTINUOUS)
    assert isinstance(continuous, Continuous)
    return {
        "schema": SCHEMA,
        "device": setup.device,
        "net": net.config.preset if isinstance(net, IntegerNet) else contest.name,
        "sha256": net.sha256,
        "slots": setup.slots,
        "threads": setup.threads,
        "positions": contest.requests.num_rows,
        "time_steps": net.config.time_steps,
        "backends": rows,
        "ratios": {
            RELU_TWIN: None if contest.no_twin else ratio(laps, FIXED, RELU_TWIN),
            FIXED: ratio(laps, CONTINUOUS, FIXED),
        },
        "engine_overhead": continuous.overhead(),
        "cores_used": core_share(laps),
    }


def row(name: str, laps: Laps) -> dict[str, Any]:
    """The row of an entrant that was timed."""
    return {
        "name": name,
        "positions_per_s": speed(laps[name]),
        "mean_time_steps": mean_steps(laps[name]),
        "ratio_to_fixed": ratio(laps, name, FIXED),
        "rounds_positions_per_s": [lap.speed for lap in laps[name]],
    }


def absent(name: str, reason: str) -> dict[str, Any]:
    """The row of an entrant that does not run."""
    numbers = ("positions_per_s", "mean_time_steps", "ratio_to_fixed")
    return {"name": name, **dict.fromkeys(numbers), "reason": reason}


def _no_twin(net: PlayableNet, with_twin: bool) -> str:
    if not with_twin:
        return "not asked for"
    if isinstance(net, IntegerNet) and net.config.kind == "residual" and net.config.neuron == "lif":
        return ""
    return "only spiking residual networks have a ReLU twin"


def prepared(config: InferenceBench) -> tuple[EntrantSetup, int]:
    """This process kept to its cores, what engines are given, and the number of positions."""
    keep_to_cores(config.cores)
    setup = _setup(config, config.threads or num_cores())
    num = config.positions or ROWS_PER_SLOT * setup.slots
    if num < setup.slots:
        raise ConfigError(f"--positions {num}: {setup.slots} slots need as many at least")
    return setup, num


def _setup(config: InferenceBench, threads: int) -> EntrantSetup:
    devices = parse_gpus(config.gpus)
    if len(devices) > 1:
        raise ConfigError(f"--gpus {config.gpus}: bench inference measures one device at a time")
    device = devices[0].name if devices[0].name == "cpu" else _torch_name(devices[0].label)
    slots = config.slots or (CPU_SLOTS if device == "cpu" else GPU_SLOTS)
    return EntrantSetup(slots, device, threads, config.backend)


def _torch_name(label: str) -> str:
    """ "gpu 3" as torch calls it in a process that sees every GPU."""
    number = label.removeprefix("gpu ")
    if not number.isdecimal():
        raise ConfigError(f"--gpus {label}: bench inference takes the GPU's number")
    return f"cuda:{number}"


@contextmanager
def torch_set_up(threads: int) -> Iterator[None]:
    """Give torch ``threads`` threads and its fastest convolutions, and later what it had before."""
    from torch.backends import cudnn

    before = cudnn.benchmark
    with torch_threads(threads):
        cudnn.benchmark = True
        try:
            yield
        finally:
            cudnn.benchmark = before
