"""The layout of a batch of samples."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.planes import NUM_PLANES
from vecchess.shapes import MAX_MOVES, NUM_OUTCOMES

ArrayT = TypeVar("ArrayT")
OtherT = TypeVar("OtherT")

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
