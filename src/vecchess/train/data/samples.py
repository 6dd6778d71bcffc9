"""The layout of a batch of samples, and the memory that loader processes share for them."""

import os
import sys
import weakref
from collections.abc import Callable
from multiprocessing.heap import Arena
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.planes import NUM_PLANES
from vecchess.errors import ConfigError
from vecchess.shapes import MAX_MOVES, NUM_OUTCOMES

ArrayT = TypeVar("ArrayT")
OtherT = TypeVar("OtherT")

PREFETCH = 4
"""Batches that each loader process makes ahead of the trainer."""
_COLUMNS_BEHIND_PLANES: dict[str, tuple[tuple[int, ...], Any]] = {
    "played": ((), np.int64),
    "steps": ((), np.int64),
    "policy": ((MAX_MOVES,), np.float32),
    "value": ((NUM_OUTCOMES,), np.float32),
    "returned": ((NUM_OUTCOMES,), np.float32),
    "advantage": ((), np.float32),
    "prob": ((), np.float32),
    "num_legal": ((), np.int32),
    "legal": ((MAX_MOVES,), np.uint16),
    "outcome": ((), np.int8),
    "has_policy": ((), np.bool_),
    "has_value": ((), np.bool_),
}
"""Shape of one row and dtype of each column, the widest dtypes first: none needs padding."""


class Samples(NamedTuple, Generic[ArrayT]):
    """B positions, mover's view; numpy arrays or torch tensors.

    planes: uint64[B, P]      input planes as bitboards; int64 of the same bits as a tensor
    legal: uint16[B, L]       actions of the legal moves; the first num_legal are valid
    num_legal: int32[B]       1 to 218
    played: int64[B]          index in ``legal`` of the move played
    policy: float32[B, L]     target policy over ``legal``; sums to 1
    has_policy: bool[B]       False after a fast search and for a random move: ``policy`` is not to
                              be learnt; in a step float32[B], its weight, see ``copy_batch``
    outcome: int8[B]          the game's result for the mover: 1 won, 0 drawn, -1 lost
    value: float32[B, 3]      recorded win, draw, loss of the position; the root's if searched
    has_value: bool[B]        False: nothing evaluated the position, ``value`` is not valid
    prob: float32[B]          probability with which the move was drawn
    steps: int64[B]           time steps the network took; 0: it did not evaluate the position
    advantage: float32[B]     ``returned`` less ``value``, win minus loss; 0 without a value
    returned: float32[B, 3]   return as win, draw, loss: see ``returns.py``

    The policy is the recorded target of a search where there is one. Otherwise it is one-hot on
    the move played: the whole recommendation of a full search without a target (an engine's), and
    all that can be learnt from a move that was not searched (decision 21).
    """

    planes: ArrayT
    legal: ArrayT
    num_legal: ArrayT
    played: ArrayT
    policy: ArrayT
    has_policy: ArrayT
    outcome: ArrayT
    value: ArrayT
    has_value: ArrayT
    prob: ArrayT
    steps: ArrayT
    advantage: ArrayT
    returned: ArrayT

    def map(self, change: Callable[[ArrayT], OtherT]) -> "Samples[OtherT]":
        """The samples with ``change`` applied to every column, e.g. a slice of the rows."""
        return Samples(*map(change, self))


def row_bytes(num_planes: int) -> int:
    """Bytes of one row with P = ``num_planes``."""
    layout = _columns(num_planes).values()
    return sum(int(np.prod(shape)) * np.dtype(kind).itemsize for shape, kind in layout)


def samples_in(buffer: NDArray[np.uint8], num_rows: int, num_planes: int) -> Samples[NDArray[Any]]:
    """View of ``buffer``: uint8[B * row_bytes(P)] as B = ``num_rows`` rows, P = ``num_planes``."""
    arrays: dict[str, NDArray[Any]] = {}
    first = 0
    for name, (shape, kind) in _columns(num_planes).items():
        end = first + num_rows * int(np.prod(shape)) * np.dtype(kind).itemsize
        arrays[name] = buffer[first:end].view(kind).reshape(num_rows, *shape)
        first = end
    return Samples(**arrays)


def empty_samples(num_rows: int, planes: int = NUM_PLANES) -> Samples[NDArray[Any]]:
    """Rows of zeros, with P = ``planes``."""
    return samples_in(np.zeros(num_rows * row_bytes(planes), np.uint8), num_rows, planes)


def _columns(num_planes: int) -> dict[str, tuple[tuple[int, ...], Any]]:
    return {"planes": ((num_planes,), np.uint64)} | _COLUMNS_BEHIND_PLANES


class SharedBuffers:
    """One buffer for each batch under way, shared by the trainer and its loader processes.

    On Linux the memory is an anonymous file (``memfd_create``), so the size of /dev/shm, 64 MB
    with Docker, does not matter (decision 81). All pages are allocated at the start: a page that
    cannot be allocated later would end the writing process with SIGBUS.
    """

    def __init__(
        self,
        num_rows: int,
        num_workers: int = 0,
        prefetch: int = PREFETCH,
        planes: int = NUM_PLANES,
    ) -> None:
        """Buffers for ``num_workers`` loader processes; with 0, one for this process.

        ``num_rows``: B of the largest batch; ``planes``: P. Raises
        ConfigError where there is not enough memory.
        """
        self.num_rows = num_rows
        self.num_planes = planes
        self.num_workers = num_workers
        self.ahead = prefetch * num_workers
        """Batches under way besides the one in use."""
        self._num_bytes = num_rows * row_bytes(self.num_planes)
        self._arena: Arena | None = None
        self._own = np.zeros(0 if num_workers else self._num_bytes, np.uint8)
        if num_workers:
            self._arena = self._share((self.ahead + 1) * self._num_bytes)

    def __getitem__(self, index: int) -> NDArray[np.uint8]:
        """uint8[num_rows * row_bytes(P)]: buffer ``index`` modulo ``ahead`` + 1."""
        if self._arena is None:
            return self._own
        first = index % (self.ahead + 1) * self._num_bytes
        return np.frombuffer(self._arena.buffer, np.uint8, self._num_bytes, first)

    def _share(self, size: int) -> Arena:
        try:
            if sys.platform != "linux":
                return Arena(size)  # in /dev/shm or the folder for temporary files
            handle = os.memfd_create("vecchess-batches")
            weakref.finalize(self, os.close, handle)
            os.posix_fallocate(handle, 0, size)
            return Arena(size, handle)
        except OSError as error:
            raise ConfigError(
                f"{self.num_workers} loader processes need {size / 2**20:,.0f} MB of memory for "
                f"{self.ahead + 1} batches of {self.num_rows:,} under way: {error.strerror}; use "
                "--loaders 0, or fewer, or a smaller --batch-size"
            ) from None
