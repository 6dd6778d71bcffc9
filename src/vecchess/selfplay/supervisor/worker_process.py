"""The parent's side of one worker: its process, pipe, pulse and throughput (decisions 40, 219)."""

import signal
from collections.abc import MutableSequence, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic

from vecchess.runtime.child_process import ChildProcess
from vecchess.runtime.json_pipe import JsonPipe, Message
from vecchess.selfplay.supervisor.worker_throughput import ThroughputMeter
from vecchess.selfplay.worker.protocol import COMPILING, PULSE_COMPILES, PULSE_STAGE, STAGES
from vecchess.selfplay.worker.worker import WorkerPlan, run_worker
from vecchess.store.blocks import Blocks
from vecchess.store.id_set import IdSet

UNATTENDED_S = 2.0
"""A parent that looks less often than this was stopped itself."""


class WorkerProcess:
    """A running worker; the constructor starts the process."""

    def __init__(self, plan: WorkerPlan) -> None:
        """Start ``plan`` in a spawned process."""
        context = get_context("spawn")
        self.plan = plan
        self.meter = ThroughputMeter()
        self.failure: Message | None = None
        self.gpu = ""
        """UUID of its GPU, once it has reported it."""
        self.net = plan.net
        """Network it plays with."""
        self.games_at_a_time = plan.share.games
        """Games that it has room for: on a GPU it may choose more than its share."""
        self.recorded = 0
        """Games of this generation that its shards hold."""
        self.is_resting = False
        self.is_told_to_stop = False
        self._pulse: MutableSequence[int] = context.RawArray("q", 3)
        parent_end, worker_end = context.Pipe()
        self.pipe = JsonPipe(parent_end)
        self._process = self._started(plan, worker_end)
        worker_end.close()
        self._last_beats = list(self._pulse)
        self._last_beat_time = self._last_look = monotonic()

    def _started(self, plan: WorkerPlan, connection: Connection) -> ChildProcess:
        process = ChildProcess(
            f"vecchess-worker-{plan.index}",
            run_worker,
            (plan, connection, self._pulse),
            ends_with_parent=False,  # its pipe closes: it writes what is finished
            keeps_stderr=True,
        )
        process.start()
        return process

    @property
    def name(self) -> str:
        """Its name in lines for people."""
        return f"worker {self.plan.index} ({self.plan.device.label})"

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid or 0

    @property
    def is_alive(self) -> bool:
        """False once the process has ended."""
        return self._process.is_alive()

    @property
    def stage(self) -> str:
        """What the worker is doing, one of ``STAGES`` or ``COMPILING``."""
        if self._pulse[PULSE_COMPILES] % 2:
            return COMPILING
        return STAGES[self._pulse[PULSE_STAGE]]

    @property
    def has_played(self) -> bool:
        """False while it gets ready, for its first game or with another network: it holds no
        finished game then."""
        return self._pulse[PULSE_STAGE] >= STAGES.index("playing")

    @property
    def games(self) -> int:
        """Games of this generation it has finished, as it last reported."""
        return self.meter.games

    @property
    def saving_age_s(self) -> float | None:
        """Seconds since its games in progress were last saved, or it began to play; None before,
        and while it rests."""
        last = self.meter.last
        if self.is_resting or "saved_s" not in last:
            return None
        return round(monotonic() - float(last["saved_s"]), 1)

    def silent_s(self) -> float:
        """Seconds since the last sign of life; 0 while it rests."""
        if self.is_resting:
            return 0.0
        now = monotonic()
        if now - self._last_look > UNATTENDED_S:  # this process was stopped, and so was the worker
            self._last_beat_time += now - self._last_look
        self._last_look = now
        beats = list(self._pulse)
        if beats != self._last_beats:
            self._last_beats = beats
            self._last_beat_time = now
        return now - self._last_beat_time

    def begin_generation(self, net: str) -> None:
        """Begin a generation, which ``net`` plays. Its games follow."""
        self.meter.begin_generation()
        self.recorded = 0
        if net != self.net:
            self.net = net
            self.pipe.send("net", file=net)

    def send_games(
        self,
        ids: IdSet,
        saved: list[str],
        cuts: Sequence[tuple[Path, str]] = (),
        blocks: Blocks | None = None,
    ) -> None:
        """Send the ids of games or segments to play, names of files in which some are saved, and
        files with the games that segments go on with, each with its sha256. ``blocks``: those that
        the ids are whole ones of, and that are to be shards."""
        self.is_resting = False
        files = [(str(path), sha256) for path, sha256 in cuts]
        self.pipe.send("games", ranges=ids.ranges, saved=saved, cuts=files, blocks=blocks)

    def rest(self) -> None:
        """Ask it to wait without using the processor."""
        self.is_resting = True
        self.pipe.send("rest")

    def stop(self) -> None:
        """Ask it to write finished games, save the others and end."""
        if not self.is_told_to_stop:
            self.is_told_to_stop = True
            self.pipe.send("stop")

    def kill(self) -> None:
        """Kill it."""
        self._process.end()

    @property
    def was_killed(self) -> bool:
        """Whether it ended by SIGKILL, for which a process cannot tell a reason."""
        return self._process.exitcode == -getattr(signal, "SIGKILL", 9)

    def reason_of_death(self) -> str:
        """One line: the error it reported, or the signal or exit code it ended with."""
        if self.failure is not None:
            return str(self.failure["error"])
        return self._process.reason_of_death()

    def last_lines(self) -> list[str]:
        """The last lines that it wrote to stderr; it has ended."""
        return self._process.last_lines()
