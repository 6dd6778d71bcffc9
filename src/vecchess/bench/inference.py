"""``bench inference``: our engines, the usual libraries and the ReLU twin on the same positions."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from vecchess.bench.entrants import Contest, open_contest
from vecchess.bench.exit_speedup import exit_patterns
from vecchess.bench.inference_result import describe
from vecchess.bench.machine_limits import measure_ceilings
from vecchess.bench.own_entrants import EntrantSetup
from vecchess.bench.paired_timing import race
from vecchess.bench.throughput import keep_to_cores
from vecchess.chess.planes import history_of
from vecchess.config.backend import BACKENDS
from vecchess.errors import ConfigError
from vecchess.runtime.devices import GPU_SLOTS, num_cores, parse_gpus
from vecchess.selfplay.worker.networks import load_or_create
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.selfplay.worker.setup import require_playable

CPU_SLOTS = 256
ROWS_PER_SLOT = 4
"""Positions asked for each slot, unless told."""
PATTERNS_SHARE = 0.4
"""Share of the time that goes to the exit patterns."""


class InferenceBench(BaseModel):
    """Settings of the benchmark; 0 chooses."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    net: str = "small"
    """Preset, or network file."""
    gpus: str = "auto"
    """The one device, as for selfplay."""
    backend: str = "auto"
    slots: int = Field(default=0, ge=0, le=1 << 20)
    """S."""
    positions: int = Field(default=0, ge=0, le=1 << 22)
    """Questions, from random games; at least S."""
    threads: int = Field(default=0, ge=0, le=1024)
    """Threads of every entrant, ours and torch's."""
    cores: int = Field(default=0, ge=0)
    """Cores this process is kept to; 0 for all."""
    seconds: float = Field(default=60.0, gt=0)
    """Time to measure, without the preparations."""
    peers: bool = True
    """Whether other libraries and the ReLU twin take part."""
    seed: int = Field(default=0, ge=0)
    """Seed of the network, if it is new, and of the positions."""


def run(config: InferenceBench) -> dict[str, Any]:
    """Compare, in this process and in turns; returns what ``vecchess bench inference`` prints.

    Raises ``ConfigError`` for settings that will not do, ``NetworkError`` for a network that will
    not, ``VecchessError`` if an engine of ours answers differently from reference; a peer that does
    is left out, with the reason.
    """
    keep_to_cores(config.cores)
    threads = config.threads or num_cores()
    place = _place(config, threads)
    num = _num_positions(config, place)
    net = load_or_create(config.net, config.seed)
    require_playable(net, config.net)
    questions = random_requests(num, config.seed, history_of(net.config.num_planes))
    with _torch_set_up(threads):
        contest = open_contest(place, net, questions, config.peers)
        laps = race(contest.entrants, config.seconds * (1 - PATTERNS_SHARE))
        result = describe(contest, laps, _ceilings(contest))
        return result | {"exit_patterns": _patterns(contest, config.seconds * PATTERNS_SHARE)}


def _place(config: InferenceBench, threads: int) -> EntrantSetup:
    devices = parse_gpus(config.gpus)
    if len(devices) > 1:
        raise ConfigError(f"--gpus {config.gpus}: bench inference measures one device at a time")
    if config.backend not in BACKENDS:
        raise ConfigError(f"no backend '{config.backend}'; there are {', '.join(BACKENDS)}")
    device = devices[0].name if devices[0].name == "cpu" else _torch_name(devices[0].label)
    slots = config.slots or (CPU_SLOTS if device == "cpu" else GPU_SLOTS)
    return EntrantSetup(slots, device, threads, config.backend)


def _torch_name(label: str) -> str:
    """ "gpu 3" as torch calls it in a process that sees every GPU."""
    number = label.removeprefix("gpu ")
    if not number.isdecimal():
        raise ConfigError(f"--gpus {label}: bench inference wants the GPU's number")
    return f"cuda:{number}"


def _num_positions(config: InferenceBench, place: EntrantSetup) -> int:
    num = config.positions or ROWS_PER_SLOT * place.slots
    if num < place.slots:
        raise ConfigError(f"--positions {num}: {place.slots} slots need as many at least")
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
    place = contest.place
    return contest.ceilings.highest(measure_ceilings(place.device, place.threads))


def _patterns(contest: Contest, seconds: float) -> list[dict[str, Any]]:
    def open_with(rule: Any) -> Any:
        return contest.place.open(contest.net, rule)

    return exit_patterns(contest.questions, open_with, contest.fixed, seconds)
