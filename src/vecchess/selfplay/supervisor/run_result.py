"""How a generation of games, or a whole run, ended."""

from dataclasses import dataclass
from typing import Any

from vecchess.selfplay.supervisor.worker_throughput import Throughput
from vecchess.store.stats import GameStats


@dataclass(frozen=True)
class RunResult:
    """What one ``play`` of a campaign came to."""

    stats: GameStats
    """Counts over all recorded games of the generation, those recorded before included."""
    load: Throughput
    seconds: float
    stopped_by: str
    """Name of the signal, or other reason, that ended it early, or ""."""
    restarts: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for ``--json`` and ``status.json``."""
        return {
            "seconds": round(self.seconds, 3),
            "stopped_by": self.stopped_by,
            "restarts": self.restarts,
            "mean_length": round(self.stats.mean_length, 2),
            "mean_visits": round(self.stats.mean_visits, 2),
            **self.stats.to_dict(),
            **self.load.to_dict(),
        }
