"""Which devices a run uses: one worker for each."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from pathlib import Path

from vecchess.config import SelfplayConfig
from vecchess.errors import ConfigError
from vecchess.machine_limits import num_cores

CPU_SLOTS = 128
GPU_SLOTS = 4096


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
    """The GPUs this process may use, as CUDA_VISIBLE_DEVICES spells each of them."""
    if not (Path("/dev/nvidiactl").exists() or Path("/dev/kfd").exists() or os.name == "nt"):
        return []  # no driver: spare the seconds that importing torch takes
    import torch

    count = torch.cuda.device_count()
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return named[:count] if named else [str(index) for index in range(count)]


def parse_gpus(text: str, list_gpus: Callable[[], list[str]] = visible_gpus) -> list[Device]:
    """Devices named by ``--gpus``: auto, all, 0-7, 0,2,5, GPU UUIDs, cpu, cpu:4.

    Numbers count the GPUs this process may use, from 0. Raises ConfigError with what is there.
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
    if len({device.visible for device in devices}) < len(devices):
        raise ConfigError(f"--gpus {text}: a GPU is named twice")
    return devices


def _cpu_workers(text: str) -> int:
    _, colon, count = text.partition(":")
    if not colon:
        return 1
    if not count.isdecimal() or not 1 <= int(count) <= 1024:
        raise ConfigError(f"--gpus {text}: the number of CPU workers must be 1 to 1024")
    return int(count)


def _part(part: str, text: str, gpus: list[str]) -> list[Device]:
    if part.startswith(("GPU-", "MIG-")):
        return [Device("cuda:0", part, part)]
    first, dash, last = part.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
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
    """Let this process use no other GPU than ``device``; to be called before it touches one."""
    if device != CPU:
        os.environ["CUDA_VISIBLE_DEVICES"] = device.visible


def gpu_uuid() -> str:
    """What the driver calls the GPU this process computes on, "GPU-..."; "" where it uses none."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return ""
    return f"GPU-{getattr(torch.cuda.get_device_properties(0), 'uuid', '')}"


def share_out(config: SelfplayConfig, devices: list[Device], num_games: int) -> Share:
    """Divide cores and ``num_games`` games among the workers of ``devices``.

    On a processor the network gets every core: one mover makes a thousand times more moves than
    it can judge. Beside a GPU all cores but one, which feeds it, make moves.
    """
    cores = max(1, num_cores() // len(devices))
    on_gpu = devices[0] != CPU
    slots = config.slots or (GPU_SLOTS if on_gpu else CPU_SLOTS)
    wanted = config.concurrent_games or 2 * slots
    games = max(1, min(wanted, -(-num_games // len(devices))))
    movers = config.movers or (max(1, cores - 1) if on_gpu else 1)
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
