"""What the sections of the GPU report share: networks, questions, backends, feeding them."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from triton.runtime.errors import OutOfResources, PTXASError

from vecchess.bench.entrants import unanswered
from vecchess.chess.planes import NUM_PLANES
from vecchess.errors import DeviceError
from vecchess.inference.backend import Backend
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.cuda.backend import CudaBackend
from vecchess.inference.cuda.tiles import Tile, candidates
from vecchess.inference.engine import SlotEngine, answer_all
from vecchess.inference.requests import Requests
from vecchess.machine_limits import num_cores
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.snn.initialise import new_network
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet
from vecchess.snn.integer.net_file import load_net, save_net
from vecchess.snn.presets import NetConfig, preset

TWIN = "relu twin"


def four_steps(name: str) -> NetConfig:
    """The sizes of a preset with four time steps, so that positions leave after some of them."""
    return preset(name, NUM_PLANES).model_copy(update={"time_steps": 4})


SIZES = {
    "base": four_steps("base"),
    "tiny": four_steps("tiny"),
    "small": four_steps("small"),
    TWIN: NetConfig(
        num_planes=NUM_PLANES, neuron="relu", time_steps=1, blocks=6, channels=96, preset=TWIN
    ),
    "large": four_steps("large"),
}
"""New networks by name, in the order in which they matter."""
QUICK_SIZES = {
    "base": NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32, time_steps=2),
    TWIN: NetConfig(num_planes=NUM_PLANES, neuron="relu", time_steps=1, blocks=1, channels=32),
}
CALIBRATED_ON = 32
"""Positions, fewer than usual to save time."""
STAGGER = ExitRule(min_steps=1, policy_margin=2000, best_move_unchanged=False)
"""Positions leave after any number of steps."""


class Answers(NamedTuple):
    """Answers of all rows."""

    policy: NDArray[np.int32]
    wdl: NDArray[np.int32]
    steps: NDArray[np.uint8]


@dataclass(frozen=True)
class Setting:
    """Where the report runs and how much of everything."""

    device: str
    """ "cuda:0", or "cpu" for Triton's interpreter."""
    quick: bool
    nets: tuple[Path, ...]
    """Trained networks, for equality."""
    work: Path
    """Folder of the networks and of runs, shared by the sections and deleted at the end."""
    lines: Path
    """The report's file; what else is kept lies beside it."""

    @property
    def on_gpu(self) -> bool:
        """False in the interpreter."""
        return self.device != "cpu"

    @property
    def gpus(self) -> str:
        """The device as vecchess's settings name it."""
        return "0" if self.on_gpu else "cpu"

    @property
    def num_slots(self) -> int:
        """S of the measurements."""
        return 4 if self.quick else 4096

    @property
    def seconds(self) -> float:
        """Length of one measurement."""
        return 0.5 if self.quick else 4.0

    @property
    def names(self) -> list[str]:
        """Networks that are compared: the most important first, the slowest last."""
        sizes = list(QUICK_SIZES if self.quick else SIZES)
        return [*sizes[:-1], *map(str, self.nets), sizes[-1]]

    @property
    def base(self) -> IntegerNet:
        """The network that is measured."""
        return self.network("base")

    def network(self, name: str) -> IntegerNet:
        """One of ``names``; a new one is made by the first that asks."""
        return load_net(self.net_file(name))

    def net_file(self, name: str) -> Path:
        """Its file."""
        sizes = QUICK_SIZES if self.quick else SIZES
        return self.made(name, sizes[name]) if name in sizes else Path(name)

    def made(self, name: str, sizes: NetConfig) -> Path:
        """The file of a new network."""
        file = self.work / f"{name}.safetensors"
        if not file.exists():
            save_net(new_network(sizes, 0, random_requests(CALIBRATED_ON, 1).planes), file)
        return file

    def artifact(self, kind: str) -> Path:
        """A file to keep, named like the report's."""
        return self.lines.with_name(f"{self.lines.stem}-{kind}")

    def questions(self, count: int, num_planes: int = NUM_PLANES) -> Requests:
        """Rows with positions of random games, for a network with so many input planes."""
        return random_requests(count, 0, num_planes)

    def tiles(self, net: IntegerNet) -> list[Tile]:
        """The tower's tiles that are tried, the likeliest first; in a hurry the two ends."""
        tiles = candidates(net.config)
        return [tiles[0], tiles[-1]] if self.quick else tiles

    def open(
        self, net: IntegerNet, rule: ExitRule, slots: int, tile: Tile | None = None
    ) -> CudaBackend:
        """A backend on the device of this report; None takes the fastest tile.

        Raises ``TileTooLargeError`` where the device cannot hold the tile.
        """
        gc.collect()  # of the backend before
        try:
            return CudaBackend(net, slots, rule, self.device, tile)
        except (OutOfResources, PTXASError) as error:
            raise TileTooLargeError(str(error)) from error
        except DeviceError as error:
            if isinstance(error.__cause__, (OutOfResources, PTXASError)):
                raise TileTooLargeError(str(error)) from error
            raise

    def open_on_processor(self, net: IntegerNet, rule: ExitRule) -> Backend:
        """The backend to compare with, on every core."""
        return open_backend("cpu", net, 256, rule, "cpu", num_cores())


class TileTooLargeError(Exception):
    """The device cannot hold a tile."""


def answers(backend: Backend, questions: Requests) -> Answers:
    """All rows, admitted in the order they come."""
    asked = unanswered(questions)
    answer_all(backend, asked)
    return Answers(asked.policy, asked.wdl, asked.steps)


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


def feed(engine: SlotEngine, seconds: float, most_batches: float = inf) -> Fed:
    """Every answered row is asked again, for so long or for so many time steps, but not before
    each slot has answered."""
    positions = steps = batches = 0
    least, start, spent = engine.backend.time_steps + 1, perf_counter(), 0.0
    while batches < least or (batches < most_batches and spent < seconds):
        rows = engine.step()
        engine.submit(rows)
        batches += 1
        positions += len(rows)
        steps += int(engine.requests.steps[rows].sum())
        spent = perf_counter() - start
    return Fed(positions, steps, batches, spent)
