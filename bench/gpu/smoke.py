"""Does it work at all: versions, one tile, 256 positions against the processor, a few steps."""

import platform
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
import triton
from bench.gpu.equality import num_different
from bench.gpu.report_lines import ResultWriter
from bench.gpu.setting import Setting, answers, feed, warmed
from bench.gpu.telemetry import open_nvml

from vecchess.machine_limits import memory_text, num_cores
from vecchess.snn.integer.integer_net import ExitRule

PACKAGES = ("torch", "triton", "numba", "numpy", "pydantic", "snntorch", "spikingjelly")
NUM_POSITIONS, QUICK_POSITIONS = 256, 4
NUM_SLOTS = 64
NUM_STEPS, QUICK_STEPS = 20, 3
"""Each of them replays the recorded graph."""
MOST_S = 30.0


def smoke(setting: Setting, results: ResultWriter) -> None:
    """Stages, from what can hardly go wrong to what may; SystemExit where answers differ."""
    versions = _versions() | (_gpu(setting) if setting.on_gpu else {})
    warnings = list(ptxas_warnings())
    results.add("versions", **versions, warnings=warnings)
    for warning in warnings:
        print(f"*** WARNING: {warning} ***", file=sys.stderr, flush=True)
    net = setting.base
    results.add("network", sizes=net.config.model_dump(mode="json"), sha256=net.sha256)
    slots = setting.num_slots if setting.quick else NUM_SLOTS
    rule = ExitRule.from_metadata(net.exit_rule)
    backend = setting.open(net, rule, slots, setting.tiles(net)[0])
    results.add("tile", tile=vars(backend.tile), slots=slots, bytes=backend.nbytes)
    questions = setting.questions(QUICK_POSITIONS if setting.quick else NUM_POSITIONS)
    found = answers(backend, questions)
    results.add("answers", positions=questions.num_rows, mean_steps=float(found.steps.mean()))
    expected = answers(setting.open_on_processor(net, rule), questions)
    different = num_different(found, expected)
    results.add("equality", positions=questions.num_rows, different=different)
    if different:
        raise SystemExit(f"{different} of {questions.num_rows} answers are not the processor's")
    engine, before = warmed(backend, questions), backend.kernel_ns
    fed = feed(engine, MOST_S, QUICK_STEPS if setting.quick else NUM_STEPS)
    seconds = (backend.kernel_ns - before) / 1e9 / fed.batches
    results.add("steps", launches=fed.batches, positions=fed.positions, launch_seconds=seconds)


def ptxas_warnings() -> Iterator[str]:
    """Lines about an assembler that is not Triton's own.

    Triton 3.6 leaves a fence out between asynchronous copies and the matrix units that read what
    they bring; the assembler that it comes with puts waits there, CUDA 13's may not.
    """
    try:
        ptxas = triton.knobs.nvidia.ptxas
    except RuntimeError as error:  # none is there
        yield str(error)
        return
    own = Path(triton.__file__).resolve().parent
    if not Path(ptxas.path).resolve().is_relative_to(own):
        yield (
            f"kernels are assembled by ptxas {ptxas.version} at {ptxas.path}, not by Triton's own "
            "(TRITON_PTXAS_PATH): unset it if answers differ"
        )


def _versions() -> dict[str, Any]:
    found: dict[str, Any] = {
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "cuda": torch.version.cuda,
        "cores": num_cores(),
        "memory": memory_text(),
    }
    with suppress(RuntimeError):
        ptxas = triton.knobs.nvidia.ptxas
        found["ptxas"] = {"version": ptxas.version, "path": ptxas.path}
    return found


def _gpu(setting: Setting) -> dict[str, Any]:
    """Raises what torch raises where it finds no GPU."""
    found = torch.cuda.get_device_properties(setting.device)
    facts: dict[str, Any] = {
        "gpu": found.name,
        "capability": f"{found.major}.{found.minor}",
        "multiprocessors": found.multi_processor_count,
        "memory_bytes": found.total_memory,
        "l2_bytes": getattr(found, "L2_cache_size", None),
    }
    with suppress(Exception):  # without NVML everything else works
        nvml, _ = open_nvml(setting.device)
        facts["driver"] = nvml.nvmlSystemGetDriverVersion()
    return facts


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
