"""The positions/s that the tower's machine code predicts: a model, no measurement.

``python -m bench.gpu.machine_model [--nets small base large]`` compiles every candidate tile for
sm_90, counts instructions, barriers and bytes, and prints one JSON object: for each network and
GPU positions/s at fixed T and with exits, each with the tile that does best and what it is made of.
Of each figure there are two. The low one waits in full for every product, barrier and load, and
fetches the spikes of every tap from the second-level cache; the high one waits half as long, and
taps find their spikes in the first-level cache where it has room for them. Rates are published
ones, or what copies attain; latencies are typical ones.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from math import ceil
from typing import Self

from bench.gpu.machine_code import COUNTED, MachineCode, compile_tower, machine_code
from bench.gpu.setting import four_steps

from vecchess.inference.cuda.tiles import Tile, candidates
from vecchess.shapes import NUM_SQUARES
from vecchess.snn.presets import NetConfig

POSITIONS = 4096
"""Busy slots of a launch."""
EXITS = {2: 0.65, 3: 0.2, 4: 0.15}
"""Time step -> share of the positions that leave there, with exits: 2.5 steps in the mean."""
TAPS = 9
MACS_A_CLOCK = 4096
"""8-bit multiplications of a multiprocessor."""
L2_BYTES_A_CLOCK = 26
"""Of a multiprocessor, when all of them read: 6 TB/s in all."""
REGISTERS, THREADS, SCHEDULERS = 65536, 2048, 4
SHARED_BYTES, CACHE_BYTES = 233_472, 262_144
"""Of a multiprocessor; what its programs do not take of the latter is first-level cache."""
RESERVED_BYTES = 1024
"""Shared memory the driver takes for each program."""
MEMORY_CLOCKS = 800
"""From a load of membranes to its arrival; a slice waits for its own."""
PIECE_CLOCKS = 130
"""From the last product of a piece until it is done, and all warps know."""
BARRIER_CLOCKS = 25
START_CLOCKS = 700
"""Of a convolution: until the operands of its first piece have arrived."""
OTHER_SECONDS = 53e-6
"""Of a launch: list of slots, heads, admissions, gaps."""
NUMBER_BYTES = 4
"""Of a membrane, of a number of the stream."""


@dataclass(frozen=True)
class Gpu:
    """Rates of a GPU; ``bytes_per_s`` of its memory is what copies attain."""

    name: str
    multiprocessors: int
    clock_hz: float
    bytes_per_s: float


@dataclass(frozen=True)
class Assumption:
    """What the machine code does not tell."""

    waiting: float
    """Share of the waits that nothing hides."""
    caches_spikes: bool
    """Whether taps find spikes in the first-level cache where they fit."""


GPUS = (Gpu("H100", 132, 1.755e9, 3.0e12), Gpu("H200", 132, 1.755e9, 4.3e12))
ASSUMPTIONS = {"low": Assumption(1.0, False), "high": Assumption(0.5, True)}


@dataclass(frozen=True)
class Work:
    """What a warp does in one convolution of all outputs, its neurons included."""

    instructions: float
    stall_clocks: float
    """Clocks between its instructions when nothing is waited for."""
    barriers: float


@dataclass(frozen=True)
class Compiled:
    """A tile of a network, compiled."""

    config: NetConfig
    tile: Tile
    code: MachineCode
    spiking: MachineCode
    """The same, all of whose layers spike: what the blocks before a graded readout run."""

    @classmethod
    def of(cls, config: NetConfig, tile: Tile) -> Self:
        """``tile`` compiled for ``config``."""
        spiking = config.model_copy(update={"readout": "spikes"})
        code, without = (machine_code(compile_tower(each, tile)) for each in (config, spiking))
        return cls(config, tile, code, without)

    @property
    def programs(self) -> int:
        """Programs that a multiprocessor holds."""
        threads = 32 * self.tile.num_warps
        registers = ceil(self.code.registers / 8) * 8 * threads
        shared = self.code.shared_bytes + RESERVED_BYTES
        return min(REGISTERS // registers, SHARED_BYTES // shared, THREADS // threads)

    @property
    def work(self) -> Work:
        """The mean of the two convolutions of a block: each instruction as often as its loops say.

        Of the loops with products the innermost is that over pieces, a loop around it that over
        groups of outputs, and the longest that over blocks.
        """
        code = self.spiking
        is_product = [one.opcode.startswith("IGMMA") for one in code.instructions]
        loops = [loop for loop in code.loops if any(is_product[at] for at in loop)]
        block, inner = loops[0], loops[1:]
        pieces = TAPS * self.config.channels // self.tile.inputs
        groups = self.config.channels // self.tile.outputs
        work = [0, 0, 0]
        for at in block:
            around = sum(at in loop for loop in inner)
            rounds = (1, groups, groups * pieces)[min(around, 2)]
            one = code.instructions[at]
            for index, value in enumerate((1, one.stall, one.opcode.startswith("BAR"))):
                work[index] += rounds * value
        return Work(*(value / 2 for value in work))


@dataclass(frozen=True)
class Traffic:
    """How positions come and go, in the mean of those that leave at given steps."""

    launches: float
    """That a position takes."""
    moves: float
    """Times that membranes go from or to memory, of a position. The first launch of a position
    reads none, the last before T writes none."""

    @classmethod
    def of(cls, one: Compiled, leaving: dict[int, float]) -> Self:
        """``leaving``: time step -> share of the positions that leave there."""
        total = moves = 0.0
        for step, share in leaving.items():
            launches = ceil(step / one.tile.steps)
            writes = launches - (launches * one.tile.steps >= one.config.time_steps)
            total, moves = total + share * launches, moves + share * (launches - 1 + writes)
        return cls(total, moves)


def convolution_clocks(one: Compiled, assumed: Assumption, traffic: Traffic) -> dict[str, float]:
    """Clocks of a multiprocessor for a convolution of one program, by what they are spent on."""
    tile, channels, work = one.tile, one.config.channels, one.work
    rows = NUM_SQUARES * tile.boards * tile.steps
    groups = channels // tile.outputs
    pieces = groups * TAPS * channels // tile.inputs
    waits = pieces * PIECE_CLOCKS + groups * START_CLOCKS + work.barriers * BARRIER_CLOCKS
    waits += channels // tile.slice * MEMORY_CLOCKS
    left = CACHE_BYTES - one.programs * (one.code.shared_bytes + RESERVED_BYTES)
    hits = assumed.caches_spikes and one.programs * rows * channels <= left
    spikes = rows * channels * (1 if hits else groups * TAPS)
    neurons = rows * channels * (1 + NUMBER_BYTES)  # spikes written, stream every second time
    moves = traffic.moves / traffic.launches
    membranes = moves * rows / tile.steps * channels * NUMBER_BYTES
    clocks = {
        "products": rows * TAPS * channels**2 / MACS_A_CLOCK,
        "instructions": max(work.instructions * tile.num_warps / SCHEDULERS, work.stall_clocks),
        "second_level_cache": (TAPS * channels**2 + spikes + neurons + membranes)
        / L2_BYTES_A_CLOCK,
    }
    in_turn = clocks["products"] + clocks["instructions"] + assumed.waiting * waits
    return clocks | {"in_turn": in_turn / one.programs}


def launch_seconds(one: Compiled, gpu: Gpu, assumed: Assumption, traffic: Traffic) -> float:
    """The tower, all slots busy, where memory keeps up."""
    clocks = max(convolution_clocks(one, assumed, traffic).values())
    at_once = one.programs * gpu.multiprocessors
    rounds = ceil(POSITIONS / one.tile.boards / at_once)
    return rounds * one.programs * clocks * 2 * one.config.blocks / gpu.clock_hz


def bytes_of_position(one: Compiled, traffic: Traffic) -> float:
    """Bytes that a position moves from and to memory until it leaves."""
    config, steps = one.config, one.tile.steps
    board = NUM_SQUARES * config.channels
    membranes = NUMBER_BYTES * board * 2 * config.blocks
    scratch = steps * board * (NUMBER_BYTES + 2) + board * NUMBER_BYTES  # and x0
    return traffic.moves * membranes + traffic.launches * scratch


def positions_per_s(
    one: Compiled, gpu: Gpu, leaving: dict[int, float], assumed: Assumption
) -> float:
    """With all slots busy, and positions leaving at these steps in these shares."""
    traffic = Traffic.of(one, leaving)
    memory = POSITIONS * bytes_of_position(one, traffic) / traffic.launches / gpu.bytes_per_s
    seconds = max(launch_seconds(one, gpu, assumed, traffic), memory) + OTHER_SECONDS
    return POSITIONS / traffic.launches / seconds


def best(tiles: list[Compiled], gpu: Gpu, leaving: dict[int, float]) -> dict[str, object]:
    """The tile that does best, low and high taken together."""

    def speeds(one: Compiled) -> dict[str, int]:
        return {
            name: round(positions_per_s(one, gpu, leaving, assumed))
            for name, assumed in ASSUMPTIONS.items()
        }

    one = max(tiles, key=lambda one: sum(speeds(one).values()))
    traffic = Traffic.of(one, leaving)
    clocks = {
        name: convolution_clocks(one, assumed, traffic) for name, assumed in ASSUMPTIONS.items()
    }
    return {
        "positions_per_s": speeds(one),
        "tile": asdict(one.tile),
        "programs": one.programs,
        "bytes_of_position": round(bytes_of_position(one, traffic)),
        "convolution_clocks": {
            name: {what: round(number) for what, number in found.items()}
            for name, found in clocks.items()
        },
    }


def predicted(name: str) -> dict[str, object]:
    """Predictions for the preset ``name`` on every GPU; tiles that spill registers are left out."""
    config = four_steps(name)
    tiles = [Compiled.of(config, tile) for tile in candidates(config)]
    tiles = [one for one in tiles if not one.code.count(COUNTED["spills"])]
    rules = {"fixed_T": {config.time_steps: 1.0}, "exits": EXITS}
    return {
        gpu.name: {rule: best(tiles, gpu, leaving) for rule, leaving in rules.items()}
        for gpu in GPUS
    }


def main() -> None:
    """Print the model's figures of the networks named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nets", nargs="+", default=["small", "base", "large"])
    facts = {name: predicted(name) for name in parser.parse_args().nets}
    print(json.dumps({"is_a_model": True, "nets": facts}, indent=2))


if __name__ == "__main__":
    main()
