"""Batches made in processes of their own, in the order of their plans, as torch tensors.

A loader process holds its own window and does everything: it draws, plays games again up to the
drawn positions, lays out targets, mirrors. What it makes is a pure function of the plan and the
files on disk, so it does not matter how many processes there are, or which of them makes a batch.
Rows are written into memory that is shared from the start, one place for each batch under way; a
few numbers are all that goes through torch's queues. A tensor in a queue would cost a file
descriptor, a connection and fresh pages each time, several times as much as making its rows.
"""

import gc
import signal
from collections.abc import Iterable, Iterator
from dataclasses import replace
from multiprocessing import active_children
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset, Sampler

from vecchess import errors
from vecchess.errors import WorkerDied
from vecchess.learn.maker import Maker, Order, Packet
from vecchess.learn.plan import Plan
from vecchess.learn.samples import ROW_BYTES, Samples, samples_in
from vecchess.learn.window import GivenShelf, Say, Shelf
from vecchess.selfplay.shield import held_back, ignore
from vecchess.selfplay.stop_signals import stop_signals


class Loader:
    """Turns plans into batches, ``num_workers`` processes working ahead of whoever uses them."""

    def __init__(
        self,
        shelf: Shelf,
        trace: float = 1.0,
        num_workers: int = 1,
        prefetch: int = 4,
        max_rows: int = 8192,
        pin_memory: bool = False,
        say: Say = print,
        reference: GivenShelf | None = None,
    ) -> None:
        """Processes start with the first batch; 0 of them: made here, when asked for.

        trace: lambda of the returns. prefetch: batches a process is ahead. max_rows: the most a
        plan may ask for; memory is taken for those that are asked for. pin_memory: batches lie
        where a GPU fetches them fastest. say: is told of shards that cannot be read, once each.
        reference: games that plans may mix in.
        """
        self._say = say
        self._said: set[str] = set()
        self._max_rows = max_rows
        self._pin_memory = pin_memory
        # torch orders the next batch before it hands one out, so one place more is in use
        num_places = prefetch * num_workers + 1
        self._places = _shared_bytes(num_places, max_rows * ROW_BYTES)
        self._orders = _Orders(num_places)
        self._processes: list[BaseProcess] = []
        self._loader: DataLoader[Packet] | None = DataLoader(
            _Packets(Maker(shelf, trace, reference), self._places),
            batch_size=None,
            sampler=self._orders,
            num_workers=num_workers,
            multiprocessing_context="spawn" if num_workers else None,
            persistent_workers=num_workers > 0,
            prefetch_factor=prefetch if num_workers else None,
            worker_init_fn=_begin,
        )

    def __enter__(self) -> "Loader":
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes."""
        self.close()

    def batches(self, plans: Iterable[Plan]) -> Iterator[Samples[torch.Tensor]]:
        """The batch of each plan, in their order. One iteration at a time.

        Raises what is wrong with the games (DataError), and WorkerDied where a process ended.
        """
        for packet in self._packets(plans):
            yield self._tensors(packet)

    def count(self, plan: Plan) -> int:
        """How many positions the window of ``plan`` holds. Raises as ``batches``."""
        (packet,) = self._packets([replace(plan, first_row=0, num_rows=0)])
        return packet.num_positions

    def close(self) -> None:
        """End the processes at once; they hold nothing that would be lost."""
        for process in self._processes:
            process.kill()
        self._processes = []
        self._loader = None
        gc.collect()  # torch joins its processes when the last reference goes

    def _packets(self, plans: Iterable[Plan]) -> Iterator[Packet]:
        self._orders.plans = map(self._checked, plans)
        packets = self._begin_iteration()
        while True:
            try:
                packet = next(packets)
            except StopIteration:
                return
            except (RuntimeError, OSError, EOFError) as error:
                raise self._explained(error) from error
            self._tell(packet)
            yield packet

    def _checked(self, plan: Plan) -> Plan:
        if plan.rows > self._max_rows:
            raise ValueError(f"{plan.rows} rows; this loader was made for {self._max_rows}")
        return plan

    def _begin_iteration(self) -> Iterator[Packet]:
        """torch's iterator; processes that it starts are kept from signals, and noted."""
        assert self._loader is not None, "the loader is closed"
        before = set(active_children())
        # torch would raise in the main thread, wherever that is, when a process of its ends: we
        # find out when we ask for the next batch, and not in the middle of a step
        handler = signal.getsignal(signal.SIGCHLD) if hasattr(signal, "SIGCHLD") else None
        with held_back(stop_signals()):
            packets = iter(self._loader)
        if handler is not None and signal.getsignal(signal.SIGCHLD) is not handler:
            signal.signal(signal.SIGCHLD, handler)
        self._processes += [child for child in active_children() if child not in before]
        return packets

    def _explained(self, error: Exception) -> Exception:
        """WorkerDied where a process has ended, else the error itself."""
        for process in self._processes:
            process.join(0.1)
            code = process.exitcode
            if code is not None:
                how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
                return WorkerDied(
                    f"a loader process ended ({how}); if memory is short, use fewer loader "
                    "processes or a smaller window, then resume"
                )
        return error

    def _tell(self, packet: Packet) -> None:
        for note in packet.notes:
            if note not in self._said:
                self._said.add(note)
                self._say(note)
        if packet.error is not None:
            name, line = packet.error
            raise getattr(errors, name)(line)

    def _tensors(self, packet: Packet) -> Samples[torch.Tensor]:
        """The rows of a packet, taken out of their place; planes as int64, which torch shifts."""
        num_rows = packet.plan.rows
        size = num_rows * ROW_BYTES
        buffer = torch.empty(size, dtype=torch.uint8, pin_memory=self._pin_memory)
        buffer.numpy()[:] = self._places[packet.place, :size].numpy()
        arrays = samples_in(buffer.numpy(), num_rows)
        signed = replace(arrays, planes=arrays.planes.view(np.int64))
        return signed.map(lambda array: _within(buffer, array))


class _Packets(Dataset[Packet]):
    """What torch calls in a loader process, or here where there is none."""

    def __init__(self, maker: Maker, places: torch.Tensor) -> None:
        self._maker = maker
        self._places = places

    def __getitem__(self, order: Order) -> Packet:
        return self._maker.make(order, self._places[order.place].numpy())


class _Orders(Sampler[Order]):
    """Hands the plans of an iteration to torch, each with the next place in turn."""

    def __init__(self, num_places: int) -> None:
        self.plans: Iterable[Plan] = ()
        self._num_places = num_places

    def __iter__(self) -> Iterator[Order]:
        return (Order(plan, i % self._num_places) for i, plan in enumerate(self.plans))


def _within(buffer: torch.Tensor, array: NDArray[Any]) -> torch.Tensor:
    """``array``, which lies in ``buffer``, as a tensor of the same storage.

    torch keeps pinned memory from being used anew while a copy to a GPU is under way, but only if
    the tensor that is copied owns it.
    """
    first = array.ctypes.data - buffer.data_ptr()
    kind = torch.from_numpy(array).dtype
    return buffer[first : first + array.nbytes].view(kind).view(array.shape)


def _shared_bytes(num_places: int, num_bytes: int) -> torch.Tensor:
    """uint8[num_places, num_bytes] that processes started later share; untouched, so not there."""
    storage = torch.UntypedStorage._new_shared(num_places * num_bytes)
    return torch.empty(0, dtype=torch.uint8).set_(storage).view(num_places, num_bytes)


def _begin(worker: int) -> None:
    """First thing in a loader process: the parent alone decides when to stop."""
    ignore(stop_signals())
    torch.set_num_threads(1)
