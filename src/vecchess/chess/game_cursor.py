"""A game followed ply by ply inside kernels: position, keys since the last capture, last positions.

A cursor is a tuple of four addresses: the position (``uint64[8]``), the keys that tell repetitions
(``uint64[102]``, ``rules``), the earlier positions that networks see (``uint64[8, 8]``,
``history``) and room for a list of moves (``uint16[MOVE_BUFFER]``).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import action_to_move, write_actions
from vecchess.chess.bitboards.bits import load16, store
from vecchess.chess.history import PAST_WORDS, clear_past, push_position
from vecchess.chess.make import make_move
from vecchess.chess.movegen import MOVE_BUFFER
from vecchess.chess.planes import write_inputs, write_moves_behind
from vecchess.chess.position import clock_of, copy_position, position_key
from vecchess.chess.rules import FIFTY_MOVES_PLIES, KEY_HISTORY
from vecchess.jit import inline
from vecchess.shapes import POSITION_WORDS


class CursorMemory(NamedTuple):
    """The arrays behind a cursor, owned by the caller of a kernel."""

    position: NDArray[np.uint64]
    keys: NDArray[np.uint64]
    past: NDArray[np.uint64]
    moves: NDArray[np.uint16]


def cursor_memory() -> CursorMemory:
    """Memory for one cursor; its content means nothing before ``begin_game``."""
    return CursorMemory(
        np.empty(POSITION_WORDS, np.uint64),
        np.empty(KEY_HISTORY, np.uint64),
        np.empty(PAST_WORDS, np.uint64),
        np.empty(MOVE_BUFFER, np.uint16),
    )


@inline
def cursor_of(memory: Any) -> Any:
    """The four addresses of ``memory``."""
    return (
        np.int64(memory.position.ctypes.data),
        np.int64(memory.keys.ctypes.data),
        np.int64(memory.past.ctypes.data),
        np.int64(memory.moves.ctypes.data),
    )


@inline
def begin_game(cursor: Any, start: Any, history: Any) -> None:
    """Set the cursor to the position at the address ``start``; nothing lies before it.

    ``history``: positions that the network sees; with 1 the earlier positions stay untouched.
    """
    position, keys, past, _ = cursor
    copy_position(start, position)
    for index in range(KEY_HISTORY):  # a start position may come with a clock
        store(keys, index, np.uint64(0))
    if history > 1:
        clear_past(past)


@inline
def play_action(tables: Any, cursor: Any, action: Any, is_seen_later: Any) -> None:
    """Make the move of a legal ``action``, and remember the position before it.

    ``is_seen_later``: whether a network may be shown that position as an earlier one.
    """
    position, keys, past, _ = cursor
    if is_seen_later:
        push_position(position, past)
    clock = clock_of(position)
    if clock <= FIFTY_MOVES_PLIES:
        store(keys, clock, position_key(position))
    make_move(tables, position, action_to_move(tables, position, action))


@inline
def move_index(cursor: Any, count: Any, move: Any) -> Any:
    """Index of ``move`` among the first ``count`` of the list; ``count`` where it is missing."""
    moves = cursor[3]
    for index in range(count):
        if load16(moves, index) == move:
            return index
    return count


@inline
def write_question(
    tables: Any, cursor: Any, generated: Any, repetitions: Any, num_planes: Any, rows: Any
) -> None:
    """Write what a network is asked about the position: its input words and legal actions.

    ``generated``: the answer of ``generate_moves``, which has filled the list of moves.
    ``repetitions``: of ``push_key``. ``rows``: addresses of the planes and of the legal actions.
    """
    position, _, past, moves = cursor
    planes, legal = rows
    write_actions(tables, moves, generated & 0xFFFF, legal)
    write_inputs(tables, position, past, repetitions, generated >> 16, num_planes, planes)
    write_moves_behind(tables, position, moves, generated & 0xFFFF, num_planes, planes)
