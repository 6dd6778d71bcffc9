"""The fastest tile of a network on a device: tried out once, then remembered beside the kernels."""

import contextlib
import json
import math
import os
from dataclasses import asdict
from pathlib import Path

import torch
import triton
from triton.runtime.errors import OutOfResources, PTXASError

from vecchess.errors import DeviceError
from vecchess.inference.cuda.launches import Launches
from vecchess.inference.cuda.state import SlotState
from vecchess.inference.cuda.tiles import Tile, candidates, interpreted_tile
from vecchess.jit import cache_dir
from vecchess.safe_parse import parse_json_object, read_bytes
from vecchess.snn.presets import NetConfig

ROUNDS = 3
"""Each tile is timed so often, after one launch that compiles it; the shortest time counts."""


def choose_tile(config: NetConfig, launches: Launches, state: SlotState) -> Tile:
    """The tile to use. All slots have to be free, and are again; their membranes are lost.

    Raises DeviceError where the device cannot run any.
    """
    if is_interpreted(state):
        return interpreted_tile(config)
    key, memory = _key(config, state), _recall()
    if key in memory:
        return Tile(**memory[key])
    _occupy_all(config, state)
    seconds = {tile: tower_seconds(launches, tile) for tile in candidates(config)}
    state.busy.zero_()
    tile = min(seconds, key=lambda tile: seconds[tile])
    if math.isinf(seconds[tile]):
        raise DeviceError(
            f"no kernel for {config.channels} channels fits {torch.cuda.get_device_name()}; "
            "use --backend torch"
        )
    _remember(memory | {key: asdict(tile)})
    return tile


def is_interpreted(state: SlotState) -> bool:
    """Whether the kernels run in Triton's interpreter, where one tile is as good as another."""
    return state.busy.device.type == "cpu"


def _occupy_all(config: NetConfig, state: SlotState) -> None:
    """Every slot busy, past its first step, with currents that make a fraction of neurons fire."""
    threshold = 1 << config.grid_bits
    state.input_current.random_(-threshold, threshold)
    state.busy.fill_(1)
    state.steps.fill_(1)
    state.num_legal.fill_(1)


def tower_seconds(launches: Launches, tile: Tile) -> float:
    """Time of a step's tower with ``tile``; infinity where the device cannot hold it."""
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


def _key(config: NetConfig, state: SlotState) -> str:
    """What the choice depends on, as text. Slots count in powers of two."""
    facts = [
        torch.cuda.get_device_name(),
        f"torch {torch.__version__}",
        f"triton {triton.__version__}",
        f"{config.neuron} {config.blocks}x{config.channels}",
        f"{state.membranes.dtype} {state.stream.dtype}",
        f"slots <= {1 << (len(state.busy) - 1).bit_length()}",
    ]
    return ", ".join(facts)


def _file() -> Path:
    return cache_dir("inference") / "tiles.json"


def _recall() -> dict[str, dict[str, int]]:
    """What was found before; nothing where that cannot be read: it is quickly found again."""
    with contextlib.suppress(OSError, ValueError):
        return parse_json_object(read_bytes(_file()))
    return {}


def _remember(memory: dict[str, dict[str, int]]) -> None:
    """Written whole or not at all: several workers may start at a time."""
    temporary = _file().with_name(f".tiles.{os.getpid()}.tmp")
    with contextlib.suppress(OSError):
        temporary.write_text(json.dumps(memory, indent=1))
        temporary.replace(_file())
