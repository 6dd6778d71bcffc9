"""Writes down how games go while they are played, for whoever looks into the run's folder."""

from collections.abc import Callable
from time import monotonic
from typing import Any

from vecchess.runtime.gpu_stats import GpuStats
from vecchess.selfplay.supervisor.supervisor import SelfplayWatcher, Supervisor
from vecchess.selfplay.supervisor.worker_process import WorkerProcess
from vecchess.store.status_file import StatusWriter

STATUS_INTERVAL_S = 1.0
LOAD_INTERVAL_S = 5.0
Keep = Callable[[dict[str, Any]], object]
"""Takes a line about the load, ready for JSON."""


class StatusWatcher:
    """A watcher that tells a ``StatusWriter``, and in turn lets another watcher look on."""

    def __init__(self, shown: SelfplayWatcher, status: StatusWriter, keep: Keep) -> None:
        """``keep`` gets the load every few seconds; ``shown`` is what people see."""
        self._shown, self._status, self._keep = shown, status, keep
        self._telemetry = GpuStats()
        self._next_status = self._next_load = 0.0

    def note(self, line: str) -> None:
        """See ``SelfplayWatcher``."""
        self._status.add_note(line)
        self._shown.note(line)

    def update(self, campaign: Supervisor) -> None:
        """See ``SelfplayWatcher``."""
        self._shown.update(campaign)
        now = monotonic()
        if now < self._next_status and not campaign.ledger.is_complete:
            return
        self._next_status = now + STATUS_INTERVAL_S
        gpus = self._telemetry.read([worker.gpu for worker in campaign.workers.values()])
        self._status.update(**facts_of(campaign, gpus))
        if now >= self._next_load and campaign.load.plies_per_s:
            self._next_load = now + LOAD_INTERVAL_S
            line = {"games": campaign.num_finished, **campaign.load.to_dict()}
            self._keep(line | _means([gpus[key] for key in gpus]))


def facts_of(campaign: Supervisor, gpus: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Where a generation stands, by the names of ``status.json``."""
    return {
        "state": "playing",
        "net": campaign.net_name,
        "games": campaign.num_finished,
        "target": campaign.ledger.num_target,
        "eta_s": campaign.remaining_s,
        "load": campaign.load.to_dict(),
        "workers": [
            _worker_facts(index, worker, gpus) for index, worker in sorted(campaign.workers.items())
        ],
        "stats": campaign.ledger.stats.to_dict(),
        "restarts": campaign.restarts,
    }


def _worker_facts(
    index: int, worker: WorkerProcess, gpus: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    facts = {
        "index": index,
        "device": worker.plan.device.label,
        "stage": worker.stage,
        "games": worker.games,
        "seated": worker.meter.last.get("seated", 0),
        "load": worker.meter.recent().to_dict(),
    }
    return facts | ({"gpu": gpus[worker.gpu]} if worker.gpu in gpus else {})


def _means(gpus: list[dict[str, Any]]) -> dict[str, float]:
    """Of all GPUs, by the names of a line of metrics."""
    names = ("util", "memory_mb", "power_w") if gpus else ()
    return {
        f"gpu_{name}": round(sum(gpu.get(name, 0.0) for gpu in gpus) / len(gpus), 3)
        for name in names
    }
