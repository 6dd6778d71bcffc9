"""Compile every Triton kernel for a GPU that need not be there: ``python compile_kernels.py``.

Prints shared memory of each; raises what the compiler raises.
"""

from typing import Any

from bench.gpu.machine_code import compile_kernel, compile_tower

from vecchess.chess.move_inputs import NUM_CODES
from vecchess.chess.planes import MOVE_WORDS
from vecchess.inference.cuda import heads
from vecchess.inference.cuda.staging import record_words
from vecchess.inference.cuda.tiles import candidates
from vecchess.shapes import MAX_MOVES
from vecchess.snn.presets import NetConfig


def main() -> None:
    """All kernels of a small spiking network, with either readout, and of its twin."""
    spiking = {"time_steps": 4}
    kinds: list[dict[str, Any]] = [spiking, spiking | {"readout": "graded"}, {"neuron": "relu"}]
    for kind in kinds:
        config = NetConfig(num_planes=40, blocks=1, channels=64, **kind)
        tile = candidates(config)[0]
        report(compile_tower(config, tile))
        sizes = {"CHANNELS": 64, "GRID_BITS": 13, "STEPS": tile.steps}
        sizes |= {"RELU": config.neuron == "relu", "GRADED": config.readout == "graded"}
        sizes |= {"TIME_STEPS": 4, "MAX_MOVES": MAX_MOVES, "INPUTS": 64, "VALUES": 16}
        for reads_moves in (False, True):
            report(compile_kernel(heads.answer, sizes | {"READS_MOVES": reads_moves}))
    for words in (40, 40 + MOVE_WORDS):
        staged = {"NUM_WORDS": words, "NUM_PLANES": 40, "NUM_CODES": NUM_CODES}
        staged |= {"MAX_MOVES": MAX_MOVES, "RECORD": record_words(words)}
        report(compile_kernel(heads.admit_requests, staged | {"CHANNELS": 64, "OUTPUTS": 64}))
    report(compile_kernel(heads.list_active, {"BLOCK": 1024}))


def report(kernel: Any) -> None:
    """Print what a kernel takes of a multiprocessor."""
    print(kernel.metadata.name, f"{kernel.metadata.shared} bytes of shared memory")


if __name__ == "__main__":
    main()
