"""Speed of the network alone: what the device could do, a step by tile, and the engine."""

from typing import Any

import torch
from bench.gpu.kernel_trace import traced
from bench.gpu.report_lines import ResultWriter
from bench.gpu.setting import Setting, TileTooLargeError, device_seconds, feed, warmed
from bench.peers.machine_limits import measure_ceilings

from vecchess.inference.engine import SlotEngine
from vecchess.shapes import NUM_SQUARES
from vecchess.snn.integer.integer_net import ExitRule
from vecchess.snn.presets import NetConfig
from vecchess.snn.topology import NUM_TAPS

COPIED_BYTES = 1 << 30
PRODUCTS = (4096, 8192, 16384)
TOWER = "advance_tower"
TRACED_STEPS = 30


def ceilings(setting: Setting, results: ResultWriter) -> None:
    """The most this device does of what the kernels do: int8 products, copies."""
    results.add("usual", **measure_ceilings(setting.device, 1).to_dict())
    if not setting.on_gpu:
        return
    for size in PRODUCTS:
        results.add(f"int8 product of {size}", ops_per_s=_int8_rate(size, setting))
    source = torch.zeros(COPIED_BYTES, dtype=torch.uint8, device=setting.device)
    target = torch.ones_like(source)
    seconds = device_seconds(lambda: target.copy_(source))
    results.add("copy", bytes_per_s=2 * COPIED_BYTES / seconds)


def steps(setting: Setting, results: ResultWriter) -> None:
    """Time of a launch (one or two steps) by tile with all slots occupied, and of its kernels."""
    net, slots = setting.base, setting.num_slots
    questions = setting.questions(2 * slots)
    for index, tile in enumerate(setting.tiles(net)):
        facts: dict[str, Any] = {"tile": vars(tile), "slots": slots}
        try:
            backend = setting.open(net, ExitRule.never(), slots, tile)
        except TileTooLargeError as error:
            results.add(f"tile {index}", **facts, too_large=str(error))
            continue
        running = warmed(backend, questions)
        before = backend.kernel_ns
        results.begin_measurement()
        fed = feed(running, setting.seconds / 4)
        seconds = (backend.kernel_ns - before) / 1e9
        facts |= {"launch_seconds": seconds / fed.batches, "bytes": backend.nbytes}
        facts["board_steps_per_s"] = fed.steps / seconds
        results.add(f"tile {index}", **facts, **_by_kernel(setting, running, net.config))
        del running, backend  # their memory goes to the next


def engine(setting: Setting, results: ResultWriter) -> None:
    """Positions/s with every step taken, and with exits; time without kernels; allocations."""
    net, slots = setting.base, setting.num_slots
    rules = {"fixed T": ExitRule.never(), "exits": ExitRule.from_metadata(net.exit_rule)}
    for name, rule in rules.items():
        backend = setting.open(net, rule, slots)
        running = warmed(backend, setting.questions(3 * slots))
        before, allocated = backend.kernel_ns, _device_allocations(setting)
        results.begin_measurement()
        fed = feed(running, setting.seconds)
        results.add(
            name,
            slots=slots,
            tile=vars(backend.tile),
            positions_per_s=fed.positions / fed.seconds,
            mean_time_steps=fed.steps / max(fed.positions, 1),
            idle_share=1 - (backend.kernel_ns - before) / 1e9 / fed.seconds,
            steps=fed.batches,
            device_allocations=_device_allocations(setting) - allocated,
        )
        del running, backend


def _by_kernel(setting: Setting, running: SlotEngine, config: NetConfig) -> dict[str, Any]:
    """Times of the kernels of some steps; operations/s of the tower while it runs."""
    if not setting.on_gpu:
        return {}
    answered: list[int] = []
    table = traced(
        lambda: answered.append(feed(running, setting.seconds, TRACED_STEPS).steps),
        setting.work / "steps.json.gz",
    )
    tower_us = sum(
        times["total_us"] for name, times in table["kernels"].items() if name.startswith(TOWER)
    )
    facts: dict[str, Any] = {"trace": table}
    if tower_us:
        facts["int8_ops_per_s"] = answered[0] * tower_ops(config) / tower_us * 1e6
    return facts


def tower_ops(config: NetConfig) -> int:
    """int8 operations of a board's time step in the tower; a multiply-accumulate is two."""
    return 2 * 2 * config.blocks * NUM_SQUARES * NUM_TAPS * config.channels**2


def _int8_rate(size: int, setting: Setting) -> float:
    left, right = (
        torch.randint(-127, 128, (size, size), dtype=torch.int8, device=setting.device)
        for _ in range(2)
    )
    return 2 * size**3 / device_seconds(lambda: torch._int_mm(left, right.t()))


def _device_allocations(setting: Setting) -> int:
    """Allocations so far; while steps are taken in steady state there should be none."""
    if not setting.on_gpu:
        return 0
    return int(torch.cuda.memory_stats()["allocation.all.allocated"])
