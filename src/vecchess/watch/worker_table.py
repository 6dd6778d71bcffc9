"""The table of workers."""

from typing import Any

from rich.table import Table

from vecchess.monitor.run_status import RunStatus
from vecchess.monitor.status_reader import number
from vecchess.watch.palette import QUIET


def workers(now: RunStatus, width: int) -> Table:
    """A line for all workers together, above all others, and one for each."""
    has_gpu = any(isinstance(one.get("gpu"), dict) for one in now.workers)
    searches = number(now.load, "sims_per_s") > 0
    table = Table(box=None, pad_edge=False, header_style=QUIET, padding=(0, 1, 0, 0), expand=True)
    table.add_column("worker", no_wrap=True)
    table.add_column("stage", no_wrap=True)
    for title in _columns(searches, has_gpu, width):
        table.add_column(title, justify="right", no_wrap=True)
    if len(now.workers) > 1 or (now.load and not now.workers):
        cells = [f"{now.games:,}", *_figures(now.load, searches)]
        gpu = _gpus(now, width) if has_gpu else []
        table.add_row("all", "", *cells, *gpu, style="bold")
    for worker in now.workers:
        name = f"{worker.get('index', '')} {worker.get('device', '')}"
        machine = worker.get("machine", 0)
        name = f"{machine}.{name}" if now.machines > 1 else name
        cells = [f"{number(worker, 'games'):,.0f}", *_figures(worker.get("load"), searches)]
        seated = f" {number(worker, 'seated'):,.0f}" if number(worker, "seated") else ""
        gpu = _gpu(worker.get("gpu"), width) if has_gpu else []
        table.add_row(name, f"{worker.get('stage', '')}{seated}", *cells, *gpu)
    return table


def _columns(searches: bool, has_gpu: bool, width: int) -> list[str]:
    found = ["games", "plies/s", *(["sims/s"] if searches else []), "steps", "fill", "net", "mov"]
    if has_gpu:
        found += ["GPU", "W"] if width < 100 else ["GPU", "memory", "power", "heat"]
    return found


def _figures(load: Any, searches: bool) -> list[str]:
    load = load if isinstance(load, dict) else {}
    if not load:
        return [""] * (6 if searches else 5)
    return [
        f"{number(load, 'plies_per_s'):,.0f}",
        *([f"{number(load, 'sims_per_s'):,.0f}"] if searches else []),
        f"{steps:.2f}" if (steps := number(load, "mean_time_steps")) else "-",
        f"{number(load, 'batch_fill'):.0%}",
        f"{number(load, 'device_busy'):.0%}",
        f"{number(load, 'mover_busy'):.0%}",
    ]


def _gpu(gpu: Any, width: int) -> list[str]:
    if not isinstance(gpu, dict):
        return [""] * (2 if width < 100 else 4)
    use, power = f"{number(gpu, 'util'):.0%}", f"{number(gpu, 'power_w'):.0f}"
    if width < 100:
        return [use, power]
    memory = (
        f"{number(gpu, 'memory_mb') / 1e3:.1f} of {number(gpu, 'memory_total_mb') / 1e3:.0f} GB"
    )
    return [use, memory, f"{power} W", f"{number(gpu, 'temperature_c'):.0f} °C"]


def _gpus(now: RunStatus, width: int) -> list[str]:
    """All GPUs: mean use, and power together."""
    gpus = [one["gpu"] for one in now.workers if isinstance(one.get("gpu"), dict)]
    use = sum(number(gpu, "util") for gpu in gpus) / len(gpus)
    power = f"{sum(number(gpu, 'power_w') for gpu in gpus):,.0f}"
    return [f"{use:.0%}", power] if width < 100 else [f"{use:.0%}", "", f"{power} W", ""]
