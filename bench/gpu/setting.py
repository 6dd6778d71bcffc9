"""What the sections of the GPU report share: networks, questions, backends, feeding them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from vecchess.chess.planes import NUM_PLANES
from vecchess.inference.backend import Backend
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.exit_rule import ExitRule
from vecchess.inference.requests import Requests
from vecchess.machine_limits import num_cores
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.snn.initialise import new_network
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.presets import NetConfig, preset

QUICK = NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32, time_steps=2)
CALIBRATED_ON = 32
Answers = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]


@dataclass(frozen=True)
class Setting:
    """Where the report runs and how much of everything."""

    device: str
    """ "cuda:<n>", or "cpu" for Triton's interpreter."""
    quick: bool
    nets: tuple[Path, ...]
    """Trained networks, for equality."""

    @property
    def on_gpu(self) -> bool:
        """False in the interpreter."""
        return self.device != "cpu"

    @property
    def num_positions(self) -> int:
        """Positions that backends are compared on."""
        return 8 if self.quick else 10_000

    @property
    def num_slots(self) -> int:
        """S of the measurements."""
        return 6 if self.quick else 4096

    @property
    def seconds(self) -> float:
        """Length of one measurement."""
        return 0.5 if self.quick else 4.0

    @cached_property
    def base(self) -> IntegerNet:
        """The network that is measured."""
        return self.network("base")

    def network(self, name: str) -> IntegerNet:
        """A new one of the preset ``name``; in a hurry the smallest, whatever the name."""
        return new_of(QUICK if self.quick else preset(name, NUM_PLANES))

    def questions(self, count: int, num_planes: int = NUM_PLANES) -> Requests:
        """Rows with positions of random games, for a network with so many input planes."""
        return random_requests(count, 0, num_planes)

    def open(self, net: IntegerNet, rule: ExitRule, slots: int, name: str = "cuda") -> Backend:
        """A backend on the device of this report; "cpu" gets every core."""
        device = "cpu" if name == "cpu" else self.device
        return open_backend(name, net, slots, rule, device, num_cores())


def new_of(config: NetConfig) -> IntegerNet:
    """A new network of any sizes, calibrated on fewer positions than usual to save time."""
    return new_network(config, 0, random_requests(CALIBRATED_ON, 1).planes)


def answers(backend: Backend, questions: Requests) -> Answers:
    """All rows, admitted in the order they come."""
    written = ("policy", "wdl", "steps")
    asked = replace(
        questions, **{name: np.zeros_like(getattr(questions, name)) for name in written}
    )
    engine = SlotEngine(backend, asked)
    engine.submit(np.arange(asked.num_rows, dtype=np.int32))
    while not engine.is_idle:
        engine.step()
    return asked.policy, asked.wdl, asked.steps


def device_seconds(work: Callable[[], object]) -> float:
    """Shortest of several, by the device's own clock."""
    shortest = inf
    for _ in range(6):  # the first one warms up, and may as well count: it is never the shortest
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        shortest = min(shortest, start.elapsed_time(end) / 1e3)
    return shortest


class Fed(NamedTuple):
    """What a backend did while it was fed."""

    positions: int
    steps: int
    """Time steps the answers took, summed."""
    batches: int
    """Calls of ``advance``."""
    seconds: float


def warmed(backend: Backend, questions: Requests) -> SlotEngine:
    """An engine in steady state: all slots occupied, at all steps, more rows waiting."""
    engine = SlotEngine(backend, questions)
    engine.submit(np.arange(questions.num_rows, dtype=np.int32))
    for _ in range(3 * backend.time_steps):
        engine.submit(engine.step())
    return engine


def feed(engine: SlotEngine, seconds: float) -> Fed:
    """Every answered row is asked again, for so long."""
    positions = steps = batches = 0
    start = perf_counter()
    while (spent := perf_counter() - start) < seconds:
        rows = engine.step()
        engine.submit(rows)
        batches += 1
        positions += len(rows)
        steps += int(engine.requests.steps[rows].sum())
    return Fed(positions, steps, batches, spent)
