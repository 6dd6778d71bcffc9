"""Processes that make batches: orders go to them in turn, packets come back in that order.

Each has a window of its own, and waits at its pipe for the next order. Rows go to their places in
shared memory; through the pipes go orders and a few numbers.
"""

import atexit
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from vecchess.errors import WorkerDied
from vecchess.runtime.child_process import ignore_signals, start_with_signals_blocked
from vecchess.runtime.signals import stop_signals
from vecchess.selfplay.supervisor.worker_process import KILL_WAIT_S, UNATTENDED_S
from vecchess.train.data.batch_builder import BatchBuilder, BatchReply, BatchRequest
from vecchess.train.data.batch_spec import BatchSpec
from vecchess.train.data.shared_buffers import SharedBuffers


class LoaderProcesses:
    """The loader processes of one rank."""

    def __init__(self, maker: BatchBuilder, places: SharedBuffers, stall_timeout_s: float) -> None:
        """Processes start with the first order, each with a copy of ``maker``.

        A process that is waited for, and for ``stall_timeout_s`` neither takes time of the
        processor nor queues for it, is lost. Reading, checking and compiling take some, however
        long they last; a process that was stopped, or whose disk does not answer, takes none.
        Systems without /proc do not tell.
        """
        self._maker, self._places = maker, places
        self._stall_timeout_s = stall_timeout_s
        self._hands: list[LoaderProcess] = []
        self._owed: deque[LoaderProcess] = deque()
        """Who is to hand in a packet, in the order of the orders."""

    def packets(self, plans: Iterable[BatchSpec]) -> Iterator[BatchReply]:
        """The packet of each plan, in their order; ``plans`` is asked ahead of them.

        One iteration at a time. Raises WorkerDied where a process ended, or hangs.
        """
        if not self._hands:
            atexit.register(self.close)  # or Python would wait for those who heed no SIGTERM
            kit = (self._maker, self._places)
            self._hands = [LoaderProcess(*kit) for _ in range(self._places.num_workers)]
        while self._owed:  # what an iteration that was left early had ordered
            self._receive()
        for number, plan in enumerate(plans):
            hand = self._hands[number % len(self._hands)]
            hand.send(BatchRequest(plan, number))
            self._owed.append(hand)
            if len(self._owed) > self._places.ahead:
                yield self._receive()
        while self._owed:
            yield self._receive()

    def close(self) -> None:
        """End the processes at once; they hold nothing that would be lost."""
        atexit.unregister(self.close)
        for hand in self._hands:
            hand.kill()
        self._hands = []
        self._owed.clear()

    def _receive(self) -> BatchReply:
        """The packet that is next, as soon as it is there."""
        hand = self._owed.popleft()
        while True:
            began, before = monotonic(), hand.effort()
            if hand.has_come(self._stall_timeout_s):
                return hand.receive()
            # this process may have been stopped too, as by Ctrl-Z: then the time says nothing
            was_here = monotonic() - began < self._stall_timeout_s + UNATTENDED_S
            if was_here and before.is_idle and before == hand.effort():
                raise WorkerDied(
                    f"a loader process (pid {hand.pid}) has done nothing for "
                    f"{self._stall_timeout_s:g} s while its batch was waited for: was it stopped, "
                    "or does the disk not answer? Mend that, then resume"
                )


class _Effort(NamedTuple):
    """What a process does at a moment."""

    is_idle: bool
    """It neither computes nor waits for a processor to do so."""
    ticks: int
    """Time of the processor it has taken so far, in units of the system, often 10 ms."""
    shares: str
    """Time on a processor and waiting for one, in ns, and how often it had one; "" where the system
    does not tell. A process that reads from a slow disk takes too little for a tick."""


class LoaderProcess:
    """This side of one process. Making one starts it."""

    def __init__(self, maker: BatchBuilder, places: SharedBuffers) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=run_maker,
            args=(maker, places, theirs),
            name="vecchess-loader",
            daemon=True,
        )
        start_with_signals_blocked(self._process, stop_signals())
        theirs.close()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid or 0

    def send(self, order: BatchRequest) -> None:
        """Raises WorkerDied where nobody is there."""
        try:
            self._pipe.send_bytes(order.to_bytes())
        except OSError:
            raise self._death() from None

    def has_come(self, timeout_s: float) -> bool:
        """Whether a packet, or the end of the process, has come within that time."""
        return bool(wait([self._pipe, self._process.sentinel], timeout_s))

    def receive(self) -> BatchReply:
        """Raises WorkerDied where the process has ended instead."""
        try:
            if self._pipe.poll():
                return BatchReply.from_bytes(self._pipe.recv_bytes())
        except (EOFError, OSError):
            pass
        raise self._death()

    def effort(self) -> "_Effort":
        """What it does, as far as the system tells: proc_pid_stat(5), fields 3, 14 and 15."""
        process = Path(f"/proc/{self.pid}")
        try:
            words = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            return _Effort(is_idle=False, ticks=0, shares="")
        try:
            shares = (process / "schedstat").read_text()
        except OSError:  # a kernel without statistics of its scheduler
            shares = ""
        return _Effort(words[0] != "R", int(words[11]) + int(words[12]), shares)

    def kill(self) -> None:
        """End it."""
        self._process.kill()
        self._process.join(KILL_WAIT_S)
        self._pipe.close()

    def _death(self) -> WorkerDied:
        self._process.join(KILL_WAIT_S)
        code = self._process.exitcode or 0
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return WorkerDied(
            f"a loader process ended ({how}); if memory is short, use fewer loader processes or a "
            "smaller window, then resume"
        )


def run_maker(maker: BatchBuilder, places: SharedBuffers, pipe: Connection) -> None:
    """Body of a process: makes what is ordered, until nobody orders any more."""
    ignore_signals(stop_signals())  # the parent alone decides when to stop
    while True:
        try:
            order = BatchRequest.from_bytes(pipe.recv_bytes())
            pipe.send_bytes(maker.make(order, places[order.place]).to_bytes())
        except (EOFError, OSError):  # the parent has ended
            return
