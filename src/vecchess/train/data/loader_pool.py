"""Batches made in processes of their own, in the order of their plans, as torch tensors.

A loader process holds its own window and does everything: it draws, plays games again up to the
drawn positions, lays out targets, mirrors. What it makes is a pure function of the plan and the
files on disk, so it does not matter how many processes there are, or which of them makes a batch.
Rows are written into memory that is shared from the start: a tensor in a queue would cost a file
descriptor, a connection and fresh pages each time, several times as much as making its rows.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vecchess import errors
from vecchess.runtime.reporting import ReportLine
from vecchess.train.data.batch_builder import BatchBuilder, BatchReply, BatchRequest
from vecchess.train.data.batch_spec import BatchSpec
from vecchess.train.data.loader_process import LoaderProcesses
from vecchess.train.data.replay_window import GivenShards, ShardSource
from vecchess.train.data.samples import Samples, row_bytes, samples_in
from vecchess.train.data.shared_buffers import SharedBuffers

STALL_TIMEOUT_S = 60.0


class LoaderPool:
    """Turns plans into batches, its processes working ahead of whoever uses them."""

    def __init__(
        self,
        shelf: ShardSource,
        places: SharedBuffers,
        trace: float = 1.0,
        pin_memory: bool = False,
        stall_timeout_s: float = STALL_TIMEOUT_S,
        report_line: ReportLine = print,
        reference: GivenShards | None = None,
    ) -> None:
        """Processes start with the first batch; without any, batches are made here, when asked for.

        trace: lambda of the returns. pin_memory: batches lie where a GPU fetches them fastest.
        stall_timeout_s: a process may do nothing for so long, see ``LoaderProcesses``. say: gets a
        line for each shard that cannot be read. reference: games that specs may mix in.
        """
        self._places = places
        self._report_line = report_line
        self._said: set[str] = set()
        self._pin_memory = pin_memory
        self._maker = BatchBuilder(shelf, trace, places.num_planes, reference)
        self._workshop = LoaderProcesses(self._maker, places, stall_timeout_s)

    def __enter__(self) -> "LoaderPool":
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes."""
        self.close()

    def batches(self, plans: Iterable[BatchSpec]) -> Iterator[Samples[torch.Tensor]]:
        """The batch of each plan, in their order. One iteration at a time.

        Raises what is wrong with the games (DataError), and WorkerDied where a process ended or
        hangs.
        """
        for packet in self._packets(plans):
            yield self._tensors(packet)

    def count(self, plan: BatchSpec) -> int:
        """How many positions the window of ``plan`` holds. Raises as ``batches``."""
        (packet,) = self._packets([replace(plan, first_row=0, num_rows=0)])
        return packet.num_positions

    def close(self) -> None:
        """End the processes at once; they hold nothing that would be lost."""
        self._workshop.close()

    def _packets(self, plans: Iterable[BatchSpec]) -> Iterator[BatchReply]:
        checked = map(self._checked, plans)
        makes = self._workshop.packets if self._places.num_workers else self._made_here
        for packet in makes(checked):
            self._tell(packet)
            yield packet

    def _made_here(self, plans: Iterable[BatchSpec]) -> Iterator[BatchReply]:
        return (self._maker.make(BatchRequest(plan, 0), self._places[0]) for plan in plans)

    def _checked(self, plan: BatchSpec) -> BatchSpec:
        if plan.rows > self._places.num_rows:
            raise ValueError(f"{plan.rows} rows; there is room for {self._places.num_rows}")
        return plan

    def _tell(self, packet: BatchReply) -> None:
        for note in packet.notes:
            if note not in self._said:
                self._said.add(note)
                self._report_line(note)
        if packet.error is not None:
            name, line = packet.error
            raise getattr(errors, name)(line)

    def _tensors(self, packet: BatchReply) -> Samples[torch.Tensor]:
        """The rows of a packet, taken out of their place; planes as int64, which torch shifts."""
        num_rows = packet.plan.rows
        size = num_rows * row_bytes(self._places.num_planes)
        buffer = torch.empty(size, dtype=torch.uint8, pin_memory=self._pin_memory)
        buffer.numpy()[:] = self._places[packet.place][:size]
        arrays = samples_in(buffer.numpy(), num_rows, self._places.num_planes)
        signed = replace(arrays, planes=arrays.planes.view(np.int64))
        return signed.map(lambda array: _within(buffer, array))


def _within(buffer: torch.Tensor, array: NDArray[Any]) -> torch.Tensor:
    """``array``, which lies in ``buffer``, as a tensor of the same storage.

    torch keeps pinned memory from being used anew while a copy to a GPU is under way, but only if
    the tensor that is copied owns it.
    """
    first = array.ctypes.data - buffer.data_ptr()
    kind = torch.from_numpy(array).dtype
    return buffer[first : first + array.nbytes].view(kind).view(array.shape)
