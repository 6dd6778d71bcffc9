"""Batches built ahead of the trainer by threads, in the order of their specs, as torch tensors.

Kernels hold no lock, so that threads draw positions, replay games up to them, collate and mirror
beside a training step; they share one replay window (decision 80, threads that build batches). A
batch is a pure function of its spec and the files on disk: neither the number of threads nor the
one that builds it matters.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from copy import copy
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from vecchess.chess.planes import NUM_PLANES
from vecchess.errors import DataError, WorkerDied
from vecchess.runtime.reporting import ReportLine
from vecchess.train.data.batch_spec import BatchSpec
from vecchess.train.data.replay_window import GivenShards, ReplayWindow, ShardSource
from vecchess.train.data.samples import Samples, collate, empty_samples, mirror
from vecchess.train.data.value_targets import PLAIN_RULES, SampleRules

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

PREFETCH = 4
"""Batches that each thread makes ahead of the trainer."""
STALL_TIMEOUT_S = 60.0
LOOKS = 4
"""How often a time limit is divided: where the whole process was stopped meanwhile, as by Ctrl-Z,
that counts as one part of it."""
END_S = 2.0
"""Time that threads get to end: a batch takes milliseconds, a shard a second."""


class BatchLoader:
    """The replay window of one rank and the threads that build batches from it."""

    def __init__(
        self,
        source: ShardSource,
        threads: int = 0,
        planes: int = NUM_PLANES,
        rules: SampleRules = PLAIN_RULES,
        pin_memory: bool = False,
        stall_timeout_s: float = STALL_TIMEOUT_S,
        report_line: ReportLine = print,
        reference: GivenShards | None = None,
    ) -> None:
        """The threads start; games are read with the first batch.

        threads: with 0 a batch is built when it is asked for, none ahead. planes: P.
        pin_memory: batches lie in pinned memory, for a GPU. stall_timeout_s: see ``LoaderThreads``.
        report_line: gets a line for each shard that cannot be read. reference: games that specs may
        mix in, of which all plies count.
        """
        self._planes, self._pin_memory = planes, pin_memory
        self._ahead = PREFETCH * threads
        self._threads = LoaderThreads(max(threads, 1), stall_timeout_s)
        kit = (report_line, self._threads.map)
        self._window = ReplayWindow(source, rules, *kit)
        all_plies = replace(rules, newest_only=False)
        self._reference = ReplayWindow(reference or GivenShards([]), all_plies, *kit)

    def __enter__(self) -> "BatchLoader":
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the threads."""
        self._threads.close()

    def batches(self, specs: Iterable[BatchSpec]) -> Iterator[Samples[torch.Tensor]]:
        """The batch of each spec, in their order; ``specs`` is read ahead.

        Raises DataError where the games are wrong, and WorkerDied where a thread hangs.
        """
        due = deque[Future[Samples[torch.Tensor]]]()
        for spec in specs:
            if spec.rows:
                self._update(spec)
            windows = copy(self._window), copy(self._reference)  # as they are now
            due.append(self._threads.submit(self._build, spec, *windows))
            if len(due) > self._ahead:
                yield self._threads.result(due.popleft())
        while due:
            yield self._threads.result(due.popleft())

    def count(self, spec: BatchSpec) -> int:
        """Positions in the window of ``spec``. Raises as ``batches``."""
        self._update(spec)
        return self._window.num_positions

    def _update(self, spec: BatchSpec) -> None:
        self._window.update(spec.source_end, spec.source_first)
        if spec.reference_share:
            self._reference.update(spec.num_reference_shards)

    def _build(
        self, spec: BatchSpec, window: ReplayWindow, reference: ReplayWindow
    ) -> Samples[torch.Tensor]:
        """The rows of a batch; planes as int64, which torch shifts."""
        if not spec.rows:
            return blank_rows(0, self._planes)
        blocks, plies = _find(window, spec.draw)
        table = window.table
        if len(rows := spec.reference_rows):
            blocks[rows], plies[rows] = _find(reference, spec.draw_reference)
            blocks[rows] += len(table)
            table = np.concatenate([table, reference.table])
        samples = blank_rows(spec.rows, self._planes, self._pin_memory)
        arrays = samples.map(torch.Tensor.numpy)
        arrays = arrays._replace(planes=arrays.planes.view(np.uint64))
        collate(table, blocks, plies, arrays)
        if spec.mirror:
            key = (spec.seed, spec.step, spec.first_row)
            mirror(arrays.planes, arrays.legal, arrays.num_legal, *key)
        return samples


def blank_rows(num_rows: int, planes: int, pin_memory: bool = False) -> Samples[torch.Tensor]:
    """Rows of zeros as a batch has them, with P = ``planes``."""
    rows = empty_samples(num_rows, planes)
    tensors = rows._replace(planes=rows.planes.view(np.int64)).map(torch.from_numpy)
    return tensors.map(torch.Tensor.pin_memory) if pin_memory else tensors


def _find(
    window: ReplayWindow, draw: Callable[[int], NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if not window.num_positions:
        raise DataError("there are no positions to learn from in the recorded games")
    return window.find(draw(window.num_positions))


class LoaderThreads:
    """Threads that carry out calls, and that a call which never returns keeps from nothing.

    A thread that takes no CPU time for ``stall_timeout_s`` while its result is waited for hangs
    (decision 79). Reading, checking and compiling take CPU time however long they last; where a
    disk does not answer there is none. Where the system tells no thread's CPU time this is not
    checked.
    """

    def __init__(self, num: int, stall_timeout_s: float) -> None:
        """Starts ``num`` threads, which end with the process if not before."""
        self._stall_timeout_s = stall_timeout_s
        self._tasks = SimpleQueue[Callable[[], None] | None]()
        self._threads = [
            Thread(target=self._work, name=f"vecchess-loader-{index}", daemon=True)
            for index in range(num)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, function: Callable[..., ResultT], *args: Any) -> "Future[ResultT]":
        """The result to be of a call, which a thread carries out after those before."""
        future: Future[ResultT] = Future()

        def call() -> None:
            try:
                future.set_result(function(*args))
            except BaseException as error:
                future.set_exception(error)

        self._tasks.put(call)
        return future

    def result(self, future: "Future[ResultT]") -> ResultT:
        """Wait for a result; raises what the call raised, and WorkerDied where a thread hangs."""
        idle, before = 0, self._cpu_times()
        while not wait([future], self._stall_timeout_s / LOOKS).done:
            now = self._cpu_times()
            idle, before = (idle + 1 if now == before else 0), now
            if idle == LOOKS and now:
                raise WorkerDied(
                    f"a thread that loads recorded games has done nothing for "
                    f"{self._stall_timeout_s:g} s while they were waited for: does the disk "
                    "answer? Mend that, then resume"
                )
        return future.result()

    def map(
        self, function: Callable[[ItemT], ResultT], items: Iterable[ItemT]
    ) -> Iterator[ResultT]:
        """The result of a call for each item, in their order; all threads share in them."""
        futures = [self.submit(function, item) for item in items]
        return map(self.result, futures)

    def close(self) -> None:
        """End the threads; calls that wait are dropped, and one that hangs is left behind."""
        with suppress(Empty):
            while True:
                self._tasks.get_nowait()
        for _ in self._threads:
            self._tasks.put(None)
        until = time.monotonic() + END_S
        for thread in self._threads:
            thread.join(max(until - time.monotonic(), 0))

    def _work(self) -> None:
        while (call := self._tasks.get()) is not None:
            call()
            del call  # holds a batch

    def _cpu_times(self) -> list[float]:
        """Seconds of CPU that each thread has taken so far; empty where that is not told."""
        if not hasattr(time, "pthread_getcpuclockid"):
            return []
        clocks = [time.pthread_getcpuclockid(thread.ident or 0) for thread in self._threads]
        return [time.clock_gettime(clock) for clock in clocks]
