"""Compile every Triton kernel for a GPU that need not be there: ``python compile_kernels.py``.

Prints shared memory and registers of each; raises what the compiler raises.
"""

import os
from typing import Any

os.environ.pop("TRITON_INTERPRET", None)

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from vecchess.inference.cuda import heads, tower
from vecchess.inference.cuda.staging import record_words
from vecchess.inference.cuda.tiles import candidates
from vecchess.shapes import MAX_MOVES
from vecchess.snn.presets import NetConfig

ALIGNED = [["tt.divisibility", 16]]
BYTES = {"spikes", "spikes_inside"}
TYPES = {
    "staged_words": "*i64",
    "staged_shorts": "*i16",
    "legal": "*i16",
    "rule": "*i64",
    "tick": "*i64",
    "settled_at": "*i64",
    "num_slots": "i32",
}


def compile_kernel(kernel: Any, constants: dict[str, Any], **options: int) -> None:
    """For compute capability 9.0, with every pointer aligned to 16 bytes."""
    signature, attributes = {}, {}
    for index, name in enumerate(kernel.arg_names):
        is_byte = name in BYTES or name.endswith("weight")
        default = "*i8" if is_byte else "*i32"
        signature[name] = "constexpr" if name in constants else TYPES.get(name, default)
        if signature[name].startswith("*"):
            attributes[(index,)] = ALIGNED
    source = ASTSource(kernel, signature, constants, attributes)
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    print(kernel.__name__, options, f"{compiled.metadata.shared} bytes of shared memory")


def main() -> None:
    """All kernels of a small spiking network, with either readout, and of its twin."""
    kinds: list[dict[str, Any]] = [{}, {"readout": "graded"}, {"neuron": "relu", "time_steps": 1}]
    for kind in kinds:
        config = NetConfig(num_planes=40, blocks=1, channels=64, **kind)
        sizes = {"CHANNELS": 64, "GRID_BITS": 13}
        sizes |= {"RELU": config.neuron == "relu", "GRADED": config.readout == "graded"}
        for tile in candidates(config)[: 1 if kind else 2]:
            shape = {"OUTPUTS": tile.outputs, "INPUTS": tile.inputs, "SLICE": tile.slice}
            shape |= {"BLOCKS": 1, "BOARDS": tile.boards, "BYTES": tile.bytes}
            compile_kernel(tower.advance_tower, sizes | shape, **tile.options)
        heads_only = {"TIME_STEPS": 4, "MAX_MOVES": MAX_MOVES, "INPUTS": 64, "VALUES": 16}
        compile_kernel(heads.answer, sizes | heads_only)
    staged = {"NUM_PLANES": 40, "MAX_MOVES": MAX_MOVES, "RECORD": record_words(40)}
    compile_kernel(tower.admit_requests, staged | {"CHANNELS": 64, "OUTPUTS": 64})
    compile_kernel(heads.list_active, {"BLOCK": 1024})


if __name__ == "__main__":
    main()
