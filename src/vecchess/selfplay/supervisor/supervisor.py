"""The parent: generations of games, one after the other, played by the same workers.

A ``WorkAssigner`` assigns games and replaces dead workers; the supervisor decides when workers
start, rest and stop. Between two generations they rest unattended: a worker that dies meanwhile is
replaced when the next generation begins.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, Self

from vecchess.config import BUILT_IN_NETS, SelfplayConfig
from vecchess.config.settings import MOST_GAMES
from vecchess.errors import VecchessError
from vecchess.runtime.devices import Device, Share
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.supervisor.cut_finder import FindCuts
from vecchess.selfplay.supervisor.work_assigner import WorkAssigner
from vecchess.selfplay.supervisor.worker_pool import POLL_S
from vecchess.selfplay.supervisor.worker_throughput import Throughput, combined_throughput
from vecchess.selfplay.worker.memory_plan import fitting_share, keeps_to_memory
from vecchess.selfplay.worker.precompile import Precompiler
from vecchess.store.blocks import Blocks
from vecchess.store.id_set import IdSet
from vecchess.store.run_folder import RunFolder
from vecchess.store.seating import Seating
from vecchess.store.stats import GameStats

DRAIN_S = 15.0
"""Time for workers to write what they finished after the first request to stop: of the 25 s in
which a whole run is to end, some are left for a checkpoint."""
MOST_REMAINING_S = 10 * 365 * 86400.0
HEARTBEAT_S = 0.5
"""How often the caller's heartbeat is called while games are played."""


class SelfplayWatcher:
    """What follows a run: a live display, a status file. This one does nothing."""

    def update(self, supervisor: "Supervisor") -> None:
        """Called many times a second, and once when a generation is over."""

    def report_line(self, line: str) -> object:
        """Take a line for people about something that happened."""

    def log_event(self, event: str, **facts: Any) -> None:
        """Take an event for the run log, and its facts."""


@dataclass(frozen=True)
class LineWatcher(SelfplayWatcher):
    """A watcher that shows no progress: lines are all that it passes on."""

    on_line: ReportLine = no_report
    on_update: Callable[[], None] = lambda: None
    """Called instead of showing anything."""

    def report_line(self, line: str) -> None:
        """Pass it on."""
        self.on_line(line)

    def update(self, supervisor: "Supervisor") -> None:
        """Let the caller do what it has to do many times a second."""
        self.on_update()


@dataclass(frozen=True)
class RunResult:
    """How a generation of games, or a whole run, ended."""

    stats: GameStats
    """Counts over all recorded games of the generation, those recorded before included."""
    throughput: Throughput
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
            **self.throughput.to_dict(),
        }


def remaining_s(before: int, done: int, wanted: int, seconds: float) -> float | None:
    """Seconds left at the rate so far, where ``done`` of the games ``wanted`` are played, and
    ``before`` were so many ``seconds`` ago; None where no game was finished since, there is no end,
    or it is further off than MOST_REMAINING_S."""
    left_s = (wanted - done) * seconds / (done - before) if done > before else inf
    return round(left_s, 1) if left_s <= MOST_REMAINING_S else None


def no_heartbeat() -> str:
    """Heartbeat of a caller that has nothing to do meanwhile."""
    return ""


class Supervisor:
    """Generations of one run, of which it is the only writer. To be used in a ``with``."""

    def __init__(
        self,
        config: SelfplayConfig,
        run: RunFolder,
        devices: list[Device],
        watcher: SelfplayWatcher,
        stops: StopSignals | None = None,
        seating: Seating | None = None,
        find_cuts: FindCuts | None = None,
    ) -> None:
        """No worker is started before ``play``. Raises DataError for a damaged manifest.

        seating: of a training: segments are played in place of games, so that below ids are those
        of segments. find_cuts: of somebody who plays blocks of a run that is elsewhere.
        stops: ends ``play`` early; the caller enters it for as long as signals are to be handled.
        None: only ``stop`` does.
        """
        self.config = config
        self.devices = devices
        self.assigner = WorkAssigner(
            config, run, devices, watcher.report_line, watcher.log_event, seating, find_cuts
        )
        self.ledger = self.assigner.ledger
        self.workers = self.assigner.pool.workers
        self._stops = stops or StopSignals()
        self._watcher = watcher
        self._seating = seating
        self._net = ""
        self._start = monotonic()
        self._num_before = 0
        self._stop_requested = ""
        self._next_heartbeat = 0.0

    def __enter__(self) -> Self:
        """Return itself; workers start with ``play``."""
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """End the resting workers; kill them where an unforeseen error was raised."""
        try:
            if error is None or issubclass(error, VecchessError):
                with suppress(VecchessError):
                    self._drain()
        finally:
            self.assigner.pool.kill()

    @property
    def seconds(self) -> float:
        """Time since the generation began."""
        return monotonic() - self._start

    @property
    def throughput(self) -> Throughput:
        """Recent throughput of all workers together."""
        return combined_throughput([worker.meter.recent() for worker in self.workers.values()])

    @property
    def num_unwritten(self) -> int:
        """Games of the generation that are finished, and not recorded yet."""
        waiting = sum(worker.games - worker.recorded for worker in self.workers.values())
        return max(waiting, 0) + self.assigner.num_unrecorded

    @property
    def num_finished(self) -> int:
        """Games of the generation that are finished, those that are not written yet included."""
        if self._seating is not None:
            return self.ledger.stats.games + self.num_unwritten
        return min(self.ledger.num_recorded + self.num_unwritten, len(self.ledger.target))

    @property
    def target(self) -> int:
        """Games of the generation; 0 where there is no end, or positions are counted."""
        return 0 if self._seating is not None else len(self.ledger.target) % MOST_GAMES

    @property
    def positions(self) -> tuple[int, int]:
        """Positions of a training's generation that were played, and all; (0, 0) without one."""
        if self._seating is None:
            return 0, 0
        turns, ledger = self._seating.turns, self.ledger
        played = sum(worker.meter.plies for worker in self.workers.values())
        wanted = len(ledger.target) * turns
        done = wanted if ledger.is_complete else min(self._num_before * turns + played, wanted)
        return done, wanted

    @property
    def remaining_s(self) -> float | None:
        """The time left of the generation, see ``remaining_s``."""
        done, wanted = self.num_finished, len(self.ledger.target)
        before = self._num_before
        if self._seating is not None:
            done, wanted = self.positions
            before *= self._seating.turns
        return remaining_s(before, done, wanted, self.seconds)

    @property
    def net_name(self) -> str:
        """The network that plays: a file of the run's ``nets``, or a built-in one."""
        return self._net if self._net in BUILT_IN_NETS else Path(self._net).name

    def stop(self, reason: str) -> None:
        """Let ``play`` end early: workers write what is finished."""
        self._stop_requested = self._stop_requested or reason

    def play(self, net: str, ids: IdSet, heartbeat: Callable[[], str] = no_heartbeat) -> RunResult:
        """Play the games ``ids`` with ``net`` until all are recorded, or a stop is requested.

        net: a network file, which does not change under its name, of the same sizes as the one
        before, or the name of a built-in one. heartbeat: called at least once a second meanwhile; a
        result other than "" is a reason to stop.

        Raises a worker's error that no restart can help (a bad network, a broken disk), and
        WorkerDied when a worker dies again and again. What was finished is recorded then, and all
        workers have ended.
        """
        try:
            self.begin(net, ids, heartbeat=heartbeat)
            while not self._is_over:
                self.poll(heartbeat)
            self.rest(heartbeat)
        except VecchessError:  # one worker's error: keep what the others have finished
            with suppress(VecchessError):
                self._drain()
            raise
        return RunResult(
            stats=self.ledger.stats,
            throughput=self.assigner.overall_throughput(),
            seconds=self.seconds,
            stopped_by="" if self.ledger.is_complete else self._stop_reason,
            restarts=self.assigner.restarts,
        )

    def begin(
        self,
        net: str,
        ids: IdSet,
        blocks: Blocks | None = None,
        heartbeat: Callable[[], str] = no_heartbeat,
    ) -> None:
        """Begin a generation as ``play`` does; ``ids`` are whole ones of ``blocks``, if given, and
        ``assigner.add`` adds others. To be followed by ``poll`` again and again, then ``rest``."""
        self._begin_generation(net, ids, blocks)
        if not self._is_over and self._make_room(blocks, heartbeat):
            self.assigner.start_workers()

    def poll(self, heartbeat: Callable[[], str] = no_heartbeat, timeout_s: float = POLL_S) -> None:
        """One round of a generation: record what workers have written, replace dead ones. Waits so
        long for a message."""
        self.assigner.poll(timeout_s)
        self._watcher.update(self)
        self._call_heartbeat(heartbeat)

    def rest(self, heartbeat: Callable[[], str] = no_heartbeat) -> None:
        """Let the workers rest after a generation, or end them where a stop was requested."""
        if self.ledger.is_complete:
            self.assigner.end_generation()
        else:
            self._drain(heartbeat)
        self._watcher.update(self)

    @property
    def _stop_reason(self) -> str:
        return self._stops.reason or self._stop_requested

    @property
    def _is_over(self) -> bool:
        return self.ledger.is_complete or bool(self._stop_reason)

    def _begin_generation(self, net: str, ids: IdSet, blocks: Blocks | None) -> None:
        """Begin a new generation: counts of the last one are reset."""
        self.assigner.begin_generation(net, ids, blocks)
        self._start = monotonic()
        self._num_before = self.ledger.num_recorded
        if net != self._net:
            self._net = net
            self._watcher.log_event("network", net=self.net_name)
        self._stop_requested = ""
        self._next_heartbeat = 0.0

    def _make_room(self, blocks: Blocks | None, heartbeat: Callable[[], str]) -> bool:
        """Restart the workers with a larger share if the games to be played need one.

        False where a stop was requested while kernels were compiled for that.
        """
        num_games = blocks.end - blocks.first if blocks else self.ledger.num_open
        share = fitting_share(self.config, self.devices, num_games)
        if self._seating is not None:
            share = self._room_for_seats(share)
        if not self.workers or share.games > self.assigner.share.games:
            self._drain()
            self.assigner.share = share
            config = self.config.model_copy(update={"net": self._net})
            with Precompiler(config, self._watcher.report_line, self.devices) as precompiler:
                return precompiler.finish(self._net, lambda: self._must_stop(heartbeat))
        return True

    def _room_for_seats(self, share: Share) -> Share:
        """``share`` for a training: half of the games wait for a slot, and a fast worker has room
        for twice its even share, as far as memory allows."""
        games, count = share.games, len(self.devices)
        if not self.config.slots:
            share = replace(share, slots=min(share.slots, -(-games // 2)))
        if count == 1 or self.config.concurrent_games:
            return share
        larger = replace(share, games=min(2 * games, self.ledger.num_open))
        return larger if keeps_to_memory(self.config.tree, larger, self.devices) else share

    def _must_stop(self, heartbeat: Callable[[], str]) -> bool:
        self._watcher.update(self)
        self._call_heartbeat(heartbeat)
        return self._is_over

    def _call_heartbeat(self, heartbeat: Callable[[], str]) -> None:
        if monotonic() >= self._next_heartbeat:
            self._next_heartbeat = monotonic() + HEARTBEAT_S
            self.stop(heartbeat())

    def _drain(self, heartbeat: Callable[[], str] = no_heartbeat) -> None:
        """Stop all workers, and record what they finished. Raises their first error at the end."""
        deadline = monotonic() + DRAIN_S
        errors: list[VecchessError] = []
        for worker in self.workers.values():
            worker.stop()
            if not worker.has_played:  # it reads messages only once it has imported and compiled
                worker.kill()
        while self.workers:
            if monotonic() > deadline or self._stops.must_exit_now:
                self.assigner.pool.kill()
            self.assigner.poll_stopping(errors)
            self._call_heartbeat(heartbeat)
            self._watcher.update(self)
        if errors:
            raise errors[0]
