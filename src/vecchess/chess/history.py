"""The last positions of a game, for networks with history planes.

    past    uint64[8, 8]    the position of ply p of the game in row p % 8, in its own mover's
                            view; zero where the game has no such position

Plies are those in the positions, so a game may begin at any. A position is added when a move
leaves it, to a ring of eight, which needs no shifting (decision 12). Matches, engines and
analysis, and searches for networks that ask for it, mark it there where it had occurred before
in its game.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards.bits import load, store
from vecchess.chess.position import (
    COUNTERS,
    POSITION_BYTES,
    board_hash,
    copy_position,
    ply_of,
)
from vecchess.jit import inline
from vecchess.shapes import POSITION_WORDS

MOST_POSITIONS = 8
"""Most positions that a network sees, the newest included."""
PAST_WORDS = MOST_POSITIONS * POSITION_WORDS
PAST_BYTES = 8 * PAST_WORDS
REPEATED_SHIFT = 62
"""Bit of the counters, in a past and in ``planes.POSITION_INPUTS``: the position had occurred
before in its game. It is never set on a board."""

Pasts = NDArray[np.uint64]
"""``uint64[G, 8, 8]``"""

_U = np.uint64
_GOLDEN = _U(0x9E3779B97F4A7C15)


def no_past(num_games: int) -> Pasts:
    """``uint64[G, 8, 8]`` of games that begin."""
    return np.zeros((num_games, MOST_POSITIONS, POSITION_WORDS), np.uint64)


def checked_past(past: Pasts, num_games: int) -> Pasts:
    """The past as a contiguous ``uint64[G, 8, 8]`` of so many games; ValueError for another."""
    wanted = (num_games, MOST_POSITIONS, POSITION_WORDS)
    if past.dtype != np.uint64 or past.shape != wanted:
        found = f"{past.dtype}{list(past.shape)}"
        raise ValueError(f"the past must be uint64{list(wanted)}, not {found}")
    return np.ascontiguousarray(past)


@inline
def push_position(position: Any, past: Any) -> None:
    """Add the position that a move is about to leave to the past at address ``past``."""
    copy_position(position, _row(past, ply_of(position)))


@inline
def mark_repeated(position: Any, repetitions: Any) -> None:
    """Mark the position, a copy in a past or in a question, where it has ``repetitions``."""
    bit = _U(repetitions > 0) << _U(REPEATED_SHIFT)
    store(position, COUNTERS, load(position, COUNTERS) | bit)


@inline
def earlier_position(position: Any, past: Any, plies: Any) -> Any:
    """Address of the position so many plies, 1 to 7, before ``position``; zero if there is none."""
    return _row(past, ply_of(position) - plies)


@inline
def clear_past(past: Any) -> None:
    """The past of a game that begins."""
    for word in range(PAST_WORDS):
        store(past, word, _U(0))


@inline
def copy_past(position: Any, source: Any, target: Any, history: Any) -> None:
    """Copy the ``history`` - 1 positions before ``position`` from one past to another."""
    for plies in range(1, history):
        earlier = earlier_position(position, source, plies)
        copy_position(earlier, earlier_position(position, target, plies))


@inline
def mix_past(key: Any, check: Any, position: Any, past: Any, history: Any) -> Any:
    """``(key, check)``, ``uint64``, with those of the ``history`` - 1 positions before ``position``
    mixed in, in order. With a history of 1 they stay as they are."""
    for plies in range(1, history):
        earlier_key, earlier_check = board_hash(earlier_position(position, past, plies))
        key = (key + earlier_key) * _GOLDEN
        key ^= key >> _U(32)
        check = (check + earlier_check) * _GOLDEN
    return key, check


@inline
def _row(past: Any, ply: Any) -> Any:
    return past + (ply & (MOST_POSITIONS - 1)) * POSITION_BYTES
