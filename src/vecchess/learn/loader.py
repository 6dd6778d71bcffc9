"""Batches made in processes of their own, in the order of their plans, as torch tensors.

A loader process holds its own window and does everything: it draws, plays games again up to the
drawn positions, lays out targets, mirrors. What it makes is a pure function of the plan and the
files on disk, so it does not matter how many processes there are, or which of them makes a batch.
All columns of a batch lie in one block of shared memory: one file descriptor crosses to the
trainer, not one for each of thirteen tensors.
"""

import gc
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from multiprocessing import active_children
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset, Sampler

from vecchess import errors
from vecchess.errors import DataError, VecchessError, WorkerDied
from vecchess.learn.mirror import mirror
from vecchess.learn.plan import Plan
from vecchess.learn.samples import ROW_BYTES, Samples, samples_in
from vecchess.learn.window import Say, Shelf, Window
from vecchess.selfplay.pipe import stop_signals
from vecchess.selfplay.shield import held_back, ignore


@dataclass(frozen=True)
class Packet:
    """What comes back for a plan: B rows in one buffer, or an error."""

    buffer: torch.Tensor
    """uint8[B * ROW_BYTES]"""
    num_rows: int
    num_positions: int
    """Positions the window held."""
    notes: tuple[str, ...]
    """Lines for people."""
    error: tuple[str, str] | None = None
    """Name of a class in ``vecchess.errors`` and the line."""

    def pin_memory(self) -> "Packet":
        """The same rows where a GPU fetches them fastest; torch calls this."""
        return replace(self, buffer=self.buffer.pin_memory())


class Maker(Dataset[Packet]):
    """Makes packets; lives in a loader process, or here where there is none."""

    def __init__(self, shelf: Shelf, trace: float, is_shared: bool) -> None:
        """The window is opened with the first plan. ``is_shared``: packets cross to a parent."""
        self._shelf = shelf
        self._trace = trace
        self._is_shared = is_shared
        self._window: Window | None = None
        self._notes: list[str] = []

    def __getitem__(self, plan: Plan) -> Packet:
        """The rows of ``plan``. What a user can meet comes back in the packet, not as a raise."""
        try:
            buffer, num_positions = self._make(plan)
            error = None
        except VecchessError as raised:
            buffer, num_positions = torch.empty(0, dtype=torch.uint8), 0
            error = (type(raised).__name__, str(raised))
        notes, self._notes = tuple(self._notes), []
        return Packet(buffer, plan.rows, num_positions, notes, error)

    def _make(self, plan: Plan) -> tuple[torch.Tensor, int]:
        if self._window is None:
            self._window = Window(self._shelf, self._trace, self._notes.append)
        window = self._window
        window.update(plan.num_shards, plan.window_positions, plan.first_shard)
        buffer = self._empty(plan.rows * ROW_BYTES)
        if plan.rows:
            if not window.num_positions:
                raise DataError("there are no positions to learn from in the recorded games")
            samples = samples_in(buffer.numpy(), plan.rows)
            window.samples(plan.draw(window.num_positions), samples)
            if plan.mirror:
                _mirror(samples, plan)
        return buffer, window.num_positions

    def _empty(self, num_bytes: int) -> torch.Tensor:
        """uint8[num_bytes], zero, in shared memory where it will be sent to the parent."""
        if not self._is_shared or not num_bytes:
            return torch.zeros(num_bytes, dtype=torch.uint8)
        storage = torch.UntypedStorage._new_shared(num_bytes)
        return torch.empty(0, dtype=torch.uint8).set_(storage).zero_()


def _mirror(samples: Samples[NDArray[Any]], plan: Plan) -> None:
    mirror(samples.planes, samples.legal, samples.num_legal, plan.seed, plan.step, plan.first_row)


class Loader:
    """Turns plans into batches, ``num_workers`` processes working ahead of whoever uses them."""

    def __init__(
        self,
        shelf: Shelf,
        trace: float = 1.0,
        num_workers: int = 1,
        prefetch: int = 4,
        pin_memory: bool = False,
        say: Say = print,
    ) -> None:
        """Processes start with the first batch; 0 of them: made here, when asked for.

        trace: lambda of the returns. prefetch: batches a process is ahead. pin_memory: for a GPU.
        say: is told of shards that cannot be read, once each.
        """
        self._say = say
        self._said: set[str] = set()
        self._plans = _Plans()
        self._processes: list[BaseProcess] = []
        self._loader: DataLoader[Packet] | None = DataLoader(
            Maker(shelf, trace, num_workers > 0),
            batch_size=None,
            sampler=self._plans,
            num_workers=num_workers,
            multiprocessing_context="spawn" if num_workers else None,
            persistent_workers=num_workers > 0,
            prefetch_factor=prefetch if num_workers else None,
            worker_init_fn=_begin,
            pin_memory=pin_memory,
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
            yield _tensors(packet)

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
        gc.collect()  # torch joins its processes and threads when the last reference goes

    def _packets(self, plans: Iterable[Plan]) -> Iterator[Packet]:
        self._plans.plans = plans
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
            kind: Callable[[str], Exception] = getattr(errors, name)
            raise kind(line)


class _Plans(Sampler[Plan]):
    """Hands the plans of the iteration to torch, one after another."""

    def __init__(self) -> None:
        self.plans: Iterable[Plan] = ()

    def __iter__(self) -> Iterator[Plan]:
        return iter(self.plans)


def _begin(worker: int) -> None:
    """First thing in a loader process: the parent alone decides when to stop."""
    ignore(stop_signals())
    torch.set_num_threads(1)


def _tensors(packet: Packet) -> Samples[torch.Tensor]:
    """The columns of a packet, without copying; planes as int64, which torch can shift."""
    arrays = samples_in(packet.buffer.numpy(), packet.num_rows)
    bits = replace(arrays, planes=arrays.planes.view(np.int64))
    return bits.map(torch.from_numpy)
