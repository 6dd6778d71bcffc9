"""Slot counts in self-play: measured for a device and a network, remembered, taken up again."""

import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isinf
from pathlib import Path
from typing import Any

from vecchess.config import SelfplayConfig
from vecchess.errors import ConfigError
from vecchess.inference.backend import Backend
from vecchess.inference.backend_registry import choose_backend, open_backend
from vecchess.inference.open_network import exit_rule_of
from vecchess.inference.playable_net import BuiltInNet, PlayableNet, PlayableSizes
from vecchess.inference.tune.slot_search import (
    Rung,
    SlotLimits,
    backend_nbytes,
    choose_count,
    ladder,
    measure_counts,
)
from vecchess.inference.tune.tuning_cache import (
    TuningKey,
    load_slots,
    store_tuned,
    tuning_alone,
)
from vecchess.machine_limits import machine_limits
from vecchess.runtime.devices import CPU, GPU_SLOTS, Device, Share, release_memory, share_out
from vecchess.runtime.reporting import ReportLine
from vecchess.selfplay.worker.memory_plan import halved, keeps_to_memory
from vecchess.selfplay.worker.networks import require_playable
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.snn.integer.net_file import load_net

CPU_LADDER = ladder(32, 2048)
GPU_LADDER = ladder(512, 1 << 16)
NUM_QUESTIONS, QUESTION_SEED = 1024, 0
LONGEST_MS = 2000.0
"""Slot counts with slower answers are not chosen, whatever their throughput."""
SHARE_OF_GPU, SHARE_OF_HOST = 0.8, 0.25
"""What of the free memory of a GPU, and of all memory of the host, slots may take by default."""
MANY_GAMES = 1 << 40

Tell = Callable[[Rung], object]


@dataclass(frozen=True)
class Tuned:
    """What was measured and chosen for one device and network."""

    device: str
    rungs: list[Rung]
    chosen: Rung
    limits: SlotLimits
    remembered: bool
    """False where the user's cache directory cannot be written to."""

    def to_dict(self) -> dict[str, Any]:
        """Everything about it, ready for JSON."""
        return {
            "device": self.device,
            "memory_bytes": self.limits.nbytes,
            "limit_ms": self.limits.latency_ms,
            "ladder": [rung.to_dict() for rung in self.rungs],
            "slots": self.chosen.slots,
            "remembered": self.remembered,
        }


def tune(
    config: SelfplayConfig,
    network: PlayableNet,
    devices: list[Device],
    limits: SlotLimits | None = None,
    tell: Tell = lambda rung: None,
) -> Tuned:
    """Measure slot counts on the first of ``devices`` in this process; remember the one to use.

    Where ``limits`` leave it open, those of this machine hold. Raises NetworkError or ConfigError
    for a network or backend that will not do, ConfigError where no count keeps to the limits.
    """
    require_playable(network, config.net)
    if isinstance(network, BuiltInNet):
        raise ConfigError(f'"{config.net}" has no network to tune: name a network file or a preset')
    device, share = devices[0], share_out(config, devices, MANY_GAMES)
    defaults, limits = default_limits(device), limits or SlotLimits()
    limits = SlotLimits(limits.nbytes or defaults.nbytes, limits.latency_ms or defaults.latency_ms)

    def open_with(slots: int) -> Backend:
        rule = exit_rule_of(network, config.exits)
        return open_backend(config.backend, network, slots, rule, device.name, share.threads)

    sizes = CPU_LADDER if device == CPU else GPU_LADDER
    questions = random_requests(NUM_QUESTIONS, QUESTION_SEED, network.config.num_planes)
    rungs = measure_counts(open_with, questions, sizes, limits, tell, _held(device))
    release_memory()
    chosen = choose_count(rungs, limits)
    place = _place(config, network.config, device, share)
    return Tuned(place.device, rungs, chosen, limits, store_tuned(place, chosen.to_dict()))


def with_remembered_slots(
    config: SelfplayConfig, sizes: PlayableSizes, devices: list[Device]
) -> SelfplayConfig:
    """``config`` with the slot count remembered for this processor, where it leaves it open and
    ``tree_mb`` and the memory suffice for it.

    sizes: the network's. GPUs are looked at by their workers: asking one for its name starts CUDA
    in this process.
    """
    if config.slots or sizes.kind == "built-in" or devices[0] != CPU:
        return config
    share = share_out(config, devices, MANY_GAMES)
    slots = load_slots(_place(config, sizes, CPU, share))
    if slots is None:
        return config
    remembered = config.model_copy(update={"slots": slots})
    share = share_out(remembered, devices, MANY_GAMES)
    return remembered if keeps_to_memory(config.tree, share, devices) else config


def tuned_share(
    config: SelfplayConfig,
    net: str,
    device: Device,
    num_workers: int,
    share: Share,
    report_line: ReportLine,
    tell: Tell,
) -> Share:
    """A GPU worker's share with the number of slots that suits its device and network, or as many
    as ``tree_mb`` and the memory, which so many workers have in common, suffice for.

    Takes the count that is remembered, else measures, which takes seconds: this is reported, and
    ``tell`` gets every rung. A share that was chosen by the user, or that is smaller than usual
    because there are few games or little memory, stays as it is.
    """
    if device == CPU or config.slots or share.slots < GPU_SLOTS or not Path(net).is_file():
        return share
    network = load_net(Path(net))
    key = _place(config, network.config, device, share)
    slots = load_slots(key)
    if slots is None:
        with tuning_alone(key):  # workers of other GPUs wait for the first, and take its count
            slots = load_slots(key) or _measured(config, network, device, report_line, tell)
    games = config.concurrent_games or 2 * slots
    tuned, devices = replace(share, slots=min(slots, games), games=games), [device] * num_workers
    while tuned.games > share.games and not keeps_to_memory(config.tree, tuned, devices):
        tuned = halved(tuned)
    return tuned


def _measured(
    config: SelfplayConfig,
    network: PlayableNet,
    device: Device,
    report_line: ReportLine,
    tell: Tell,
) -> int:
    """The slot count that ``tune`` chooses; people are told of it."""
    report_line("trying how many slots suit this device and network (once) ...")
    tuned = tune(config, network, [device], None, tell)
    slots, speed = tuned.chosen.slots, tuned.chosen.positions_per_s
    report_line(f"{slots:,} slots, {speed:,.0f} positions/s on {tuned.device}")
    return slots


def default_limits(device: Device) -> SlotLimits:
    """Limits of tuning by default: most of a free GPU, a quarter of the host's memory."""
    if device == CPU:
        memory = machine_limits().memory.amount
        most = None if isinf(memory) else int(memory * SHARE_OF_HOST)
        return SlotLimits(most, LONGEST_MS)
    import torch

    free, _ = torch.cuda.mem_get_info()
    return SlotLimits(int(free * SHARE_OF_GPU), LONGEST_MS)


def _held(device: Device) -> Callable[[Backend], int]:
    """How to learn what a backend holds: on a GPU from the allocator, graphs' pools included."""
    if device == CPU:
        return backend_nbytes

    def allocated(backend: Backend) -> int:
        import torch

        return max(torch.cuda.memory_allocated(), backend_nbytes(backend))

    return allocated


def _place(config: SelfplayConfig, sizes: PlayableSizes, device: Device, share: Share) -> TuningKey:
    backend = choose_backend(config.backend, sizes, device.name).name
    return TuningKey.of("slots", _model(device, share.threads), backend, sizes)


def _model(device: Device, threads: int) -> str:
    """The device's model; a processor with the number of threads it may use."""
    if device != CPU:
        import torch

        return str(torch.cuda.get_device_name())
    name = platform.processor() or platform.machine()
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        lines = facts.read_text(errors="replace").splitlines()
        models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        name = models[0] if models else name
    return f"{name}, {threads} thread{'s' if threads > 1 else ''}"
