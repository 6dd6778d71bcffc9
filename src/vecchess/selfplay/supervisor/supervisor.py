"""The parent: generations of games, one after the other, played by the same workers.

A foreman looks after the workers; here is when they begin, rest and stop. Between two generations
they rest, and nobody looks after them: one that dies meanwhile is missed when the next begins.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Protocol, Self

from vecchess.config import BUILT_IN_NETS, SelfplayConfig
from vecchess.errors import VecchessError
from vecchess.runtime.devices import Device, Share, share_out
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.supervisor.assignment import WorkAssigner
from vecchess.selfplay.supervisor.game_ledger import GameLedger
from vecchess.selfplay.supervisor.run_result import RunResult
from vecchess.selfplay.supervisor.worker_process import WorkerProcess
from vecchess.selfplay.supervisor.worker_throughput import Throughput, combined_throughput
from vecchess.selfplay.worker.precompile import Precompiler
from vecchess.store.id_set import Range
from vecchess.store.run_folder import RunFolder

DRAIN_S = 15.0
"""After the first request to stop, workers have so long to write what they finished: of the 25 s in
which everybody is to be out, some are left for a checkpoint."""
PULSE_S = 0.5
"""How often the caller hears that games are being played."""


class SelfplayWatcher(Protocol):
    """Somebody who looks on: the live display, or nobody."""

    def update(self, campaign: "Supervisor") -> None:
        """Called many times a second."""

    def note(self, line: str) -> None:
        """Something happened that people want to know at once."""


def no_pulse() -> str:
    """The caller has nothing to do meanwhile."""
    return ""


class Supervisor:
    """Generations of one run. Nobody else may write its manifest; use it in a ``with``."""

    def __init__(
        self,
        config: SelfplayConfig,
        run: RunFolder,
        devices: list[Device],
        watcher: SelfplayWatcher,
        stops: StopSignals | None = None,
    ) -> None:
        """No worker is started before ``play``. Raises DataError for a damaged manifest.

        stops: what ends ``play`` early; the caller enters it for as long as it wants to heed
        signals. None: nothing but ``stop``.
        """
        self.config = config
        self.devices = devices
        self.started = monotonic()
        self.num_before = 0
        self._stops = stops or StopSignals()
        self._watcher = watcher
        self._foreman = WorkAssigner(config, run, devices, watcher.note)
        self._net = ""
        self._asked_to_stop = ""
        self._next_pulse = 0.0

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
            self._foreman.crew.kill()

    @property
    def ledger(self) -> GameLedger:
        """Which games are open, with a worker, or recorded."""
        return self._foreman.ledger

    @property
    def share(self) -> Share:
        """What each worker has room for."""
        return self._foreman.share

    @property
    def workers(self) -> dict[int, WorkerProcess]:
        """The workers there are, by the index of their device."""
        return self._foreman.workers

    @property
    def seconds(self) -> float:
        """Time since the generation began."""
        return monotonic() - self.started

    @property
    def load(self) -> Throughput:
        """Recent load of all workers together."""
        return combined_throughput([worker.meter.recent() for worker in self.workers.values()])

    @property
    def num_finished(self) -> int:
        """Games of the generation that are finished, those that are not written yet included."""
        waiting = sum(worker.games - worker.recorded for worker in self.workers.values())
        waiting = max(waiting, 0) + self._foreman.backlog.num_games
        return min(self.ledger.num_recorded + waiting, self.ledger.num_target)

    @property
    def remaining_s(self) -> float | None:
        """Seconds left at the rate so far; None where no game is finished."""
        done = self.num_finished - self.num_before
        left = self.ledger.num_target - self.num_finished
        return round(left * self.seconds / done, 1) if done > 0 else None

    @property
    def net_name(self) -> str:
        """What plays: a file of the run's ``nets``, or a built-in network."""
        return self._net if self._net in BUILT_IN_NETS else Path(self._net).name

    @property
    def restarts(self) -> int:
        """Workers replaced in this generation."""
        return self._foreman.restarts

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

        Raises what a worker cannot get over (a bad network, a broken disk), and WorkerDied when one
        dies again and again; what was finished is recorded then, and all workers have ended.
        """
        self._begin(net, as_ranges(numbers))
        try:
            if not self._is_over and self._has_room(pulse):
                self._foreman.set_out()
            while not self._is_over:
                self._foreman.tend()
                self._watcher.update(self)
                self._heed_pulse(pulse)
            if self.ledger.is_complete:
                self._foreman.end()
            else:
                self._drain(pulse)
        except VecchessError:  # one worker's trouble: keep what the others have finished
            with suppress(VecchessError):
                self._drain()
            raise
        return RunResult(
            stats=self.ledger.stats,
            load=self._foreman.load,
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
        """A new generation: nothing of the last one counts any more."""
        self._foreman.begin(net, ranges)
        self.started = monotonic()
        self.num_before = self.ledger.num_recorded
        self._net = net
        self._asked_to_stop = ""
        self._next_pulse = 0.0

    def _has_room(self, pulse: Callable[[], str]) -> bool:
        """See that workers have room for as many games at a time as there are to be played.

        False where somebody asked to stop while something was compiled for that.
        """
        share = share_out(self.config, self.devices, self.ledger.num_open)
        if not self.workers or share.games > self.share.games:
            self._drain()
            self._foreman.share = share
            config = self.config.model_copy(update={"net": self._net})
            with Precompiler(config, self._watcher.note) as warmup:
                return warmup.finish(self._net, lambda: self._is_ended_by(pulse))
        return True

    def _is_ended_by(self, pulse: Callable[[], str]) -> bool:
        self._heed_pulse(pulse)
        return self._is_over

    def _heed_pulse(self, pulse: Callable[[], str]) -> None:
        if monotonic() >= self._next_pulse:
            self._next_pulse = monotonic() + PULSE_S
            self.stop(pulse())

    def _drain(self, pulse: Callable[[], str] = no_pulse) -> None:
        """Tell all to stop, and record what they finished. Raises, at the end, what they raised."""
        deadline = monotonic() + DRAIN_S
        errors: list[VecchessError] = []
        for worker in self.workers.values():
            worker.stop()
            if not worker.has_played:  # it would listen only once it has imported and compiled
                worker.kill()
        while self.workers:
            if monotonic() > deadline or self._stops.must_exit_now:
                self._foreman.crew.kill()
            self._foreman.dismiss(errors)
            self._heed_pulse(pulse)
            self._watcher.update(self)
        if errors:
            raise errors[0]


def as_ranges(numbers: range | list[Range]) -> list[Range]:
    """Half-open ranges; raises ValueError for a range in other steps than 1."""
    if not isinstance(numbers, range):
        return numbers
    if numbers.step != 1:
        raise ValueError(f"games are numbered in steps of 1, not {numbers.step}")
    return [(numbers.start, numbers.stop)]
