"""When a game is over: mate, stalemate, repetition, fifty moves, dead material, a cap on plies.

Draws that a player may claim count as soon as the board allows it (decision 4). The order follows
python-chess: mate, material, stalemate, fifty moves, repetition; then the cap.

A game keeps the keys of its positions since the last capture or pawn move, at the index of the
halfmove clock, so a move that resets the clock resets the history without touching it:

    keys: uint64[102]   key of clock 0 | key of clock 1 | ... | key of clock 100 | unused
"""

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vecchess.chess.bitboards.bits import load, popcount, store
from vecchess.chess.movegen import count_moves
from vecchess.chess.position import (
    DIAGONAL,
    KNIGHTS,
    ORTHOGONAL,
    PAWNS,
    POSITION_BYTES,
    Positions,
    checked,
    clock_of,
    ply_of,
    position_key,
)  # fmt: skip
from vecchess.jit import inline, kernel

KEY_HISTORY = 102
"""Keys a game needs room for. Zero them before a game whose start has a clock above 0."""
KEYS_BYTES = 8 * KEY_HISTORY
FIFTY_MOVES_PLIES = 100
NO_PLY_CAP = 2**32
_U = np.uint64
_LIGHT = _U(0x55AA55AA55AA55AA)


class Termination(IntEnum):
    """Why a game is over. The last three are decided by self-play, not by the board."""

    ONGOING = 0
    CHECKMATE = 1
    STALEMATE = 2
    THREEFOLD = 3
    FIFTY_MOVES = 4
    INSUFFICIENT_MATERIAL = 5
    PLY_CAP = 6
    RESIGNATION = 7
    ADJUDICATION = 8
    TABLEBASE = 9


_ONGOING, _CHECKMATE, _STALEMATE, _THREEFOLD, _FIFTY, _MATERIAL, _CAP, *_ = map(int, Termination)


@inline
def push_key(position: Any, keys: Any) -> Any:
    """Add the position to the history at the address ``keys`` (``uint64[102]``).

    Returns how often it occurred before, ``int64``. Beyond clock 100 the game is over by the
    fifty-move rule: nothing is written and 0 returned.
    """
    clock = clock_of(position)
    if clock > FIFTY_MOVES_PLIES:
        return 0
    key = position_key(position)
    store(keys, clock, key)
    repetitions = np.int64(0)
    for earlier in range(clock - 4, -1, -2):
        repetitions += np.int64(load(keys, earlier) == key)
    return repetitions


def checked_keys(keys: NDArray[np.uint64], num_games: int) -> NDArray[np.uint64]:
    """The histories as a contiguous ``uint64[G, 102]`` of so many games; ValueError for others."""
    if keys.dtype != np.uint64 or keys.shape != (num_games, KEY_HISTORY):
        found = f"{keys.dtype}{list(keys.shape)}"
        raise ValueError(f"keys must be uint64[{num_games}, {KEY_HISTORY}], not {found}")
    return np.ascontiguousarray(keys)


@inline
def plies_since_repeated(position: Any, keys: Any) -> Any:
    """Plies since the position occurred last, ``int64``; 0 if it did not.

    It is the last of the history at the address ``keys``, see ``push_key``.
    """
    clock = clock_of(position)
    key = load(keys, clock)
    for earlier in range(clock - 4, -1, -2):
        if load(keys, earlier) == key:
            return np.int64(clock - earlier)
    return np.int64(0)


@inline
def is_dead(position: Any) -> Any:
    """True when neither side can mate by any sequence of moves, as python-chess judges it.

    That is: kings and one knight, or kings and bishops that all stand on one colour of squares.
    """
    if (load(position, PAWNS) | load(position, ORTHOGONAL)) != _U(0):
        return False
    knights, bishops = load(position, KNIGHTS), load(position, DIAGONAL)
    if knights != _U(0):
        return popcount(knights | bishops) == _U(1)
    return bishops & _LIGHT == _U(0) or bishops & ~_LIGHT == _U(0)


@inline
def termination_of(
    position: Any, num_moves: Any, in_check: Any, repetitions: Any, max_plies: Any
) -> Any:
    """Code of ``Termination``, ``int64``, with the mover's legal moves and check already known.

    ``repetitions`` counts earlier occurrences; ``max_plies`` is compared with the game's ply.
    """
    if num_moves == 0 and in_check:
        return _CHECKMATE
    if is_dead(position):
        return _MATERIAL
    if num_moves == 0:
        return _STALEMATE
    if clock_of(position) >= FIFTY_MOVES_PLIES:
        return _FIFTY
    if repetitions >= 2:
        return _THREEFOLD
    return _CAP if ply_of(position) >= max_plies else _ONGOING


@kernel
def _terminations(positions, num_moves, checks, repetitions, max_plies, codes):  # type: ignore[no-untyped-def]
    for index in range(len(codes)):
        position = positions + index * POSITION_BYTES
        codes[index] = termination_of(
            position, num_moves[index], checks[index], repetitions[index], max_plies
        )


def terminations(
    positions: Positions, repetitions: ArrayLike = 0, max_plies: int = NO_PLY_CAP
) -> NDArray[np.uint8]:
    """Why each game is over, ``uint64[G, 8] -> uint8[G]`` of ``Termination``.

    ``repetitions``: earlier occurrences of each position in its game, ``int[G]`` or one for all.
    ``max_plies``: the cap on the game's ply number. Raises ValueError for wrong shapes.
    """
    positions = checked(positions)
    num_moves, checks = count_moves(positions)
    codes = np.empty(len(positions), dtype=np.uint8)
    seen = np.ascontiguousarray(np.broadcast_to(np.asarray(repetitions, np.int64), codes.shape))
    _terminations(positions.ctypes.data, num_moves, checks, seen, max_plies, codes)
    return codes
