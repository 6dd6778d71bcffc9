"""The fastest tile of a network on a device: measured once, then read from the tuning cache."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

import torch
import triton
from triton.runtime.errors import OutOfResources, PTXASError

from vecchess.errors import DeviceError
from vecchess.inference.cuda.launches import Launches
from vecchess.inference.cuda.state import SlotState
from vecchess.inference.cuda.tiles import Tile, candidates, interpreted_tile
from vecchess.inference.tune.tuning_cache import TuningKey, load_tuned, store_tuned, tuning_alone
from vecchess.jit import cache_dir
from vecchess.snn.presets import NetConfig

ROUNDS = 3
"""Timings of each tile, after one launch that compiles it; the shortest counts."""


@contextmanager
def compiling_alone(config: NetConfig, state: SlotState, min_steps: int) -> Iterator[None]:
    """Let one process at a time compile the kernels and choose the tile within the block.

    Workers of several GPUs open the same network at the same time: those that wait find kernels
    and tile on the disk, and the first measures undisturbed.
    """
    if is_interpreted(state):
        yield
        return
    with tuning_alone(_key(config, state, min_steps)):
        yield


def choose_tile(config: NetConfig, launches: Launches, state: SlotState, min_steps: int) -> Tile:
    """The tile that answers most positions a second, where they leave after ``min_steps`` or more.

    All slots have to be free, and are again; their membranes are lost.

    Raises DeviceError where the device cannot run any tile.
    """
    if is_interpreted(state):
        return interpreted_tile(config)
    key = _key(config, state, min_steps)
    tiles, stored = candidates(config), load_tuned(key)
    for tile in tiles:
        if asdict(tile) == stored:
            return tile
    _occupy_all(config, state)
    seconds = {}
    for tile in tiles:
        _spread_steps(config, state, tile)
        needed = tile.mean_launches(config.time_steps, min_steps)
        seconds[tile] = tower_seconds(launches, tile) * needed
    state.busy.zero_()
    tile = min(seconds, key=lambda tile: seconds[tile])
    if math.isinf(seconds[tile]):
        raise DeviceError(
            f"no kernel for {config.channels} channels fits {torch.cuda.get_device_name()}; "
            "use --backend reference"
        )
    store_tuned(key, asdict(tile))
    return tile


def is_interpreted(state: SlotState) -> bool:
    """True when the kernels run in Triton's interpreter, where all tiles are equally fast."""
    return state.busy.device.type == "cpu"


def _occupy_all(config: NetConfig, state: SlotState) -> None:
    """Make every slot busy, with currents at which some neurons fire."""
    threshold = 1 << config.grid_bits
    state.input_current.random_(-threshold, threshold)
    state.busy.fill_(1)
    state.num_legal.fill_(1)


def _spread_steps(config: NetConfig, state: SlotState, tile: Tile) -> None:
    """Leave as many slots at each step at which a launch of ``tile`` may find them: of membranes
    the first launch reads none, and the last writes none."""
    slots = torch.arange(len(state.steps), dtype=torch.int32, device=state.steps.device)
    state.steps.copy_(slots % -(-config.time_steps // tile.steps) * tile.steps)


def tower_seconds(launches: Launches, tile: Tile) -> float:
    """Time of a launch of the tower with ``tile``; infinity where the device cannot hold it."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    shortest = math.inf
    try:
        launches.tower(tile)
        for _ in range(ROUNDS):
            start.record()
            launches.tower(tile)
            end.record()
            end.synchronize()
            shortest = min(shortest, start.elapsed_time(end) / 1e3)
    except (OutOfResources, PTXASError):
        return math.inf
    return shortest


def _key(config: NetConfig, state: SlotState, min_steps: int) -> TuningKey:
    """Slots count in powers of two; the kernels' cache directory is named by their sources."""
    return TuningKey.of(
        "tile",
        torch.cuda.get_device_name(),
        "cuda",
        config,
        kernels=cache_dir(__name__).name,
        torch=torch.__version__,
        triton=triton.__version__,
        types=[str(tensor.dtype) for tensor in (state.membranes, state.stream)],
        slots=1 << (len(state.busy) - 1).bit_length(),
        min_steps=min(min_steps, config.time_steps),
    )
