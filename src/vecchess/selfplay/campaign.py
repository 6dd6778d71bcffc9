"""The parent: generations of games, one after the other, played by the same workers.

It hands out games, keeps the book and replaces the dead. Between two generations workers rest, and
nobody looks after them: one that dies meanwhile is missed when the next generation begins.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Protocol, Self

from vecchess.config import SelfplayConfig
from vecchess.errors import DataError, NetworkError, VecchessError, WorkerDied
from vecchess.selfplay.crew import Crew
from vecchess.selfplay.devices import Device, Share, share_out
from vecchess.selfplay.handle import WorkerHandle
from vecchess.selfplay.ledger import Ledger
from vecchess.selfplay.meter import Load, together
from vecchess.selfplay.number_set import Range
from vecchess.selfplay.pipe import Message
from vecchess.selfplay.result import RunResult
from vecchess.selfplay.stop_signals import StopSignals
from vecchess.selfplay.warmup import Warmup
from vecchess.store.manifest import ShardEntry
from vecchess.store.run_folder import RunFolder

DRAIN_S = 25.0
"""After the first request to stop, workers have so long to write what they finished."""
MAX_FRUITLESS_DEATHS = 3
"""A worker may die so often in a row without recording a game in between."""
PULSE_S = 0.5
"""How often the caller hears that games are being played."""


class Watcher(Protocol):
    """Somebody who looks on: the live display, or nobody."""

    def update(self, campaign: "Campaign") -> None:
        """Called many times a second."""

    def note(self, line: str) -> None:
        """Something happened that people want to know at once."""


def no_pulse() -> str:
    """The caller has nothing to do meanwhile."""
    return ""


class Campaign:
    """Generations of one run. The only writer of the run's manifest; use it in a ``with``."""

    def __init__(
        self,
        config: SelfplayConfig,
        run: RunFolder,
        devices: list[Device],
        watcher: Watcher,
        stops: StopSignals | None = None,
    ) -> None:
        """No worker is started before ``play``. Raises DataError for a damaged manifest.

        stops: what ends ``play`` early; the caller enters it for as long as it wants to heed
        signals. None: nothing but ``stop``.
        """
        self.config = config
        self.devices = devices
        self.ledger = Ledger(run.manifest())
        self.share: Share = share_out(config, devices, 1)
        self.restarts = 0
        self.started = monotonic()
        self.num_before = 0
        self._stops = stops or StopSignals()
        self._watcher = watcher
        self._crew = Crew(config, run, devices)
        self._net = ""
        self._asked_to_stop = ""
        self._next_pulse = 0.0
        self._loads: dict[int, Load] = {}
        self._deaths: Counter[int] = Counter()

    def __enter__(self) -> Self:
        """Nothing happens yet."""
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """End all workers, which rest; at once where something went wrong that nobody foresaw."""
        try:
            if error is None or issubclass(error, VecchessError):
                with suppress(VecchessError):
                    self._drain()
        finally:
            self._crew.kill()

    @property
    def workers(self) -> dict[int, WorkerHandle]:
        """The workers there are, by the index of their device."""
        return self._crew.workers

    @property
    def seconds(self) -> float:
        """Time since the generation began."""
        return monotonic() - self.started

    @property
    def load(self) -> Load:
        """Recent load of all workers together."""
        return together([worker.meter.recent() for worker in self.workers.values()])

    @property
    def num_finished(self) -> int:
        """Games of the generation that are finished, those that are not written yet included."""
        waiting = sum(worker.games - worker.recorded for worker in self.workers.values())
        return min(self.ledger.num_recorded + max(waiting, 0), self.ledger.num_target)

    def stop(self, reason: str) -> None:
        """Let ``play`` end early: workers write what is finished."""
        self._asked_to_stop = self._asked_to_stop or reason

    def play(
        self, net: str, numbers: range | list[Range], pulse: Callable[[], str] = no_pulse
    ) -> RunResult:
        """Play the games ``numbers`` with ``net`` until each is recorded, or somebody stops it.

        net: a network file, which does not change under its name, of the same sizes as the one
        before, or the name of a built-in one. numbers: a range in steps of 1, or half-open
        ranges that do not overlap. pulse: called at least once a second meanwhile; what it
        returns, if not "", is a reason to stop.

        Raises what a worker cannot get over (a full disk, a bad network), and WorkerDied when one
        dies again and again; what was finished is recorded then, and all workers have ended.
        """
        self._begin(net, as_ranges(numbers))
        try:
            if not self._is_over:
                self._set_out()
            while not self._is_over:
                self._tend()
                self._heed_pulse(pulse)
            if self.ledger.is_complete:
                self._crew.rest()
            else:
                self._drain(pulse)
        except VecchessError:  # one worker's trouble: keep what the others have finished
            with suppress(VecchessError):
                self._drain()
            raise
        return RunResult(
            stats=self.ledger.stats,
            load=together(list(self._loads.values())),
            seconds=self.seconds,
            stopped_by="" if self.ledger.is_complete else self._stop_reason,
            restarts=self.restarts,
        )

    @property
    def _stop_reason(self) -> str:
        return self._stops.reason or self._asked_to_stop

    @property
    def _is_over(self) -> bool:
        return self.ledger.is_complete or bool(self._stop_reason)

    def _begin(self, net: str, ranges: list[Range]) -> None:
        """Open the book of a new generation."""
        for worker, message in self._crew.receive(timeout_s=0.0):  # said after the last one ended
            self._heed(worker, message)
        self.started = monotonic()
        self.restarts = 0
        self.ledger.open(ranges)
        self.num_before = self.ledger.num_recorded
        self._net = net
        self._asked_to_stop = ""
        self._next_pulse = 0.0
        self._loads.clear()

    def _set_out(self) -> None:
        """Give everybody a share of the open games; start those who are not there."""
        self._make_room()
        for worker in list(self.workers.values()):
            if worker.is_alive:
                worker.begin(self._net)
            else:
                self._bury(worker, worker.reason_of_death())
        needed = min(len(self.devices), self.ledger.num_open)
        for index in range(needed):
            if index not in self.workers:
                self._crew.start(index, self._net, self.share)
            share = -(-self.ledger.num_open // (needed - index))
            self._hand_out(index, min(share, 2 * self.share.games))

    def _make_room(self) -> None:
        """See that workers have room for as many games at a time as there are to be played."""
        share = share_out(self.config, self.devices, self.ledger.num_open)
        if not self.workers or share.games > self.share.games:
            self._drain()
            self.share = share
            config = self.config.model_copy(update={"net": self._net})
            Warmup(config, self._watcher.note).finish(self._net)

    def _tend(self) -> None:
        """One round: read the pipes, look after the workers, show where things stand."""
        for worker, message in self._crew.receive():
            self._heed(worker, message)
        for worker, reason in self._crew.dead():
            self._replace(worker, reason)
        self._watcher.update(self)

    def _heed_pulse(self, pulse: Callable[[], str]) -> None:
        if monotonic() >= self._next_pulse:
            self._next_pulse = monotonic() + PULSE_S
            self.stop(pulse())

    def _heed(self, worker: WorkerHandle, message: Message) -> None:
        kind, index = message["kind"], worker.plan.index
        if kind == "stats":
            worker.meter.read(message)
            self._loads[index] = worker.meter.overall()
            self._replenish(worker, message)
        elif kind == "shard":
            entry = ShardEntry.from_dict(message["entry"])
            self.ledger.record(index, entry)
            worker.recorded += entry.stats.games
            self._deaths[index] = 0
        elif kind == "note":
            self._watcher.note(f"{worker.name}: {message['line']}")
        elif kind == "failed":
            worker.failure = message

    def _replenish(self, worker: WorkerHandle, message: Message) -> None:
        """Keep a few seconds of games with each worker, fewer towards the end."""
        wanted = max(self.share.games // 2, int(2 * worker.meter.recent().games_per_s))
        if message["unstarted"] < wanted and not self._stop_reason:
            per_worker = -(-self.ledger.num_open // len(self.devices))
            self._hand_out(worker.plan.index, min(wanted - message["unstarted"], per_worker))

    def _hand_out(self, index: int, count: int) -> None:
        ranges = self.ledger.hand_out(index, count)
        if ranges:
            self.workers[index].give(ranges)

    def _replace(self, worker: WorkerHandle, reason: str) -> None:
        """Bury a worker, and let a new one play its share of what is open."""
        self._bury(worker, reason)
        self._crew.start(worker.plan.index, self._net, self.share)
        share = -(-self.ledger.num_open // len(self.devices))
        self._hand_out(worker.plan.index, min(share, 2 * self.share.games))

    def _bury(self, worker: WorkerHandle, reason: str) -> None:
        """Take a dead worker's games back, or give up with its error."""
        index = worker.plan.index
        del self.workers[index]
        for message in worker.pipe.receive() or []:
            if message["kind"] == "failed":  # its shards are found by ``release``
                worker.failure = message
        lost = self.ledger.release(index, worker.plan.shard_prefix)
        failure = worker.failure or {}
        reason = str(failure.get("error", reason))
        if failure.get("expected"):
            raise _as_raised(failure)
        self._watcher.note(f"{worker.name} died: {reason}; {lost} unfinished games will be played")
        if failure.get("out_of_memory"):
            slots = self._crew.lower_slots(worker.plan)
            self._watcher.note(f"{worker.name} goes on with {slots:,} slots")
        if "traceback" in failure:
            self._watcher.note(str(failure["traceback"]).rstrip())
        self._deaths[index] += 1
        if self._deaths[index] >= MAX_FRUITLESS_DEATHS:
            raise WorkerDied(f"{worker.name} died {self._deaths[index]} times in a row: {reason}")
        self.restarts += 1

    def _drain(self, pulse: Callable[[], str] = no_pulse) -> None:
        """Tell all to stop, and record what they finished. Raises, at the end, what they raised."""
        deadline = monotonic() + DRAIN_S
        errors: list[VecchessError] = []
        for worker in self.workers.values():
            worker.stop()
        while self.workers:
            if monotonic() > deadline or self._stops.must_leave_now:
                self._crew.kill()
            for worker, message in self._crew.receive():
                self._heed_leaving(worker, message, errors)
            for worker in [worker for worker in self.workers.values() if not worker.is_alive]:
                self._dismiss(worker, errors)
            self._heed_pulse(pulse)
            self._watcher.update(self)
        if errors:
            raise errors[0]

    def _heed_leaving(
        self, worker: WorkerHandle, message: Message, errors: list[VecchessError]
    ) -> None:
        """As ``_heed``; trouble with the book is kept in ``errors`` until everybody has left."""
        try:
            self._heed(worker, message)
        except VecchessError as error:
            errors.append(error)

    def _dismiss(self, worker: WorkerHandle, errors: list[VecchessError]) -> None:
        """A worker that was told to stop has ended: record what it wrote and did not report."""
        for message in worker.pipe.receive() or []:
            self._heed_leaving(worker, message, errors)
        del self.workers[worker.plan.index]
        try:
            self.ledger.release(worker.plan.index, worker.plan.shard_prefix)
        except VecchessError as error:
            errors.append(error)
        if worker.failure is not None and worker.failure.get("expected"):
            errors.append(_as_raised(worker.failure))
        elif worker.failure is not None:
            self._watcher.note(f"{worker.name} died while stopping: {worker.failure['error']}")


def as_ranges(numbers: range | list[Range]) -> list[Range]:
    """Half-open ranges; raises ValueError for a range in other steps than 1."""
    if not isinstance(numbers, range):
        return numbers
    if numbers.step != 1:
        raise ValueError(f"games are numbered in steps of 1, not {numbers.step}")
    return [(numbers.start, numbers.stop)]


def _as_raised(failure: Message) -> VecchessError:
    """The error a worker reported, as the command line treats it."""
    kind: type[VecchessError] = NetworkError if failure["exit_code"] == 2 else DataError
    return kind(str(failure["error"]))
