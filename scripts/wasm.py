"""Compiles the kernels of ``vecchess.browser`` to WebAssembly: one file, 128-bit SIMD, no threads.

    python scripts/wasm.py FILE              with --is-current: exit code 1 where it has to be made

numba compiles each kernel for a processor without extensions, as for this machine; the module goes
through LLVM once more for wasm32, and wasm-ld of the package ziglang links them. Addresses keep
their 64 bits in the kernels' memory and lose the upper half on the way to an instruction. Each
kernel is exported with one argument, the place of its words (``browser.memory_image``), and returns
what the kernel does.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from llvmlite import binding as llvm

from vecchess.browser.engine_image import GENERIC, EngineMemory, sources_digest
from vecchess.browser.export_web import is_current
from vecchess.browser.memory_image import FIRST_PLACE, KernelCall
from vecchess.config import SelfplayConfig, build
from vecchess.snn.integer.net_file import load_net

TRIPLE = "wasm32-unknown-unknown"
LAYOUT = "e-m:e-p:32:32-p10:8:8-p20:8:8-i64:64-i128:128-n32:64-S128-ni:1:10:20"
FEATURES = "+simd128,+bulk-memory,+bulk-memory-opt,+sign-ext,+mutable-globals"
"""All of them in every browser since 2021; none is allowed to differ from machine to machine."""
HEAD = f'target datalayout = "{LAYOUT}"\ntarget triple = "{TRIPLE}"\n'
STACK_BYTES = 1 << 18
SETTINGS = GENERIC | {"NUMBA_OPT": "0"}
"""The kernels are optimised once, for wasm32."""
OKAY, OKAY_WITH_NONE = 0, -2
"""What a kernel of numba returns when nothing was raised."""


def main() -> None:
    """Compile, link, write the file, and beside it the hash of its sources."""
    if sys.argv[1] == "--is-current":
        sys.exit(not is_current(Path(sys.argv[2])))
    if any(os.environ.get(name) != value for name, value in SETTINGS.items()):
        with tempfile.TemporaryDirectory() as cache:  # kernels from a cache come without their code
            settings = os.environ | SETTINGS | {"NUMBA_CACHE_DIR": cache}
            done = subprocess.run(
                [sys.executable, "-W", "ignore", *sys.argv], env=settings, check=False
            )
        sys.exit(done.returncode)
    target = Path(sys.argv[1])
    llvm.set_option("", f"-non-global-value-max-name-size={1 << 16}")  # numba's are long
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(
        features=FEATURES, opt=3, reloc="static", codemodel="small"
    )
    calls = {call.export: call for call in wanted_calls()}
    with tempfile.TemporaryDirectory() as folder:
        compiled = Path(folder) / "kernels.o"
        compiled.write_bytes(machine.emit_object(optimised(list(calls.values()), machine)))
        link(compiled, list(calls), target)
    target.with_suffix(".sources").write_text(sources_digest(), "utf-8")
    print(f"{target}: {len(calls)} kernels, {target.stat().st_size:,} bytes")


def wanted_calls() -> list[KernelCall]:
    """The calls of an engine for each kind of network and of self-play."""

    net, found = load_net("default"), []
    for search in ("none", "gumbel"):
        config = build(SelfplayConfig, {"tree": {"search": search}})
        found += EngineMemory(net, config).calls.values()
    return found


def optimised(calls: list[KernelCall], machine: Any) -> Any:
    """One module of all kernels and their exported entries, for wasm32.

    Functions stay apart where numba has them apart: in one large function the compilers of browsers
    keep less in registers, and the network took 1.6 times as long.
    """
    whole = llvm.parse_assembly(HEAD)
    for call in calls:
        whole.link_in(_module(call))
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(whole, passes)
    exports = {call.export for call in calls}
    for function in whole.functions:
        if not function.is_declaration and function.name not in exports:
            function.linkage = "internal"
    return llvm.parse_assembly(WIDE_MASK.sub(_halved, str(whole)))


def _module(call: KernelCall) -> Any:
    """A kernel with its entry, as numba has it, for wasm32."""
    signature = call.signature
    call.kernel.compile(signature)
    text = re.sub(r"^target .*$", "", call.kernel.inspect_llvm(signature), flags=re.MULTILINE)
    module = llvm.parse_assembly(HEAD + text)
    name = call.kernel.overloads[signature].fndesc.llvm_func_name
    module.link_in(llvm.parse_assembly(entry_text(call.export, module.get_function(name))))
    module.verify()
    for function in module.functions:  # the ways in from Python and C
        if function.name.startswith(("_ZN7cpython", "cfunc.")) and not function.is_declaration:
            function.linkage = "internal"
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    return module


WIDE_MASK = re.compile(r"^ *(%\S+) = bitcast <32 x i1> (%\S+) to i32", re.MULTILINE)


def _halved(found: re.Match[str]) -> str:
    """A mask of 32 lanes from two of 16: LLVM's code generator for wasm fails on the whole."""
    result, flags = found.groups()
    name = result.strip('%"')
    lines = []
    for half in "lh":
        lanes = ", ".join(f"i32 {lane + 16 * (half == 'h')}" for lane in range(16))
        lines += [
            f'%"{name}.{half}1" = shufflevector <32 x i1> {flags}, <32 x i1> poison, '
            f"<16 x i32> <{lanes}>",
            f'%"{name}.{half}2" = bitcast <16 x i1> %"{name}.{half}1" to i16',
            f'%"{name}.{half}3" = zext i16 %"{name}.{half}2" to i32',
        ]
    lines.append(f'%"{name}.h4" = shl i32 %"{name}.h3", 16')
    lines.append(f'{result} = or i32 %"{name}.l3", %"{name}.h4"')
    return "\n".join(lines)


def entry_text(export: str, kernel: Any) -> str:
    """A function of one address: the kernel's arguments lie there, 8 bytes each."""
    _result, _, *given = list(kernel.arguments)
    types = [str(argument.type) for argument in given]
    lines, values = [], []
    for index, kind in enumerate(types):
        lines.append(f"%p{index} = getelementptr i8, ptr %words, i32 {8 * index}")
        narrow = "i8" if kind == "i1" else kind
        lines.append(f"%n{index} = load {narrow}, ptr %p{index}, align 8")
        values.append(f"{kind} %n{index}")
        if kind == "i1":
            lines.append(f"%v{index} = trunc i8 %n{index} to i1")
            values[-1] = f"i1 %v{index}"
    arguments = ", ".join(["ptr %result", "ptr %error", *values])
    own = ", ".join(["ptr", "ptr", *types])
    body = "\n  ".join(lines)
    return f"""{HEAD}
declare i32 @"{kernel.name}"({own})
declare void @llvm.trap()
define i32 @{export}(ptr %words) {{
  %result = alloca i64, align 8
  %error = alloca ptr, align 8
  store i64 0, ptr %result
  {body}
  %status = call i32 @"{kernel.name}"({arguments})
  %is_okay = icmp eq i32 %status, {OKAY}
  %is_none = icmp eq i32 %status, {OKAY_WITH_NONE}
  %is_fine = or i1 %is_okay, %is_none
  br i1 %is_fine, label %done, label %failed
failed:
  call void @llvm.trap()
  unreachable
done:
  %wide = load i64, ptr %result
  %narrow = trunc i64 %wide to i32
  ret i32 %narrow
}}
"""


def link(compiled: Path, exports: list[str], target: Path) -> None:
    """One module without a start, in a memory that the page makes."""
    command = [sys.executable, "-m", "ziglang", "wasm-ld", "--no-entry", "--import-memory"]
    command += ["--strip-all", "--gc-sections", "--stack-first", "-z", f"stack-size={STACK_BYTES}"]
    command += [f"--initial-memory={FIRST_PLACE}", *(f"--export={name}" for name in exports)]
    subprocess.run([*command, "-o", str(target), str(compiled)], check=True)


if __name__ == "__main__":
    main()
