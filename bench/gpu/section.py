"""One section of the GPU report: ``python section.py NAME DEVICE [--quick] [--net FILE ...]``.

Prints one JSON object as its last line. Started by gpu_report.py; see there.
"""

import argparse
import json
import platform
from importlib.metadata import PackageNotFoundError, version
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from bench.peers.machine_limits import measure_ceilings
from setting import Setting, answers, device_seconds, feed, new_of, warmed
from telemetry import Telemetry
from training import training

from vecchess.inference.cuda.backend import CudaBackend
from vecchess.inference.cuda.tiles import candidates
from vecchess.inference.cuda.tuning import tower_seconds
from vecchess.inference.exit_rule import ExitRule
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.integer.net_file import load_net, save_net
from vecchess.snn.presets import NetConfig

PACKAGES = ("torch", "triton", "numba", "numpy", "snntorch", "spikingjelly")
CPU_COMPARED = {"tiny": 1.0, "small": 1.0, "base": 1.0, "large": 0.02}
"""Preset -> share of the positions it is compared on: the processor is what takes the time."""
STAGGER = ExitRule(min_steps=1, policy_margin=2000, best_move_unchanged=False)
COPIED_BYTES = 1 << 30


def environment(setting: Setting) -> dict[str, Any]:
    """What is measured with what."""
    facts: dict[str, Any] = {
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
    }
    if setting.on_gpu:
        found = torch.cuda.get_device_properties(setting.device)
        facts |= {
            "gpu": found.name,
            "capability": f"{found.major}.{found.minor}",
            "multiprocessors": found.multi_processor_count,
            "memory_bytes": found.total_memory,
            "l2_bytes": getattr(found, "L2_cache_size", None),
            "cuda": torch.version.cuda,
        }
    return facts


def ceilings(setting: Setting) -> dict[str, Any]:
    """The most this device does of what the kernels do: int8 products, copies."""
    facts = measure_ceilings(setting.device, 1).to_dict()
    if setting.on_gpu:
        facts["int8_ops_per_s_by_size"] = {n: _int8_rate(n, setting) for n in (4096, 8192, 16384)}
        source = torch.zeros(COPIED_BYTES, dtype=torch.uint8, device=setting.device)
        target = torch.ones_like(source)
        seconds = device_seconds(lambda: target.copy_(source))
        facts["bytes_per_s"] = 2 * COPIED_BYTES / seconds
    return facts


def equality(setting: Setting) -> dict[str, Any]:
    """Our kernels against the CPU backend, accumulator by accumulator."""
    trained = {file.name: load_net(file) for file in setting.nets}
    cases: list[dict[str, Any]] = []
    for preset, share in ({"base": 1.0} if setting.quick else CPU_COMPARED).items():
        net = setting.network(preset)
        cases += _compared(setting, preset, net, max(int(setting.num_positions * share), 8))
    twin = {"num_planes": setting.base.config.num_planes, "neuron": "relu", "time_steps": 1}
    sizes = {"blocks": 1, "channels": 32} if setting.quick else {"blocks": 6, "channels": 96}
    twin_net = new_of(NetConfig.model_validate(twin | sizes))
    cases += _compared(setting, "relu twin", twin_net, setting.num_positions)
    for name, net in trained.items():
        cases += _compared(setting, name, net, setting.num_positions)
    if not all(case["equal"] for case in cases):
        raise SystemExit(f"answers differ: {json.dumps(cases)}")
    return {"cases": cases}


def _compared(setting: Setting, name: str, net: IntegerNet, count: int) -> list[dict[str, Any]]:
    questions = setting.questions(count, net.config.num_planes)
    cases = []
    for rule in (ExitRule.from_metadata(net.exit_rule), STAGGER):
        ours = answers(setting.open(net, rule, max(count // 7, 4)), questions)
        theirs = answers(setting.open(net, rule, 256, "cpu"), questions)
        equal = all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
        mean_steps = float(ours[2].mean())
        cases.append({"net": name, "positions": count, "steps": mean_steps, "equal": equal})
    return cases


def steps(setting: Setting) -> dict[str, Any]:
    """Time of a step by kernel and by tile, all slots busy; operations and bytes counted."""
    net, slots = setting.base, setting.num_slots
    backend = CudaBackend(net, slots, ExitRule.never(), setting.device)
    fed = feed(warmed(backend, setting.questions(2 * slots)), setting.seconds)
    facts: dict[str, Any] = {
        "slots": slots,
        "tile": vars(backend.tile),
        "bytes": backend.nbytes,
        "step_seconds": fed.seconds / fed.batches,
    }
    if not setting.on_gpu:
        return facts
    torch.cuda.synchronize()
    launches, state = backend._launches, backend._state
    state.busy.fill_(1)
    by_tile = {str(vars(tile)): tower_seconds(launches, tile) for tile in candidates(net.config)}
    seconds = tower_seconds(launches, backend.tile)
    macs = 2 * net.config.blocks * 64 * 9 * net.config.channels**2
    return facts | {
        "tower_seconds": seconds,
        "tower_seconds_by_tile": {tile: s for tile, s in by_tile.items() if s < inf},
        "answer_seconds": device_seconds(lambda: launches._answer()),
        "int8_ops_per_s": 2 * macs * slots / seconds,
        "state_bytes_per_s": (2 * state.membranes.nbytes + state.input_current.nbytes) / seconds,
        "peak_bytes": torch.cuda.max_memory_allocated(),
    }


def engine(setting: Setting) -> dict[str, Any]:
    """Positions/s with every step taken, and with exits; the share of time without kernels."""
    net, slots = setting.base, setting.num_slots
    rules = {"fixed_T": ExitRule.never(), "continuous": ExitRule.from_metadata(net.exit_rule)}
    facts: dict[str, Any] = {"slots": slots}
    for name, rule in rules.items():
        backend = CudaBackend(net, slots, rule, setting.device)
        running = warmed(backend, setting.questions(3 * slots))
        before = backend.kernel_ns
        with Telemetry(setting.device) as telemetry:
            fed = feed(running, setting.seconds)
        facts[name] = {
            "positions_per_s": fed.positions / fed.seconds,
            "mean_time_steps": fed.steps / max(fed.positions, 1),
            "overhead": 1 - (backend.kernel_ns - before) / 1e9 / fed.seconds,
            **telemetry.to_dict(),
        }
    return facts


def allocation(setting: Setting) -> dict[str, Any]:
    """Allocations on the device while steps are taken in steady state: there should be none."""
    backend = CudaBackend(setting.base, setting.num_slots, ExitRule(), setting.device)
    running = warmed(backend, setting.questions(3 * setting.num_slots))
    before = _device_allocations(setting)
    fed = feed(running, setting.seconds)
    return {"steps": fed.batches, "device_allocations": _device_allocations(setting) - before}


def inference(setting: Setting) -> dict[str, Any]:
    """``python -m bench.peers inference``."""
    from bench.peers.race import run

    from vecchess.config.bench_settings import InferenceBench

    if setting.quick:
        sizes: dict[str, Any] = {"net": "tiny", "backend": "cpu", "slots": 8, "positions": 8}
        return run(InferenceBench(gpus="cpu", seconds=1.0, twin=False, **sizes))
    number = setting.device.partition(":")[2]
    with TemporaryDirectory() as folder:
        net = _saved(setting.base, folder)
        sizes = {"slots": setting.num_slots, "positions": 2 * setting.num_slots}
        return run(InferenceBench(net=net, gpus=number, seconds=30.0, **sizes))


def throughput(setting: Setting) -> dict[str, Any]:
    """``vecchess bench throughput``: whole self-play, with the GPU's own figures beside it."""
    return _selfplay(setting, {"search": "none"})


def search(setting: Setting) -> dict[str, Any]:
    """The same with searched moves: is the device as busy?"""
    return _selfplay(setting, {"search": "gumbel", "sims": 4 if setting.quick else 32})


def _selfplay(setting: Setting, tree: dict[str, Any]) -> dict[str, Any]:
    from vecchess.bench.throughput import run
    from vecchess.config import SelfplayConfig

    gpus = setting.device.partition(":")[2] if setting.on_gpu else "cpu"
    with TemporaryDirectory() as folder, Telemetry(setting.device) as telemetry:
        sizes: dict[str, Any] = {"net": _saved(setting.base, folder), "gpus": gpus, "tree": tree}
        sizes |= {"backend": "cpu", "slots": 8} if setting.quick else {}
        facts = run(SelfplayConfig.model_validate(sizes), 1.0 if setting.quick else 15.0, 0)
    return facts | telemetry.to_dict()


def _saved(net: IntegerNet, folder: str) -> str:
    file = Path(folder) / "net.safetensors"
    save_net(net, file)
    return str(file)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _int8_rate(size: int, setting: Setting) -> float:
    left, right = (
        torch.randint(-127, 128, (size, size), dtype=torch.int8, device=setting.device)
        for _ in range(2)
    )
    return 2 * size**3 / device_seconds(lambda: torch._int_mm(left, right.t()))


def _device_allocations(setting: Setting) -> int:
    if not setting.on_gpu:
        return 0
    return int(torch.cuda.memory_stats()["allocation.all.allocated"])


SECTIONS = {
    section.__name__: section
    for section in (
        environment,
        ceilings,
        equality,
        steps,
        engine,
        allocation,
        inference,
        throughput,
        search,
        training,
    )
}


def main() -> None:
    """Run the section named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("section", choices=SECTIONS)
    parser.add_argument("device")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--net", type=Path, action="append", default=[])
    options = parser.parse_args()
    setting = Setting(options.device, options.quick, tuple(options.net))
    if setting.on_gpu:
        torch.cuda.set_device(setting.device)
    print(json.dumps(SECTIONS[options.section](setting)))


if __name__ == "__main__":
    main()
