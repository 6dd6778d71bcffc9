"""Handles of simulated workers: processes that cost nothing, in the place of those that play."""

import json
import mmap
import os
import subprocess
import sys
from collections.abc import MutableSequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import mkstemp
from typing import Any

from vecchess.runtime.signals import way_to_end
from vecchess.selfplay.supervisor.worker_process import WorkerProcess
from vecchess.selfplay.worker.worker import WorkerPlan

PROGRAM = Path(__file__).with_name("worker.py")
NUM_WORDS = 3
"""Of a pulse."""


@dataclass(frozen=True)
class Rates:
    """What each simulated worker does."""

    stats_s: float = 1.0
    """Seconds between statistics."""
    games_per_s: float = 200.0
    shard_games: int = 1024
    life_s: float = 0.0
    """Mean seconds from its first shard until it dies; 0: never. (A parent gives up on a worker
    that dies again and again before that.)"""


class LightProcess:
    """What ``WorkerProcess`` wants of a process, over ``subprocess``."""

    def __init__(self, arguments: list[str], connection: Connection) -> None:
        handle = connection.fileno()
        command = [sys.executable, "-I", "-S", str(PROGRAM), *arguments, str(handle)]
        self._process = subprocess.Popen(command, pass_fds=[handle])

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def exitcode(self) -> int | None:
        """As multiprocessing has it; None while it lives."""
        return self._process.poll()

    def is_alive(self) -> bool:
        """False once it has ended."""
        return self._process.poll() is None

    def end(self) -> None:
        """Kill it and wait for its end."""
        self._process.kill()
        self._process.wait()

    def reason_of_death(self) -> str:
        """Say how it ended."""
        return way_to_end(self._process.wait())

    def last_lines(self) -> list[str]:
        """Return no lines: it writes none."""
        return []


class SimulatedHandle(WorkerProcess):
    """A handle whose process plays by the clock, at ``rates``; words are left in ``words``."""

    rates: Rates
    words: Path

    def _started(self, plan: WorkerPlan, connection: Connection) -> Any:
        handle, pulse = mkstemp(dir=self.words, suffix=".pulse")
        os.truncate(handle, 8 * NUM_WORDS)
        self._pulse: MutableSequence[int] = memoryview(mmap.mmap(handle, 8 * NUM_WORDS)).cast("q")
        os.close(handle)
        orders = asdict(self.rates) | {
            "index": plan.index,
            "seed": plan.shard_prefix,
            "prefix": plan.shard_prefix,
            "games_folder": str(plan.run.games),
            "pulse": pulse,
            "word": str(self.words / f"{plan.shard_prefix}.json"),
        }
        return LightProcess([json.dumps(orders)], connection)


def words_in(folder: Path) -> list[dict[str, Any]]:
    """What workers that have ended had to say."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
