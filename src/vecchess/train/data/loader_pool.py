"""Batches from loader processes, in the order of their specs, as torch tensors.

A loader process holds a replay window of its own and does all the work: it draws positions, replays
games up to them, collates and mirrors. A batch is a pure function of its spec and the files on
disk, so neither the number of processes nor the one that builds it matters. Rows are written into
shared memory; requests and replies go through pipes. A tensor in a queue would cost a file
descriptor, a connection and new pages each time, several times the cost of its rows (decision 80).

Decision 193.
"""

import atexit
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from multiprocessing import Pipe
from multiprocessing.connection import wait
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vecchess import errors
from vecchess.errors import WorkerDied
from vecchess.runtime.child_process import KILL_WAIT_S, ChildProcess
from vecchess.runtime.json_pipe import JsonPipe, Message
from vecchess.runtime.reporting import ReportLine
from vecchess.selfplay.supervisor.worker_process import UNATTENDED_S
from vecchess.train.data.batch_builder import BatchBuilder, BatchReply, serve_requests
from vecchess.train.data.batch_spec import BatchSpec
from vecchess.train.data.replay_window import GivenShards, ShardSource
from vecchess.train.data.sample_rules import PLAIN_RULES, SampleRules
from vecchess.train.data.samples import Samples, SharedBuffers, row_bytes, samples_in

STALL_TIMEOUT_S = 60.0


class LoaderPool:
    """The loader processes of one rank, which build batches ahead of the trainer."""

    def __init__(
        self,
        source: ShardSource,
        buffers: SharedBuffers,
        rules: SampleRules = PLAIN_RULES,
        pin_memory: bool = False,
        stall_timeout_s: float = STALL_TIMEOUT_S,
        report_line: ReportLine = print,
        reference: GivenShards | None = None,
    ) -> None:
        """Processes start with the first batch; without any, this process builds the batches.

        pin_memory: batches lie in pinned memory, for a GPU.
        report_line: gets a line for each shard that cannot be read. reference: games that specs may
        mix in.

        stall_timeout_s: a process that takes no CPU time for so long, and does not wait for a CPU
        either, while its batch is due is lost (decision 79). Reading, checking and compiling take
        CPU time however long they last; a process that was stopped, or whose disk does not answer,
        takes none. Without /proc this is not checked.
        """
        self._buffers = buffers
        self._report_line = report_line
        self._said: set[str] = set()
        self._pin_memory = pin_memory
        self._stall_timeout_s = stall_timeout_s
        self._builder = BatchBuilder(source, rules, buffers.num_planes, reference)
        self._processes: list[LoaderProcess] = []
        self._due: deque[tuple[LoaderProcess, BatchSpec, int]] = deque()
        """Requests without a reply, in order: the process, the batch, its buffer's number."""

    def __enter__(self) -> "LoaderPool":
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes."""
        self.close()

    def batches(self, specs: Iterable[BatchSpec]) -> Iterator[Samples[torch.Tensor]]:
        """The batch of each spec, in their order; ``specs`` is read ahead. One iteration at a time.

        Raises DataError where the games are wrong, and WorkerDied where a process ended or hangs.
        """
        for spec, buffer, _ in self._replies(specs):
            yield self._tensors(spec, self._buffers[buffer])

    def count(self, spec: BatchSpec) -> int:
        """Positions in the window of ``spec``. Raises as ``batches``."""
        ((_, _, reply),) = self._replies([replace(spec, first_row=0, num_rows=0)])
        return reply.num_positions

    def close(self) -> None:
        """End the processes at once; they hold nothing that would be lost."""
        atexit.unregister(self.close)
        for process in self._processes:
            process.kill()
        self._processes = []
        self._due.clear()

    def _replies(self, specs: Iterable[BatchSpec]) -> Iterator[tuple[BatchSpec, int, BatchReply]]:
        """The batches with their buffers' numbers, once they are built."""
        if self._buffers.num_workers:
            replies = self._from_processes(specs)
        else:
            replies = ((spec, 0, self._builder.build(spec, self._buffers[0])) for spec in specs)
        for spec, buffer, reply in replies:
            for note in reply.notes:
                if note not in self._said:
                    self._said.add(note)
                    self._report_line(note)
            if reply.error is not None:
                name, line = reply.error
                raise getattr(errors, name)(line)
            yield spec, buffer, reply

    def _from_processes(
        self, specs: Iterable[BatchSpec]
    ) -> Iterator[tuple[BatchSpec, int, BatchReply]]:
        if not self._processes:
            atexit.register(self.close)  # Python would join them, and they ignore SIGTERM
            kit = (self._builder, self._buffers)
            self._processes = [LoaderProcess(*kit) for _ in range(self._buffers.num_workers)]
        while self._due:  # requests of an iteration that was left early
            self._receive()
        for number, spec in enumerate(specs):
            process = self._processes[number % len(self._processes)]
            process.request(spec, number)
            self._due.append((process, spec, number))
            if len(self._due) > self._buffers.ahead:
                yield self._receive()
        while self._due:
            yield self._receive()

    def _receive(self) -> tuple[BatchSpec, int, BatchReply]:
        """Wait for the next reply."""
        process, spec, buffer = self._due.popleft()
        while True:
            began, before = monotonic(), process.work_done()
            if (reply := process.receive(self._stall_timeout_s)) is not None:
                return spec, buffer, reply
            # where this process was stopped too, as by Ctrl-Z, the elapsed time means nothing
            was_running = monotonic() - began < self._stall_timeout_s + UNATTENDED_S
            if was_running and before is not None and before == process.work_done():
                raise WorkerDied(
                    f"a loader process (pid {process.pid}) has done nothing for "
                    f"{self._stall_timeout_s:g} s while its batch was waited for: was it stopped, "
                    "or does the disk not answer? Mend that, then resume"
                )

    def _tensors(self, spec: BatchSpec, buffer: NDArray[np.uint8]) -> Samples[torch.Tensor]:
        """The rows of a batch, copied out of its buffer; planes as int64, which torch shifts."""
        size = spec.rows * row_bytes(self._buffers.num_planes)
        memory = torch.empty(size, dtype=torch.uint8, pin_memory=self._pin_memory)
        memory.numpy()[:] = buffer[:size]
        arrays = samples_in(memory.numpy(), spec.rows, self._buffers.num_planes)
        signed = arrays._replace(planes=arrays.planes.view(np.int64))
        return signed.map(lambda array: _view_in(memory, array))


def _view_in(memory: torch.Tensor, array: NDArray[Any]) -> torch.Tensor:
    """``array``, which lies in ``memory``, as a tensor of the same storage.

    torch does not reuse pinned memory while a copy to a GPU is under way, but only if the tensor
    that is copied owns it.
    """
    first = array.ctypes.data - memory.data_ptr()
    kind = torch.from_numpy(array).dtype
    return memory[first : first + array.nbytes].view(kind).view(array.shape)


class LoaderProcess:
    """This side of one loader process. The constructor starts it."""

    def __init__(self, builder: BatchBuilder, buffers: SharedBuffers) -> None:
        connection, child_end = Pipe()
        self._pipe = JsonPipe(connection)
        self._replies: deque[Message] = deque()
        self._process = ChildProcess(
            target=serve_requests,
            args=(builder, buffers, child_end),
            name="vecchess-loader",
            daemon=True,
        )
        self._process.start()
        child_end.close()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid or 0

    def request(self, spec: BatchSpec, buffer: int) -> None:
        """Request a batch. Raises WorkerDied where the process has ended."""
        if not self._pipe.send("batch", spec=asdict(spec), buffer=buffer):
            raise self._death()

    def receive(self, timeout_s: float) -> BatchReply | None:
        """The next reply; None after that time. Raises WorkerDied where the process has ended."""
        if not self._replies:
            if not wait([self._pipe.connection, self._process.sentinel], timeout_s):
                return None
            self._replies.extend(self._pipe.receive() or ())
        if not self._replies:
            raise self._death()
        message = self._replies.popleft()
        return BatchReply(*(message[name] for name in BatchReply._fields))

    def work_done(self) -> tuple[str, ...] | None:
        """CPU time so far, and time on a CPU, waiting for one, and how often it had one; None while
        the process computes or waits for a CPU, or where the system does not tell.

        By proc_pid_stat(5), fields 3, 14 and 15, and ``schedstat``, which not all kernels have: a
        process that reads from a slow disk takes less than a tick of CPU time.
        """
        words = self._proc_file("stat").rpartition(")")[2].split()
        if not words or words[0] == "R":
            return None
        return words[11], words[12], self._proc_file("schedstat")

    def kill(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join(KILL_WAIT_S)
        self._pipe.connection.close()

    def _proc_file(self, name: str) -> str:
        try:
            return Path(f"/proc/{self.pid}/{name}").read_text()
        except OSError:
            return ""

    def _death(self) -> WorkerDied:
        self._process.join(KILL_WAIT_S)
        code = self._process.exitcode or 0
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return WorkerDied(
            f"a loader process ended ({how}); if memory is short, use fewer loader processes or a "
            "smaller window, then resume"
        )
