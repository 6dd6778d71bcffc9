"""``bench inference``: our engines and the ReLU twin on the same positions, in turns."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from vecchess.bench.entrants import Contest, OpenOthers, open_contest
from vecchess.bench.exit_speedup import exit_patterns
from vecchess.bench.inference_result import describe
from vecchess.bench.machine_limits import measure_ceilings
from vecchess.bench.own_entrants import EntrantSetup
from vecchess.bench.paired_timing import time_in_turns
from vecchess.bench.throughput import keep_to_cores
from vecchess.chess.planes import history_of
from vecchess.config.bench_settings import InferenceBench
from vecchess.errors import ConfigError
from vecchess.runtime.devices import GPU_SLOTS, num_cores, parse_gpus
from vecchess.selfplay.worker.networks import load_or_create
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.selfplay.worker.setup import require_playable

CPU_SLOTS = 256
ROWS_PER_SLOT = 4
"""Positions a slot, where --positions is 0."""
PATTERNS_SHARE = 0.4
"""Share of the time that goes to the exit patterns."""


def run(config: InferenceBench, open_others: OpenOthers | None = None) -> dict[str, Any]:
    """Compare, in this process and in turns; returns what ``vecchess bench inference`` prints.

    ``open_others`` adds entrants, as ``bench/peers`` does. Raises ``ConfigError`` for settings and
    ``NetworkError`` for a network that cannot be measured, ``VecchessError`` if one of our engines
    answers differently from reference.
    """
    keep_to_cores(config.cores)
    threads = config.threads or num_cores()
    setup = _setup(config, threads)
    num = _num_positions(config, setup)
    net = load_or_create(config.net, config.seed)
    require_playable(net, config.net)
    questions = random_requests(num, config.seed, history_of(net.config.num_planes))
    with _torch_set_up(threads):
        contest = open_contest(setup, net, questions, config.twin, open_others)
        laps = time_in_turns(contest.entrants, config.seconds * (1 - PATTERNS_SHARE))
        result = describe(contest, laps, _ceilings(contest))
        return result | {"exit_patterns": _patterns(contest, config.seconds * PATTERNS_SHARE)}


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


def _num_positions(config: InferenceBench, setup: EntrantSetup) -> int:
    num = config.positions or ROWS_PER_SLOT * setup.slots
    if num < setup.slots:
        raise ConfigError(f"--positions {num}: {setup.slots} slots need as many at least")
    return num


@contextmanager
def _torch_set_up(threads: int) -> Iterator[None]:
    """Give torch ``threads`` threads and its fastest convolutions, and later what it had before."""
    import torch
    from torch.backends import cudnn

    before = torch.get_num_threads(), cudnn.benchmark
    torch.set_num_threads(threads)
    cudnn.benchmark = True
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        cudnn.benchmark = before[1]


def _ceilings(contest: Contest) -> Any:
    """Measured before the race and again after it."""
    setup = contest.setup
    return contest.ceilings.highest(measure_ceilings(setup.device, setup.threads))


def _patterns(contest: Contest, seconds: float) -> list[dict[str, Any]]:
    def open_with(rule: Any) -> Any:
        return contest.setup.open(contest.net, rule)

    return exit_patterns(contest.requests, open_with, contest.fixed, seconds)
