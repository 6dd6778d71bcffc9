"""Machine code of the Triton kernels for a GPU that need not be there, compiled and counted.

``python -m bench.gpu.machine_code PRESET [--first N]`` prints a line of JSON for each candidate
tile of ``tower.advance_tower``: what it takes of a multiprocessor, and how often each of the
instructions that cost most is in the code.
"""

import argparse
import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.pop("TRITON_INTERPRET", None)

import triton
from bench.gpu.setting import four_steps
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from vecchess.inference.cuda import tower
from vecchess.inference.cuda.tiles import Tile, candidates
from vecchess.snn.presets import NetConfig

HOPPER = GPUTarget("cuda", 90, 32)
ALIGNED = [["tt.divisibility", 16]]
BYTES = {"spikes", "spikes_inside"}
TYPES = {
    "staged_words": "*i64",
    "staged_shorts": "*i16",
    "legal": "*i16",
    "codes": "*i16",
    "rule": "*i64",
    "tick": "*i64",
    "settled_at": "*i64",
    "num_slots": "i32",
}
TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
COUNTED = {
    "products": r"IGMMA",
    "barriers": r"BAR\.SYNC",
    "conversions": r"LDSM|STSM|LDS\b|STS\b|SHFL",
    "spills": r"LDL|STL",
    "copies": r"LDGSTS",
    "loads": r"LDG\b",
    "stores": r"STG\b",
}
"""What is counted -> the opcodes. A layout is converted by way of shared memory, or by shuffles."""
LINE = re.compile(
    r"/\*[0-9a-f]{4,6}\*/\s+(?:@!?U?P\w+ )?(\S+)([^;]*);\s+/\* 0x[0-9a-f]{16} \*/\s+"
    r"/\* 0x[0-9a-f]{16} \*/"
)


@dataclass(frozen=True)
class MachineCode:
    """A compiled kernel; bytes are of a program, but the stack's, which are of a thread."""

    registers: int
    stack_bytes: int
    shared_bytes: int
    opcodes: tuple[str, ...]
    """Of its instructions, in their order."""

    def count(self, pattern: str) -> int:
        """Instructions whose opcode begins as the ``pattern``."""
        return sum(bool(re.match(pattern, opcode)) for opcode in self.opcodes)

    def facts(self) -> dict[str, int]:
        """Numbers for JSON."""
        taken = {"registers": self.registers, "stack": self.stack_bytes}
        counts = {name: self.count(pattern) for name, pattern in COUNTED.items()}
        return taken | {"shared_bytes": self.shared_bytes} | counts


def type_of(name: str) -> str:
    """The type of an argument of inference's kernels."""
    is_byte = name in BYTES or name.endswith("weight")
    return TYPES.get(name, "*i8" if is_byte else "*i32")


def compile_kernel(
    kernel: Any,
    constants: dict[str, Any],
    types: Callable[[str], str] = type_of,
    **options: int,
) -> Any:
    """For compute capability 9.0, with every pointer aligned to 16 bytes; ``types``: of its
    arguments by their names."""
    signature, attributes = {}, {}
    for index, name in enumerate(kernel.arg_names):
        signature[name] = "constexpr" if name in constants else types(name)
        if signature[name].startswith("*"):
            attributes[(index,)] = ALIGNED
    source = ASTSource(kernel, signature, constants, attributes)
    return triton.compile(source, target=HOPPER, options=options)


def compile_tower(config: NetConfig, tile: Tile) -> Any:
    """``tower.advance_tower`` for networks of ``config``."""
    sizes = {"BLOCKS": config.blocks, "CHANNELS": config.channels, "GRID_BITS": config.grid_bits}
    sizes |= {"RELU": config.neuron == "relu", "GRADED": config.readout == "graded"}
    sizes |= {"TIME_STEPS": config.time_steps}
    return compile_kernel(tower.advance_tower, sizes | tile.constants, **tile.options)


def machine_code(kernel: Any) -> MachineCode:
    """Disassembles a compiled kernel."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(kernel.asm["cubin"])
        usage = _run("cuobjdump", "--dump-resource-usage", str(file))
        text = _run("cuobjdump", "-sass", str(file))
    taken = {name: int(number) for name, number in re.findall(r"(REG|STACK):(\d+)", usage)}
    opcodes = tuple(_opcode(*parts) for parts in LINE.findall(text))
    return MachineCode(taken["REG"], taken["STACK"], kernel.metadata.shared, opcodes)


def _opcode(opcode: str, operands: str) -> str:
    is_wait = operands.strip() == "RZ, [RZ]"  # a load of nothing: so ptxas waits for the memory
    return "NOP" if is_wait else opcode


def _run(tool: str, *arguments: str) -> str:
    command = [str(TOOLS / tool), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Print the numbers of each tile."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("preset")
    parser.add_argument("--first", type=int, help="so many tiles only")
    options = parser.parse_args()
    config = four_steps(options.preset)
    for tile in candidates(config)[: options.first]:
        facts = machine_code(compile_tower(config, tile)).facts()
        print(json.dumps({"tile": asdict(tile)} | facts), flush=True)


if __name__ == "__main__":
    main()
