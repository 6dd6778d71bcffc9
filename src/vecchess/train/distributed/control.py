"""Control plane of the ranks: heart-beats, small values and the end of a run as keys of a TCPStore.

    facts       what all ranks must agree on, as text, written by the first that comes
    host/R      the host and process of rank R
    alive/R     heart-beat of rank R: a text that changes, and the number of operations it entered
    value/N/R   value of rank R in exchange N, removed once exchange N + 1 is complete
    end         why the run ends, written once: ``RunEnd``
    left/R      rank R has read ``end``, or is done

Rank 0 serves the store, or torchrun's agent does. A call to a store whose host is dead does not
return, not even one with a time-out (decision 86). So one thread of each rank makes all calls, and
the main thread waits for that thread for a limited time.
"""

import json
import os
import socket
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from functools import partial
from threading import Event, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

from vecchess.errors import ConfigError, RankLost, VecchessError
from vecchess.safe_parse import clip_line, parse_json
from vecchess.train.distributed.environment import RankInfo

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

BEAT_S = 0.25
"""Seconds between two heart-beats of a rank."""
LOST_S = 10.0
"""A rank without a heart-beat for so many seconds is lost. A call into C that holds Python's lock
for so long looks the same."""
BROKEN_LOST_S = 3.0
"""Instead of ``LOST_S`` once a connection between ranks broke, or torchrun ends them: some rank has
died."""
STOPPED_S = 2.0
"""A thread that has not looked at its clock for so long was stopped, as by Ctrl-Z: what it has not
heard meanwhile tells nothing."""
GRACE_S = 3.0
"""Other ranks wait so much longer for rank 0 than it waits for them: it names who is missing."""
TOGETHER_S = 0.2
"""Processes that are killed together end within so long."""
LINGER_S = 2.0
"""Rank 0 serves the store for so long after the end at most, until all ranks have read it."""
LEAST_POLL_S, MOST_POLL_S = 50e-6, 0.02
ResultT = TypeVar("ResultT")
MOST_BYTES = 1 << 24
MOST_LINE = 1000
RESUME = "every rank ends; start all machines again with --resume"
RESTARTS = "every rank ends; torchrun starts them again while it has restarts left"


class SharedError(VecchessError):
    """An error of another rank. Its line is empty where another process prints it."""

    def __init__(self, line: str, exit_code: int) -> None:
        """``line`` may be empty; ``exit_code`` is the same on all ranks."""
        super().__init__(line)
        self.exit_code = exit_code


class RunEnd(NamedTuple):
    """Why the ranks end, the same for all."""

    line: str
    """One line for the user; "" where nothing is to be printed."""
    exit_code: int
    is_lost: bool = False
    """A rank is lost: the leader of every machine prints the line. Else rank 0 alone does."""
    lost: tuple[int, ...] = ()
    """Ranks that will not read this."""

    @classmethod
    def from_json(cls, data: bytes) -> "RunEnd":
        """Read what the store holds. What no rank has written ends the run too, with a line."""
        try:
            line, exit_code, is_lost, lost = parse_json(data, MOST_BYTES)
            return cls(clip_line(line, MOST_LINE), int(exit_code), bool(is_lost), tuple(lost))
        except (ValueError, TypeError, OverflowError):
            return cls("another program wrote into the store of the ranks", 1, is_lost=True)


class ControlPlane:
    """This rank's part of the control plane. Its methods are called by the main thread."""

    def __init__(
        self,
        store: "Store",
        info: RankInfo,
        facts: str,
        failed_children: Callable[[], Mapping[int, str]] = dict,
    ) -> None:
        """Start the control thread, which takes ``store`` over.

        facts: what must be the same on all ranks, for the user. failed_children: how ranks ended
        that this process started and that failed.
        """
        self.hosts: list[str] = []
        """The host of every rank; empty until ``meet``."""
        self._store, self._info, self._facts = store, info, facts
        self._failed_children = failed_children
        self._entered = self._num_exchanges = 0
        self._end: RunEnd | None = None
        self.is_ending: Callable[[], bool] = lambda: False
        """Whether a launcher that restarts ranks has asked this one to end: some rank may be dead
        already, and a silent one is lost sooner."""
        self._again = RESTARTS if info.starter == "torchrun" else RESUME
        self._lost_s, self._last_call = LOST_S, monotonic()
        self._beats: dict[int, tuple[bytes, float]] = {}  # by rank: the last one, and when seen
        self._task: tuple[Callable[[], Any], Future[Any]] | None = None
        self._wake, self._closing = Event(), False
        self._thread = Thread(target=self._run, name="vecchess-control", daemon=True)
        self._thread.start()

    def meet(self, start_s: float) -> None:
        """Wait until all ranks are there, and fill ``hosts``. Raises as ``exchange``, also where
        ranks do not fit together."""
        self.hosts = self.exchange("meet", socket.gethostname(), start_s)

    def exchange(self, operation: str, value: Any, timeout_s: float) -> list[Any]:
        """Every rank's ``value`` (JSON, a few kB) by rank, on every rank.

        All ranks call it with the same ``operation``. Raises as ``wait_for``.
        """
        self.enter()
        number = self._num_exchanges = self._num_exchanges + 1
        keys = [f"value/{number}/{rank}" for rank in range(self._info.world_size)]
        left = [json.dumps([operation, value])]  # to write

        def attempt() -> list[bytes] | None:
            if self._end is not None:
                return None
            while left:
                self._store.set(keys[self._info.rank], left.pop())
            if not self._store.check(keys):
                return None
            values: list[bytes] = self._store.multi_get(keys)
            self._store.delete_key(f"value/{number - 1}/{self._info.rank}")  # all have read it
            return values

        future = self._submit(attempt)
        self.wait_for(lambda: _result(future, 0.05) is not None, timeout_s)
        return [self._decoded(data, operation) for data in future.result()]

    def enter(self) -> None:
        """Count an operation of all ranks. Ranks whose count is lower are waited for."""
        self._entered += 1

    def wait_for(self, is_done: Callable[[], bool], timeout_s: float, what: str = "") -> None:
        """Call ``is_done``, which takes a moment, until it returns True.

        Raises RankLost that names ranks which died, have no heart-beat, or have not entered the
        current operation within ``timeout_s``; SharedError where another rank has failed. ``what``
        is the operation, where it may hang although all ranks have entered it.
        """
        since = looked = monotonic()
        deadline = since + timeout_s + (GRACE_S if self._info.rank else 0.0)
        while not is_done():
            before, looked = looked, monotonic()
            if looked > before + STOPPED_S:
                since, deadline = looked, deadline + looked - before
            if self._end is None and looked > max(self._last_call, since) + LOST_S:
                self._end = self._loss([0], f"did not answer for {LOST_S:g} s")
            if self._end is not None:
                self._raise(self._end)
            if looked > deadline:
                self._name_late(timeout_s, what)

    def find_cause(self, reason: str) -> NoReturn:
        """Raise why a connection between ranks broke: a lost rank, or else the network."""
        self._lost_s = BROKEN_LOST_S
        deadline = monotonic() + BROKEN_LOST_S + GRACE_S
        self.wait_for(lambda: _paused() > deadline, LOST_S + GRACE_S)
        self._blame_network(reason)

    def share(self, line: str, exit_code: int) -> bool:
        """End the run on all ranks with this rank's error. Returns True where rank 0 prints it."""
        rank = self._info.rank
        self._post(RunEnd(self._named(line) if line and rank else line, exit_code))
        read = self._submit(lambda: self._store.check(["left/0"]) or None)
        return bool(rank) and _result(read, LOST_S) is not None

    def close(self) -> None:
        """End the control thread; rank 0 first waits until the others have read the end."""
        lost = self._end.lost if self._end else ()
        others = range(self._info.world_size) if self._info.rank == 0 and self.hosts else ()
        keys = [f"left/{rank}" for rank in others if rank not in lost]

        def attempt() -> bool | None:
            self._store.set(f"left/{self._info.rank}", "")
            return self._store.check(keys) or None if keys else True

        _result(self._submit(attempt), LINGER_S)
        self._closing = True
        self._wake.set()
        self._thread.join(1.0)

    def _raise(self, end: RunEnd) -> NoReturn:
        if end.is_lost:
            raise RankLost(end.line)
        raise SharedError("" if self._info.rank else end.line, end.exit_code)

    def _name_late(self, timeout_s: float, what: str) -> None:
        """Raise an error with the ranks that have not entered the current operation.

        Rank 0 decides, or another rank where rank 0 is late. Otherwise the wait goes on.
        """
        entered = {rank: int(beat.split()[1]) for rank, (beat, _) in self._beats.items()}
        ranks = range(self._info.world_size)
        late = [rank for rank in ranks if entered.get(rank, 0) < self._entered]
        if not late and what:
            self._blame_network(f"{what} took more than {timeout_s:g} s")
        if not late or (self._info.rank and 0 not in late):
            return
        when = f"did not turn up within {timeout_s:g} s"
        if not self.hosts:
            self._raise(self._post(RunEnd(
                f"of {len(ranks)} ranks, rank {', '.join(map(str, late))} {when}: is every machine "
                "started, with the same --nnodes and --master-addr?", ConfigError.exit_code,
            )))  # fmt: skip
        self._raise(self._post(self._loss([0] if self._info.rank else late, when)))

    def _blame_network(self, reason: str) -> NoReturn:
        line = f"all ranks answer, but {reason} (is the network between them whole?): {self._again}"
        self._raise(self._post(RunEnd(line, RankLost.exit_code, is_lost=True)))

    def _loss(self, ranks: Iterable[int], what: str) -> RunEnd:
        """The end of the run because of lost ranks."""
        lost = tuple(sorted(ranks))
        names = " and ".join(f"rank {rank} on {self._host(rank)}" for rank in lost)
        return RunEnd(f"{names} {what}: {self._again}", RankLost.exit_code, is_lost=True, lost=lost)

    def _host(self, rank: int) -> str:
        if self.hosts:
            return self.hosts[rank]
        return socket.gethostname() if rank else self._info.master_addr

    def _named(self, line: str) -> str:
        return f"rank {self._info.rank} on {socket.gethostname()}: {line}"

    def _decoded(self, data: bytes, operation: str) -> Any:
        """The value of a rank in an exchange. Raises RankLost where no rank has written it."""
        try:
            other, value = parse_json(data, MOST_BYTES)
        except (ValueError, TypeError):
            raise RankLost("another program wrote into the store of the ranks") from None
        assert other == operation, f"another rank is at {other}, this one at {operation}"
        return value

    def _post(self, end: RunEnd) -> RunEnd:
        """Write ``end`` to the store; returns the one that holds, of the first rank that wrote."""
        if self._end is None:
            self._end = _result(self._submit(partial(self._write_end, end)), LOST_S) or end
        return self._end

    def _submit(self, attempt: Callable[[], Any]) -> "Future[Any]":
        """Let the control thread call ``attempt`` until it returns something. Replaces the task
        before, which nothing waits for any more."""
        future: Future[Any] = Future()
        if not self._thread.is_alive():
            future.set_result(None)
        self._task = (attempt, future)
        self._wake.set()
        return future

    # from here on: the control thread

    def _run(self) -> None:
        try:
            end = self._misfit()
            while not self._closing:
                self._beat(end)
                self._work(monotonic() + BEAT_S)
        except RuntimeError:  # of the store: the process that serves it has ended
            self._end = self._end or self._loss([0], "died")
            if self._task and not self._task[1].done():
                self._task[1].set_result(None)

    def _misfit(self) -> RunEnd | None:
        """The end of the run where this rank does not fit to those that came before."""
        here = f"{socket.gethostname()} {os.getpid()} {id(self)}"
        if (other := self._put(f"host/{self._info.rank}", here)) != here:
            fault = (
                f"{clip_line(other).partition(' ')[0]} has rank {self._info.rank} already: give "
                "every machine its own --node-rank"
            )
        elif (other := self._put("facts", self._facts)) != self._facts:
            fault = (
                f"started with {self._facts}, other ranks with {clip_line(other)}; start every "
                "machine with the same settings"
            )
        else:
            return None
        return RunEnd(self._named(fault), ConfigError.exit_code)

    def _put(self, key: str, text: str) -> str:
        """Write a key unless there is one; returns what it holds."""
        return self._store.compare_set(key, "", text).decode()

    def _beat(self, end: RunEnd | None) -> None:
        """One heart-beat: write this rank's, read others', and find whether the run ends."""
        now = monotonic()
        if now > self._last_call + STOPPED_S:
            self._beats = {rank: (beat, now) for rank, (beat, _) in self._beats.items()}
        self._store.set(f"alive/{self._info.rank}", f"{now} {self._entered}")
        if self._end is None:
            if self._store.check(["end"]):
                self._end = RunEnd.from_json(self._store.get("end"))
            elif end := end or self._find_loss(now):
                self._end = self._write_end(end)
        self._last_call = monotonic()

    def _write_end(self, end: RunEnd) -> RunEnd:
        return RunEnd.from_json(self._put("end", json.dumps(end)).encode())

    def _find_loss(self, now: float) -> RunEnd | None:
        """The end of the run where ranks have died or have no heart-beat."""
        if self._failed_children():
            sleep(TOGETHER_S)
            children = self._failed_children()
            return self._loss(children, f"died ({', '.join(sorted(set(children.values())))})")
        for rank, beat in self._read_beats():
            if beat != self._beats.get(rank, (b"", 0.0))[0]:
                self._beats[rank] = beat, now
        lost_s = min(self._lost_s, BROKEN_LOST_S) if self.is_ending() else self._lost_s
        silent = [rank for rank, (_, seen) in self._beats.items() if now > seen + lost_s]
        return self._loss(silent, f"did not answer for {lost_s:g} s") if silent else None

    def _read_beats(self) -> Iterable[tuple[int, bytes]]:
        """The heart-beats of all ranks that have come."""
        keys = {f"alive/{rank}": rank for rank in range(self._info.world_size)}
        if not self.hosts:
            keys = {key: rank for key, rank in keys.items() if self._store.check([key])}
        return zip(keys.values(), self._store.multi_get(list(keys)), strict=True)

    def _work(self, until: float) -> None:
        """Carry out the main thread's task, if there is one, until the next heart-beat is due."""
        poll_s = LEAST_POLL_S
        while (now := monotonic()) < until and not self._closing:
            if self._task is None or self._task[1].done():
                self._wake.wait(until - now)
                self._wake.clear()
                continue
            attempt, future = self._task
            if (result := attempt()) is not None:
                future.set_result(result)
            else:
                sleep(poll_s)
                poll_s = min(1.5 * poll_s, MOST_POLL_S)


def in_thread(name: str, function: Callable[[], ResultT]) -> "Future[ResultT]":
    """The result of ``function``, which runs in a thread that the process does not wait for."""
    future: Future[ResultT] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, name=name, daemon=True).start()
    return future


def has_ended(future: "Future[Any]", timeout_s: float) -> bool:
    """Whether there is a result, or an error, within that time."""
    return bool(wait([future], timeout_s).done)


def _result(future: "Future[Any]", timeout_s: float) -> Any:
    """What the control thread returned; None where that took too long, or the thread has ended."""
    try:
        return future.result(timeout_s)
    except TimeoutError:
        return None


def _paused() -> float:
    """The time after a short pause."""
    sleep(0.02)
    return monotonic()
