"""Writes the state of self-play to ``status.json`` and the terminal, its throughput to metrics."""

from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

from vecchess.errors import WriteLater
from vecchess.runtime.gpu_stats import GpuStats
from vecchess.runtime.progress import PLAIN_INTERVAL_S, ProgressDisplay
from vecchess.selfplay.supervisor.status_view import show_status
from vecchess.selfplay.supervisor.supervisor import SelfplayWatcher, Supervisor
from vecchess.selfplay.supervisor.worker_process import WorkerProcess
from vecchess.store.metrics import THROUGHPUT, MetricsLog
from vecchess.store.status_file import StatusWriter

STATUS_INTERVAL_S = 1.0
METRICS_INTERVAL_S = 5.0
WriteMetrics = Callable[[dict[str, Any]], object]
"""Takes a line about the throughput, ready for JSON."""


class StatusWatcher(SelfplayWatcher):
    """Updates a ``StatusWriter``, draws what it then says for people, and measures the throughput.

    It watches this machine's workers; where others play, their executor calls ``show``.
    """

    is_shown = True
    """False while something else goes on that people see instead, such as learning."""

    def __init__(
        self, display: ProgressDisplay, status: StatusWriter, write_metrics: WriteMetrics
    ) -> None:
        """``write_metrics`` gets the throughput every few seconds."""
        self._display, self._status, self._write_metrics = display, status, write_metrics
        self._gpu_stats = GpuStats()
        self._next_status = self._next_metrics = 0.0

    def report_line(self, line: str) -> None:
        """Keep a line for people in the status, and print it."""
        self._status.add_note(line)
        self._display.print(line)

    def log_event(self, event: str, **facts: Any) -> None:
        """Write an event to the run log."""
        self._status.log.write(event, **facts)

    def update(self, supervisor: Supervisor) -> None:
        """Write and draw the state if it is time to; a generation that is complete leaves no
        drawing."""
        now, is_complete = monotonic(), supervisor.ledger.is_complete
        is_over = not supervisor.workers or is_complete
        if now < self._next_status and not is_over:
            return
        self._next_status = now + STATUS_INTERVAL_S
        gpus = self._gpu_stats.read([worker.gpu for worker in supervisor.workers.values()])
        has_lasted = self._display.is_live or supervisor.seconds >= PLAIN_INTERVAL_S
        facts = status_of(supervisor, gpus)
        self.show(facts, list(gpus.values()), is_drawn=has_lasted and not is_complete)
        if is_complete and self.is_shown:
            self._display.draw("")

    def show(
        self, facts: dict[str, Any], gpus: list[dict[str, Any]] | None = None, is_drawn: bool = True
    ) -> None:
        """Take the state of a generation that is played, by the names of ``status.json``.

        gpus: readings for the metrics. is_drawn: people see it, if they are to see games now.
        """
        self._status.update(**(facts | {"state": "playing"} if self.is_shown else facts))
        if self.is_shown and is_drawn:
            show_status(self._display, lambda: self._status.facts)
        now, load = monotonic(), facts["load"]
        if now >= self._next_metrics and load["plies_per_s"]:
            self._next_metrics = now + METRICS_INTERVAL_S
            self._write_metrics({"games": facts["games"], **load, **_means(gpus or [])})


def status_of(supervisor: Supervisor, gpus: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What is known of a generation, by the names of ``status.json``."""
    positions, positions_target = supervisor.positions
    return {
        "net": supervisor.net_name,
        "games": supervisor.num_finished,
        "unwritten_games": supervisor.num_unwritten,
        "target": supervisor.target,
        "positions": positions,
        "positions_target": positions_target,
        "eta_s": supervisor.remaining_s,
        "load": supervisor.throughput.to_dict(),
        "workers": [
            _worker_status(index, worker, gpus)
            for index, worker in sorted(supervisor.workers.items())
        ],
        "stats": supervisor.ledger.stats.to_dict(),
        "restarts": supervisor.assigner.restarts,
    }


def _worker_status(
    index: int, worker: WorkerProcess, gpus: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    status = {
        "index": index,
        "device": worker.plan.device.label,
        "stage": worker.stage,
        "games": worker.games,
        "seated": worker.meter.last.get("seated", 0),
        "saving_age_s": worker.saving_age_s,
        "load": worker.meter.recent().to_dict(),
    }
    return status | ({"gpu": gpus[worker.gpu]} if worker.gpu in gpus else {})


def _means(gpus: list[dict[str, Any]]) -> dict[str, float]:
    """Means over all GPUs, by the names of a line of metrics."""
    names = ("util", "memory_mb", "power_w") if gpus else ()
    return {
        f"gpu_{name}": round(sum(gpu.get(name, 0.0) for gpu in gpus) / len(gpus), 3)
        for name in names
    }


def write_throughput(log: MetricsLog, throughput: dict[str, Any]) -> None:
    """Write a line to the log of a self-play run, or drop it if the disk is full or too many files
    are open.

    TensorBoard counts its steps in games. Raises DataError where the disk refuses for another
    reason.
    """
    with suppress(WriteLater):
        log.write(THROUGHPUT, iteration=0, step=0, samples=0, values=throughput)
        log.plot(THROUGHPUT, throughput["games"], throughput)
