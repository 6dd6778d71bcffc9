"""Which devices a run uses: one worker for each."""

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from pathlib import Path

from vecchess.config import SelfplayConfig
from vecchess.errors import ConfigError
from vecchess.machine_limits import num_cores
from vecchess.runtime.gpu_stats import cpus_near, open_nvml
from vecchess.safe_parse import is_count

CPU_SLOTS = 128
GPU_SLOTS = 4096
GPU_MOVERS, GPU_SEARCH_MOVERS = 4, 6
"""Threads that make moves beside a GPU, without and with search: one makes about a million moves a
second, and every further one costs the central loop some of Python's lock."""
DRIVER_FILES = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
"""NVIDIA's driver, the same under WSL2, AMD's driver."""
COUNT_GPUS = """
import warnings
warnings.formatwarning = lambda text, *_, **__: f"{str(text).splitlines()[0]}\\n"
import torch
print(torch.cuda.device_count())
"""
COUNT_S = 120.0


@dataclass(frozen=True)
class Device:
    """Where one worker computes its network."""

    name: str
    """ "cpu" or "cuda:0": what torch calls it inside the worker."""
    label: str
    """What people call it: "cpu", "gpu 3"."""
    visible: str
    """The worker's CUDA_VISIBLE_DEVICES."""


@dataclass(frozen=True)
class Share:
    """One worker's share of the machine and of the games."""

    slots: int
    """S: positions the network holds at a time."""
    games: int
    """G: games in progress."""
    movers: int
    """Threads that make moves."""
    threads: int
    """Threads of the CPU backend."""


CPU = Device("cpu", "cpu", "")


def visible_gpus() -> list[str]:
    """The GPUs this process may use, as CUDA_VISIBLE_DEVICES spells each of them.

    CUDA is not started here, so that ``see_only`` can still choose. Parts of a GPU (MIG) are those
    that the variable names: a process sees one of them only.
    """
    if not (any(Path(file).exists() for file in DRIVER_FILES) or os.name == "nt"):
        return []  # no driver: spare the seconds that importing torch takes
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    if named and all(name.startswith("MIG-") for name in named):
        return named
    count = _num_gpus()
    return named[:count] if named else [str(index) for index in range(count)]


def _num_gpus() -> int:
    """GPUs that torch can use: by the driver's library (NVML); in a process of its own where there
    is none, as torch then starts CUDA to count them. That says on stderr what ails the driver."""
    import torch

    if not (torch.version.cuda or torch.version.hip):
        return 0
    if torch.version.hip or open_nvml() is not None:
        return torch.cuda.device_count()
    with suppress(OSError, ValueError, subprocess.SubprocessError):
        command = [sys.executable, "-c", COUNT_GPUS]
        return int(subprocess.run(command, stdout=subprocess.PIPE, timeout=COUNT_S).stdout)
    return 0


def parse_gpus(
    text: str, list_gpus: Callable[[], list[str]] = visible_gpus, may_share: bool = False
) -> list[Device]:
    """Devices named by ``--gpus``: auto, all, 0-7, 0,2,5, GPU UUIDs, cpu, cpu:4.

    Numbers count the GPUs this process may use, from 0. ``may_share``: a GPU may be named twice,
    for two workers. Raises ConfigError with what is there.
    """
    text = text.strip()
    if text == "cpu" or text.startswith("cpu:"):
        return [CPU] * _cpu_workers(text)
    gpus = list_gpus()
    if text == "auto":
        return [_gpu(gpus, index) for index in range(len(gpus))] or [CPU]
    if text == "all":
        if not gpus:
            raise ConfigError("--gpus all: there is no GPU here; use --gpus cpu")
        return [_gpu(gpus, index) for index in range(len(gpus))]
    devices = [device for part in text.split(",") for device in _part(part.strip(), text, gpus)]
    if not may_share and len({device.visible for device in devices}) < len(devices):
        raise ConfigError(
            f"--gpus {text}: a GPU is named twice; only self-play may have two workers on one"
        )
    return devices


def _cpu_workers(text: str) -> int:
    _, colon, count = text.partition(":")
    if not colon:
        return 1
    if not is_count(count) or not 1 <= int(count) <= 1024:
        raise ConfigError(f"--gpus {text}: the number of CPU workers must be 1 to 1024")
    return int(count)


def _part(part: str, text: str, gpus: list[str]) -> list[Device]:
    if part.startswith(("GPU-", "MIG-")):
        return [Device("cuda:0", part, part)]
    first, dash, last = part.partition("-")
    if not is_count(first) or (dash and not is_count(last)):
        raise ConfigError(
            f'--gpus {text}: "{part}" is not a number, a range, a GPU UUID, "all", "auto" or "cpu"'
        )
    indices = range(int(first), int(last if dash else first) + 1)
    if not indices:
        raise ConfigError(f"--gpus {text}: the range {part} runs backwards")
    if indices[-1] >= len(gpus):
        there = f"only {len(gpus)} GPUs, 0-{len(gpus) - 1}," if gpus else "no GPU"
        raise ConfigError(f"--gpus {text}: there is {there} here; --gpus cpu uses the processor")
    return [_gpu(gpus, index) for index in indices]


def _gpu(gpus: list[str], index: int) -> Device:
    return Device("cuda:0", f"gpu {index}", gpus[index])


def see_only(device: Device) -> None:
    """Let this process use no other GPU than ``device``; to be called before it touches one.

    Raises ConfigError where CUDA has started here already, and with another GPU.
    """
    if device == CPU:
        return
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0]
    if _has_started_cuda() and first != device.visible:
        raise ConfigError(
            f"{device.label}: this process computes on GPU {first} already; start it with "
            f"CUDA_VISIBLE_DEVICES={device.visible}"
        )
    os.environ["CUDA_VISIBLE_DEVICES"] = device.visible


def seen_among(devices: list[Device]) -> Device:
    """The one of ``devices`` that ``see_only`` left to this process; the first without it."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return next((device for device in devices if device.visible == visible), devices[0])


def _has_started_cuda() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_initialized())


def gpu_uuid() -> str:
    """What the driver calls the GPU this process computes on, "GPU-..."; "" where it uses none."""
    if not _has_started_cuda():
        return ""
    properties = sys.modules["torch"].cuda.get_device_properties(0)
    return f"GPU-{getattr(properties, 'uuid', '')}"


def bind_near(device: Device, least: int) -> None:
    """Keep this process to the cores of its GPU's socket, and with that the memory it takes from
    now on.

    Starts CUDA. Without effect where the driver does not tell the cores, or fewer than ``least``
    of them may be used.
    """
    import torch

    with suppress(RuntimeError, AssertionError):  # what ails it is told where the GPU is opened
        torch.cuda.init()
    uuid = device.visible if device.visible.startswith("MIG-") else gpu_uuid()
    if not uuid or not hasattr(os, "sched_setaffinity"):
        return
    near = cpus_near(uuid) & os.sched_getaffinity(0)
    if len(near) >= least:
        with suppress(OSError):
            os.sched_setaffinity(0, near)


def release_memory() -> None:
    """Free what nothing refers to any more, and give back to the GPU what torch keeps for later:
    other processes need it."""
    gc.collect()
    if _has_started_cuda():
        sys.modules["torch"].cuda.empty_cache()


def share_out(config: SelfplayConfig, devices: list[Device], num_games: int) -> Share:
    """Divide cores and ``num_games`` games among the workers of ``devices``.

    On a processor the network gets every core: one mover makes a thousand times more moves than
    it can judge. Beside a GPU a few cores make moves, and one feeds it.
    """
    cores = max(1, num_cores() // len(devices))
    on_gpu = devices[0] != CPU
    slots = config.slots or (GPU_SLOTS if on_gpu else CPU_SLOTS)
    wanted = config.concurrent_games or 2 * slots
    games = max(1, min(wanted, -(-num_games // len(devices))))
    most = GPU_MOVERS if config.tree.search == "none" else GPU_SEARCH_MOVERS
    movers = config.movers or (min(max(1, cores - 1), most) if on_gpu else 1)
    return Share(min(slots, games), games, min(movers, games), config.threads or cores)


def divide_by_speed(total: int, seconds: Sequence[float], most: int) -> list[int]:
    """Pieces of work for each worker, so that all are ready as early as possible.

    total: equal pieces, at least one a worker; seconds: what each worker needs for one; most: what
    a worker is given at most. The rest is given to none.
    """
    counts = [1] * len(seconds)
    ready = [(2 * each, index) for index, each in enumerate(seconds) if most > 1]
    heapify(ready)
    for _ in range(min(total, most * len(seconds)) - len(seconds)):
        _, index = heappop(ready)
        counts[index] += 1
        if counts[index] < most:
            heappush(ready, ((counts[index] + 1) * seconds[index], index))
    return counts
