"""What a training step is given: positions, and what is known about each."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.planes import num_planes
from vecchess.shapes import MAX_MOVES, NUM_OUTCOMES

ArrayT = TypeVar("ArrayT")
OtherT = TypeVar("OtherT")

OTHER_COLUMNS: dict[str, tuple[tuple[int, ...], Any]] = {
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
"""Shape of one row and type of each column behind the planes, the widest types first: none needs
padding."""


def columns(num_planes: int) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Shape of one row and type of each column, in their order, with P = ``num_planes``."""
    return {"planes": ((num_planes,), np.uint64)} | OTHER_COLUMNS


def row_bytes(num_planes: int) -> int:
    """Bytes of one row of all columns."""
    kinds = columns(num_planes).values()
    return sum(int(np.prod(shape)) * np.dtype(kind).itemsize for shape, kind in kinds)


@dataclass(frozen=True)
class Samples(Generic[ArrayT]):
    """B positions, mover's view; numpy arrays or torch tensors.

    planes: uint64[B, P]      input planes as bitboards; int64 of the same bits as a tensor
    legal: uint16[B, L]       actions of the legal moves; the first num_legal are meant
    num_legal: int32[B]       1 to 218
    played: int64[B]          index in ``legal`` of the move played
    policy: float32[B, L]     what the policy is to be, over ``legal``; sums to 1
    has_policy: bool[B]       False where ``policy`` is not to be learnt: after a fast search
    outcome: int8[B]          the game's result for the mover: 1 won, 0 drawn, -1 lost
    value: float32[B, 3]      recorded win, draw, loss of the position; the root's if searched
    has_value: bool[B]        somebody judged the position; else ``value`` means nothing
    prob: float32[B]          probability with which the move was drawn
    steps: int64[B]           time steps the network took; 0: it was not asked
    advantage: float32[B]     ``returned`` less ``value``, win minus loss; 0 without a value
    returned: float32[B, 3]   what followed, as win, draw, loss: see ``returns.py``

    The policy is the recorded target of a search where there is one. Else it is all on the move
    played: that is the whole recommendation of a full search without a target (an engine's), and
    all there is to learn of a move that nobody searched.
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
        """Every column changed alike: moved to a device, or a slice of the rows."""
        return Samples(**{field.name: change(getattr(self, field.name)) for field in fields(self)})


def samples_in(buffer: NDArray[np.uint8], num_rows: int, num_planes: int) -> Samples[NDArray[Any]]:
    """B = ``num_rows`` rows of P = ``num_planes`` that live in ``buffer``: uint8[B * row_bytes(P)].

    Their content is its.
    """
    arrays: dict[str, NDArray[Any]] = {}
    first = 0
    for name, (shape, kind) in columns(num_planes).items():
        end = first + num_rows * int(np.prod(shape)) * np.dtype(kind).itemsize
        arrays[name] = buffer[first:end].view(kind).reshape(num_rows, *shape)
        first = end
    return Samples(**arrays)


def empty_samples(num_rows: int, history: int = 1) -> Samples[NDArray[Any]]:
    """Rows to be filled, for a network that sees ``history`` positions; all zero."""
    planes = num_planes(history)
    return samples_in(np.zeros(num_rows * row_bytes(planes), np.uint8), num_rows, planes)
