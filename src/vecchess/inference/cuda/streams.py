"""The order of work on a device: a stream for kernels, a stream for copies, and finished steps.

Decision 118.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter_ns

import torch
from torch import Tensor

NUM_BUFFERS = 2
"""Staging buffers: one is filled while the device reads the other."""


class Streams:
    """The order of work on the host, for Triton's interpreter: one launch after the other, at once.

    The last step is never reported as finished, as on a GPU that is still at work on it.
    """

    def __init__(self, device: torch.device) -> None:
        """num_steps: time steps launched so far; busy_ns: time that the device took for finished
        steps and the admissions before them."""
        self.device = device
        self.num_steps = 0
        self.busy_ns = 0
        self._began_ns = 0

    def host_tensor(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Zeros in host memory that host and device can both reach."""
        return torch.zeros(shape, dtype=dtype)

    def computing(self) -> AbstractContextManager[object]:
        """A context in which kernels are launched one after the other on the computing stream."""
        return nullcontext()

    def wait_to_fill(self, buffer: int) -> None:
        """Wait until the host may fill staging ``buffer`` (0 or 1) again."""

    def upload(self, buffer: int, target: Tensor, source: Tensor) -> None:
        """Copy beside the computation; kernels launched from now on see the copy."""
        target.copy_(source)

    def uploaded_is_read(self, buffer: int) -> None:
        """Note that all kernels which read the device's half of ``buffer`` have been launched."""

    def record(self, launch: Callable[[], None]) -> Callable[[], None]:
        """The kernels that ``launch`` launches, compiled before, to be launched again as one."""
        return launch

    def begin_admission(self) -> None:
        """Time what is launched from now on, as part of the next step; once a step."""
        self._began_ns = perf_counter_ns()

    def end_admission(self) -> None:
        """End what ``begin_admission`` began."""
        self.busy_ns += perf_counter_ns() - self._began_ns

    def begin_step(self) -> None:
        """Time what is launched from now on, the next time step."""
        self._began_ns = perf_counter_ns()

    def end_step(self) -> None:
        """Note that a time step has been launched."""
        self.busy_ns += perf_counter_ns() - self._began_ns
        self.num_steps += 1

    def finished_steps(self) -> int:
        """The number of steps that are known to be finished, all but the last at least."""
        return max(self.num_steps - 1, 0)

    def synchronize(self) -> None:
        """Wait for everything that was launched."""


class CudaStreams(Streams):
    """A stream for kernels and a stream for copies to the device, tied by events.

    Admission and step are timed apart: between the two the device waits for the host's launch
    where nothing else is left to do, and that is no work.
    """

    def __init__(self, device: torch.device) -> None:
        """Two streams on ``device``."""
        super().__init__(device)
        self._compute = torch.cuda.Stream(device)
        self._copy = torch.cuda.Stream(device)
        self._copied = _events(NUM_BUFFERS)
        self._read = _events(NUM_BUFFERS)
        self._begun = _events(2)
        self._done = _events(2)
        self._admission_begun = _events(2)
        self._admission_done = _events(2)
        self._admitted_for = [0, 0]
        """Steps that the newest admissions belong to."""
        self._num_timed = 0

    def host_tensor(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Pinned, which with unified addressing means that kernels can write to it."""
        return torch.zeros(shape, dtype=dtype, pin_memory=True)

    def computing(self) -> AbstractContextManager[object]:
        """Make the computing stream the current one."""
        return torch.cuda.stream(self._compute)

    def wait_to_fill(self, buffer: int) -> None:
        """Wait for the last copy from the buffer."""
        self._copied[buffer].synchronize()

    def upload(self, buffer: int, target: Tensor, source: Tensor) -> None:
        """Copy on the stream for copies, once the last copy there was read."""
        self._copy.wait_event(self._read[buffer])
        with torch.cuda.stream(self._copy):
            target.copy_(source, non_blocking=True)
        self._copied[buffer].record(self._copy)
        self._compute.wait_event(self._copied[buffer])

    def uploaded_is_read(self, buffer: int) -> None:
        """Record that on the computing stream."""
        self._read[buffer].record(self._compute)

    def record(self, launch: Callable[[], None]) -> Callable[[], None]:
        """Record a CUDA graph. Other threads may go on using the device meanwhile."""
        self.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self._compute, capture_error_mode="thread_local"):
            launch()
        return graph.replay

    def begin_admission(self) -> None:
        """Record an event before the kernels of an admission."""
        step = self.num_steps + 1
        self._admission_begun[step % 2].record(self._compute)
        self._admitted_for[step % 2] = step

    def end_admission(self) -> None:
        """Record an event behind them."""
        self._admission_done[(self.num_steps + 1) % 2].record(self._compute)

    def begin_step(self) -> None:
        """Record an event before the kernels of a step."""
        self._begun[(self.num_steps + 1) % 2].record(self._compute)

    def end_step(self) -> None:
        """Record an event behind them."""
        self.num_steps += 1
        self._done[self.num_steps % 2].record(self._compute)

    def finished_steps(self) -> int:
        """Wait for the step before the last, never for the last, so that the device stays busy."""
        finished = self.num_steps
        if finished and not self._done[finished % 2].query():
            finished -= 1
            self._done[finished % 2].synchronize()
        self._time_steps_up_to(finished)
        return finished

    def _time_steps_up_to(self, finished: int) -> None:
        """Add the time of steps that have finished; of the last two, for others have no events."""
        for step in range(max(self._num_timed, self.num_steps - 2) + 1, finished + 1):
            at = step % 2
            milliseconds = self._begun[at].elapsed_time(self._done[at])
            if self._admitted_for[at] == step:
                milliseconds += self._admission_begun[at].elapsed_time(self._admission_done[at])
            self.busy_ns += int(milliseconds * 1e6)
        self._num_timed = finished

    def synchronize(self) -> None:
        """Wait for the device."""
        torch.cuda.synchronize(self.device)


def _events(count: int) -> list[torch.cuda.Event]:
    """Events for which the host waits asleep: the movers need the cores."""
    return [torch.cuda.Event(enable_timing=True, blocking=True) for _ in range(count)]
