"""Augmentation by the left-right mirror, which preserves the value of positions without castling.

a-file <-> h-file, e1 <-> d1: the bits of every byte of a plane are reversed, moves to the west
become moves to the east. No other rule of chess distinguishes left from right.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards.directions import UNDERPROMOTION_PLANE, plane_steps
from vecchess.jit import inline, kernel
from vecchess.rng import random_u64
from vecchess.shapes import NUM_ACTIONS

CASTLING_PLANES = (12, 16)
"""First and end of the planes of castling rights, see ``chess/planes.py``."""
_STREAM = 0x6D6972726F72
"""Keeps these draws apart from others with the same seed: the word "mirror"."""
_U = np.uint64
_HALF = _U(1 << 63)


@cache
def mirrored_actions() -> NDArray[np.uint16]:
    """uint16[4672]: the mirror image of each action."""
    steps = plane_steps() * (-1, 1)
    kinds = [_kind(plane, *step) for plane, step in enumerate(plane_steps())]
    mirrored = [kinds.index(_kind(plane, *step)) for plane, step in enumerate(steps)]
    planes, squares = np.divmod(np.arange(NUM_ACTIONS), 64)
    actions: NDArray[np.uint16] = (np.array(mirrored)[planes] * 64 + (squares ^ 7)).astype(
        np.uint16
    )
    return actions


def _kind(plane: int, files: int, ranks: int) -> tuple[int, int, int]:
    """Underpromotion piece (-1: none) and step in files and ranks of a move plane."""
    under = plane - UNDERPROMOTION_PLANE
    return (under // 3 if under >= 0 else -1), int(files), int(ranks)


def mirror(
    planes: NDArray[np.uint64],
    legal: NDArray[np.uint16],
    num_legal: NDArray[np.int32],
    seed: int,
    step: int,
    first_row: int = 0,
) -> None:
    """Mirror a random half of the rows without castling rights, in place.

    planes: uint64[B, P]; legal: uint16[B, L], of which num_legal: int32[B] are valid; they keep
    their order. (seed, step, first_row + i) alone decides row i. Only the newest position's rights
    count, and earlier positions are mirrored with it (decision 14).
    """
    _mirror(planes, legal, num_legal, mirrored_actions(), seed ^ _STREAM, step, first_row)


@kernel
def _mirror(planes, legal, num_legal, actions, seed, step, first_row):  # type: ignore[no-untyped-def]
    for row in range(len(num_legal)):
        rights = _U(0)
        for plane in range(CASTLING_PLANES[0], CASTLING_PLANES[1]):
            rights |= planes[row, plane]
        if rights != _U(0) or random_u64(seed, step, first_row + row) < _HALF:
            continue
        for plane in range(planes.shape[1]):
            planes[row, plane] = mirror_board(planes[row, plane])
        for index in range(num_legal[row]):
            legal[row, index] = actions[legal[row, index]]


@inline
def mirror_board(board: Any) -> Any:
    """``uint64``: a bitboard with its files mirrored, i.e. the bits of every byte reversed."""
    board = (board >> _U(1) & _U(0x5555555555555555)) | (board & _U(0x5555555555555555)) << _U(1)
    board = (board >> _U(2) & _U(0x3333333333333333)) | (board & _U(0x3333333333333333)) << _U(2)
    return (board >> _U(4) & _U(0x0F0F0F0F0F0F0F0F)) | (board & _U(0x0F0F0F0F0F0F0F0F)) << _U(4)
