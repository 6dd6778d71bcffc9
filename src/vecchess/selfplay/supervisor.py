"""The parent: starts a worker a device, hands out games, keeps the book, replaces the dead."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from secrets import token_hex
from time import monotonic
from types import FrameType
from typing import Any, Protocol

from vecchess.config import SelfplayConfig
from vecchess.errors import DataError, NetworkError, VecchessError, WorkerDied
from vecchess.selfplay.assemble import FEWEST_SLOTS
from vecchess.selfplay.devices import CPU, Device, Share, share_out
from vecchess.selfplay.handle import WorkerHandle
from vecchess.selfplay.ledger import Ledger
from vecchess.selfplay.meter import Load, together
from vecchess.selfplay.pipe import Message, stop_signals
from vecchess.selfplay.worker import WorkerPlan
from vecchess.store.manifest import ShardEntry
from vecchess.store.run_folder import RunFolder
from vecchess.store.stats import GameStats

DRAIN_S = 25.0
"""After the first request to stop, workers have so long to write what they finished."""
MAX_FRUITLESS_DEATHS = 3
"""A worker may die so often in a row without recording a game in between."""
LOADING_S = 300.0
"""A worker may be silent for so long before it plays: the first time, a GPU's kernels compile."""
POLL_S = 0.1


class Watcher(Protocol):
    """Somebody who looks on: the live display, or nobody."""

    def update(self, supervisor: "Supervisor") -> None:
        """Called many times a second."""

    def note(self, line: str) -> None:
        """Something happened that people want to know at once."""


@dataclass(frozen=True)
class RunResult:
    """How a run ended."""

    stats: GameStats
    load: Load
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


class Supervisor:
    """Runs one self-play run from start to end. The only writer of the run's manifest."""

    def __init__(
        self,
        config: SelfplayConfig,
        run: RunFolder,
        net: str,
        devices: list[Device],
        watcher: Watcher,
    ) -> None:
        """Nothing is started before ``run``."""
        self.config = config
        self.ledger = Ledger(run.manifest(), config.games)
        self.devices = devices
        self.workers: dict[int, WorkerHandle] = {}
        self.num_before = self.ledger.num_recorded
        self.restarts = 0
        self.started = monotonic()
        self._run = run
        self._net = net
        self.share: Share = share_out(config, devices, max(self.ledger.num_open, 1))
        self._watcher = watcher
        self._slots = dict.fromkeys(range(len(devices)), self.share.slots)
        self._deaths = dict.fromkeys(range(len(devices)), 0)
        self._session = _next_session(run)
        self._token = token_hex(3)  # a lost parent's workers may still be writing their last shard
        self._stop_reason = ""
        self._must_leave_now = False
        self._loads: dict[int, Load] = {}
        self._recorded_by: dict[int, int] = {}

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return monotonic() - self.started

    @property
    def load(self) -> Load:
        """Recent load of all workers together."""
        return together([worker.meter.recent() for worker in self.workers.values()])

    @property
    def num_finished(self) -> int:
        """Games finished, those that are not written yet included."""
        waiting = sum(
            worker.games - self._recorded_by.get(index, 0) for index, worker in self.workers.items()
        )
        return min(self.ledger.num_recorded + max(waiting, 0), self.ledger.num_target)

    def run(self) -> RunResult:
        """Play until every game is recorded, or a signal asks to stop.

        Raises what a worker cannot get over (a full disk, a bad network), and WorkerDied when
        one dies again and again.
        """
        self.started = monotonic()
        with self._signals():
            try:
                num_workers = min(len(self.devices), self.ledger.num_open)
                for index in range(num_workers):
                    self._start(index, num_workers - index)
                while not (self.ledger.is_complete or self._stop_reason):
                    self._tend()
                self._drain()
            except VecchessError:  # one worker's trouble: keep what the others have finished
                with suppress(VecchessError):
                    self._drain()
                raise
            finally:
                for worker in self.workers.values():
                    worker.kill()
        return RunResult(
            stats=self.ledger.stats,
            load=together(list(self._loads.values())),
            seconds=self.seconds,
            stopped_by="" if self.ledger.is_complete else self._stop_reason,
            restarts=self.restarts,
        )

    def stop(self, reason: str) -> None:
        """Let ``run`` end early: workers write what is finished."""
        self._stop_reason = self._stop_reason or reason

    def _start(self, index: int, num_sharing: int) -> None:
        """Start a worker with its part of the open games, shared with ``num_sharing`` - 1 more."""
        prefix = f"{self._session:04d}-{index:03d}-{self._token}"
        self._session += 1
        self._recorded_by[index] = 0
        plan = WorkerPlan(
            index=index,
            device=self.devices[index],
            config=self.config,
            net=self._net,
            games_folder=self._run.games,
            shard_prefix=prefix,
            share=replace(self.share, slots=self._slots[index]),
        )
        self.workers[index] = WorkerHandle(plan)
        share = -(-self.ledger.num_open // num_sharing)
        self._hand_out(index, min(share, 2 * self.share.games))

    def _tend(self) -> None:
        """One round: read the pipes, look after the workers, show where things stand."""
        self._read_pipes()
        for index, worker in list(self.workers.items()):
            if not worker.is_alive:
                self._bury(index, worker.reason_of_death())
            elif worker.silent_s() > (patience := self._patience(worker)):
                worker.kill()
                silence = f"no sign of life for {patience:g} s"
                self._bury(index, f'{silence} while "{worker.stage}"')
        self._watcher.update(self)

    def _patience(self, worker: WorkerHandle) -> float:
        """Seconds that ``worker`` may be silent."""
        is_compiling = worker.stage == "loading the network" and worker.plan.device != CPU
        return max(self.config.stall_timeout_s, LOADING_S if is_compiling else 0.0)

    def _read_pipes(self) -> None:
        handles = [worker.pipe.connection for worker in self.workers.values()]
        wait([*handles, *(worker.sentinel for worker in self.workers.values())], timeout=POLL_S)
        for index, worker in self.workers.items():
            for message in worker.pipe.receive() or []:
                self._heed(index, worker, message)

    def _heed(self, index: int, worker: WorkerHandle, message: Message) -> None:
        kind = message["kind"]
        if kind == "stats":
            worker.meter.read(message)
            self._loads[index] = worker.meter.overall()
            self._replenish(index, message)
        elif kind == "shard":
            entry = ShardEntry.from_dict(message["entry"])
            self.ledger.record(index, entry)
            self._recorded_by[index] += entry.stats.games
            self._deaths[index] = 0
        elif kind == "note":
            self._watcher.note(f"{worker.name}: {message['line']}")
        elif kind == "failed":
            worker.failure = message

    def _replenish(self, index: int, message: Message) -> None:
        """Keep a few seconds of games with each worker, fewer towards the end."""
        wanted = max(self.share.games // 2, int(2 * self.workers[index].meter.recent().games_per_s))
        if message["unstarted"] < wanted and not self._stop_reason:
            per_worker = -(-self.ledger.num_open // len(self.devices))
            self._hand_out(index, min(wanted - message["unstarted"], per_worker))

    def _hand_out(self, index: int, count: int) -> None:
        ranges = self.ledger.hand_out(index, count)
        if ranges:
            self.workers[index].pipe.send("games", ranges=ranges)

    def _bury(self, index: int, reason: str) -> None:
        """Take a dead worker's games back and start it again, or give up with its error."""
        worker = self.workers.pop(index)
        for message in worker.pipe.receive() or []:
            self._heed_last_words(index, worker, message)
        lost = self.ledger.release(index, worker.plan.shard_prefix)
        failure = worker.failure or {}
        reason = str(failure.get("error", reason))
        if failure.get("expected"):
            raise _as_raised(failure)
        self._watcher.note(f"{worker.name} died: {reason}; {lost} unfinished games will be played")
        if failure.get("out_of_memory"):
            self._slots[index] = max(self._slots[index] // 2, min(FEWEST_SLOTS, self.share.slots))
            self._watcher.note(f"{worker.name} goes on with {self._slots[index]:,} slots")
        if "traceback" in failure:
            self._watcher.note(str(failure["traceback"]).rstrip())
        self._deaths[index] += 1
        if self._deaths[index] >= MAX_FRUITLESS_DEATHS:
            raise WorkerDied(f"{worker.name} died {self._deaths[index]} times in a row: {reason}")
        self.restarts += 1
        self._start(index, len(self.devices))

    def _heed_last_words(self, index: int, worker: WorkerHandle, message: Message) -> None:
        """What a dead worker still had in its pipe; its shards are found by ``release``."""
        if message["kind"] == "failed":
            worker.failure = message

    def _drain(self) -> None:
        """Tell all to stop, and record what they finished."""
        deadline = monotonic() + DRAIN_S
        for worker in self.workers.values():
            worker.stop()
        while self.workers and monotonic() < deadline and not self._must_leave_now:
            self._read_pipes()
            for index, worker in list(self.workers.items()):
                if not worker.is_alive:
                    self._dismiss(index, worker)
            self._watcher.update(self)
        for index, worker in list(self.workers.items()):
            worker.kill()
            self._dismiss(index, worker)

    def _dismiss(self, index: int, worker: WorkerHandle) -> None:
        """A worker that was told to stop has ended: record what it wrote and did not report."""
        for message in worker.pipe.receive() or []:
            self._heed(index, worker, message)
        del self.workers[index]
        self.ledger.release(index, worker.plan.shard_prefix)
        if worker.failure is not None and worker.failure.get("expected"):
            raise _as_raised(worker.failure)
        if worker.failure is not None:
            self._watcher.note(f"{worker.name} died while stopping: {worker.failure['error']}")

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """The first signal asks to stop; a second SIGINT ends everything at once."""

        def handle(number: int, frame: FrameType | None) -> None:
            if self._stop_reason and number == signal.SIGINT:
                self._must_leave_now = True
            self.stop(signal.Signals(number).name)

        previous = {number: signal.signal(number, handle) for number in stop_signals()}
        try:
            yield
        finally:
            for number, action in previous.items():
                signal.signal(number, action)


def _as_raised(failure: Message) -> VecchessError:
    """The error a worker reported, as the command line treats it."""
    kind: type[VecchessError] = NetworkError if failure["exit_code"] == 2 else DataError
    return kind(str(failure["error"]))


def _next_session(run: RunFolder) -> int:
    """A number no shard of the run carries yet."""
    names = [name for name in os.listdir(run.games) if name[:4].isdecimal()]
    return 1 + max((int(name.split("-")[0]) for name in names), default=-1)
