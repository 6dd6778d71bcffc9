"""What the network sees: 25 planes of 64 bits, all binary, from the mover's view, colour-blind.

    plane  0 ..  5   own pawns, knights, bishops, rooks, queens, king
           6 .. 11   their pawns, knights, bishops, rooks, queens, king
          12 .. 15   rooks that may castle: own king-side, own queen-side, theirs the same
          16         the square on which a pawn may be taken en passant
          17         the position occurred before in the game        0 or all ones
          18         the mover is in check                           0 or all ones
          19 .. 23   halfmove clock at least 16, 32, 48, 64, 80      0 or all ones each
          24         all ones: shows a padded convolution where the board ends

There is no plane for a second repetition: the game is over then.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vecchess.chess.bits import load, store
from vecchess.chess.movegen import in_check
from vecchess.chess.position import (
    CASTLING,
    DIAGONAL,
    KINGS,
    KNIGHTS,
    ORTHOGONAL,
    OWN,
    PAWNS,
    RANK_1,
    RANK_6,
    RANK_8,
    Positions,
    checked,
    clock_unbatched,
)  # fmt: skip
from vecchess.jit import inline, kernel

NUM_PLANES = 25
PLANES_BYTES = 8 * NUM_PLANES
CLOCK_STEPS = (16, 32, 48, 64, 80)
_U = np.uint64
_ZERO, _ALL = _U(0), _U(2**64 - 1)


@inline
def encode_planes_unbatched(position: Any, repetitions: Any, in_check: Any, planes: Any) -> None:
    """Write the ``uint64[NUM_PLANES]`` of a position at the address ``planes``."""
    own, rights, kings = load(position, OWN), load(position, CASTLING), load(position, KINGS)
    diagonal, orthogonal = load(position, DIAGONAL), load(position, ORTHOGONAL)
    queens = diagonal & orthogonal
    _both(planes, 0, load(position, PAWNS), own)
    _both(planes, 1, load(position, KNIGHTS), own)
    _both(planes, 2, diagonal ^ queens, own)
    _both(planes, 3, orthogonal ^ queens, own)
    _both(planes, 4, queens, own)
    _both(planes, 5, kings, own)
    own_side, their_side = (kings & own) - _U(1), (kings & ~own) - _U(1)  # left of the king
    store(planes, 12, rights & RANK_1 & ~own_side)
    store(planes, 13, rights & RANK_1 & own_side)
    store(planes, 14, rights & RANK_8 & ~their_side)
    store(planes, 15, rights & RANK_8 & their_side)
    store(planes, 16, rights & RANK_6)
    store(planes, 17, _ALL if repetitions >= 1 else _ZERO)
    store(planes, 18, _ALL if in_check else _ZERO)
    clock = clock_unbatched(position)
    for index, least in enumerate(CLOCK_STEPS):
        store(planes, 19 + index, _ALL if clock >= least else _ZERO)
    store(planes, 24, _ALL)


@inline
def clock_level_unbatched(clock: Any) -> Any:
    """How many of the planes of the halfmove clock are set, ``int64``."""
    level = np.int64(0)
    for least in CLOCK_STEPS:
        level += np.int64(clock >= least)
    return level


@inline
def _both(planes: Any, kind: Any, men: Any, own: Any) -> None:
    store(planes, kind, men & own)
    store(planes, kind + 6, men & ~own)


@kernel
def _encode(positions, num_positions, repetitions, checks, planes):  # type: ignore[no-untyped-def]
    for index in range(num_positions):
        encode_planes_unbatched(
            positions + index * 64, repetitions[index], checks[index],
            planes + index * (NUM_PLANES * 8),
        )  # fmt: skip


def encode_planes(positions: Positions, repetitions: ArrayLike = 0) -> NDArray[np.uint64]:
    """Input planes of positions, ``uint64[B, 8] -> uint64[B, NUM_PLANES]``, mover's view.

    ``repetitions``: earlier occurrences of each position in its game, ``int[B]`` or one for all.
    Bit ``s`` of a plane is square ``s``. Raises ValueError for wrong shapes.
    """
    positions = checked(positions)
    num = len(positions)
    seen = np.ascontiguousarray(np.broadcast_to(np.asarray(repetitions, np.int64), (num,)))
    planes = np.empty((num, NUM_PLANES), dtype=np.uint64)
    _encode(positions.ctypes.data, num, seen, in_check(positions), planes.ctypes.data)
    return planes
