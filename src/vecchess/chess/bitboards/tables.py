"""All lookup tables in one block of memory, so that a kernel needs a single address for them.

    word      0  KNIGHT   64            squares a knight attacks
             64  KING     64            squares a king attacks
            128  RAYS     64 x 8        rays from a square, in the lanes of ``rays.py``
            640  SLIDERS  64 x 4        rook mask, rook offset, bishop mask, bishop offset
            896  ACTIONS  4096 uint16   action code of ``move & 4095``, see ``action.py``
           1920  MOVES    4672 uint16   move of an action, without a queen's promotion bits
           3088  ATTACKS  107648        slider attacks, indexed by offset + pext(occupied, mask)

The block is built on first use (some 20 ms) and lives as long as the process.
"""

from functools import cache
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards.directions import action_moves, move_actions
from vecchess.chess.bitboards.rays import ARRIVALS, SHIFTS

KNIGHT, KING, RAYS, SLIDERS, ACTIONS, MOVES, ATTACKS = 0, 64, 128, 640, 896, 1920, 3088
_ROOK_LANES, _BISHOP_LANES = (0, 1, 4, 5), (2, 3, 6, 7)
_LOCK = Lock()
_U = np.uint64
Words = NDArray[np.uint64]


def address() -> int:
    """Address of the block: the first argument of most kernels. Valid in this process only."""
    with _LOCK:  # two threads would build two blocks, and the cache drop one that is in use
        return int(block().ctypes.data)


@cache
def block() -> Words:
    squares = _U(1) << np.arange(64, dtype=_U)
    header = np.zeros(ATTACKS, dtype=_U)
    header[KNIGHT : KNIGHT + 64] = _leaps(squares)
    header[KING : KING + 64] = np.bitwise_or.reduce([_step(squares, n) for n in range(8)])
    rays = np.stack([_slide(squares, np.zeros(64, _U), lane) for lane in range(8)], axis=1)
    header[RAYS : RAYS + 512] = rays.ravel()
    header[ACTIONS : ACTIONS + 1024] = move_actions().view(_U)
    header[MOVES : MOVES + 1168] = action_moves().view(_U)
    parts, offset = [header], ATTACKS
    for square in range(64):
        for kind, lanes in enumerate((_ROOK_LANES, _BISHOP_LANES)):
            mask, attacks = _lookup(squares[square], lanes)
            header[SLIDERS + 4 * square + 2 * kind :][:2] = mask, offset
            parts.append(attacks)
            offset += len(attacks)
    return _aligned(np.concatenate(parts))


def _aligned(words: Words) -> Words:
    """``words`` in an array that starts on a cache line: a row of rays is then one line."""
    room = np.empty(len(words) + 8, dtype=_U)
    start = (-room.ctypes.data // 8) % 8
    room[start : start + len(words)] = words
    return room[start : start + len(words)]


def _step(men: Words, lane: int) -> Words:
    """All pieces one step in a direction; those at the edge fall off the board."""
    left, right = _U(SHIFTS[lane]), _U(64 - SHIFTS[lane])
    return ((men << left) | (men >> right)) & _U(ARRIVALS[lane])


def _slide(men: Words, occupied: Words, lane: int) -> Words:
    """Squares seen from ``men`` in a direction, up to and including the first one occupied."""
    seen = np.zeros_like(men)
    for _ in range(7):
        men = _step(men, lane)
        seen |= men
        men = men & ~occupied
    return seen


def _leaps(squares: Words) -> Words:
    """Squares a knight attacks: one step along a line, one more along a diagonal beside it."""
    turns = ((0, 2), (0, 3), (1, 2), (1, 7), (4, 6), (4, 7), (5, 3), (5, 6))
    leaps: Words = np.bitwise_or.reduce([_step(_step(squares, one), two) for one, two in turns])
    return leaps


def _lookup(square: np.uint64, lanes: tuple[int, ...]) -> tuple[np.uint64, Words]:
    """Mask of the squares that can hide others from a slider, and its attacks for each subset."""
    start, none = np.array([square]), np.zeros(1, dtype=_U)
    mask = _U(0)
    for lane in lanes:
        ray = _slide(start, none, lane)
        mask |= _step(_step(ray, lane), lane ^ 4)[0]  # squares with a further one behind
    places = [square for square in range(64) if int(mask) >> square & 1]
    subsets = np.arange(1 << len(places), dtype=_U)
    occupied = np.zeros_like(subsets)
    for index, place in enumerate(places):
        occupied |= (subsets >> _U(index) & _U(1)) << _U(place)
    starts = np.full_like(subsets, square)
    attacks: Words = np.bitwise_or.reduce([_slide(starts, occupied, lane) for lane in lanes])
    return mask, attacks
