"""The board on the way down a tree, the positions it left, and what the network sees of them."""

from typing import Any

import numpy as np

from vecchess.chess.bitboards.bits import load, store
from vecchess.chess.history import (
    MOST_POSITIONS,
    PAST_BYTES,
    REPEATED_SHIFT,
    copy_past,
    earlier_position,
    mark_repeated,
    mix_past,
    push_position,
)
from vecchess.chess.planes import (
    POSITION_INPUTS,
    clock_level,
    write_inputs,
    write_moves_behind,
)
from vecchess.chess.position import (
    COUNTERS,
    POSITION_BYTES,
    board_hash,
    clock_of,
    colour_of,
    copy_position,
)
from vecchess.chess.rules import FIFTY_MOVES_PLIES, KEYS_BYTES, plies_since_repeated
from vecchess.jit import inline

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_U = np.uint64


@inline
def set_root_board(forest: Any, index: Any) -> None:
    """Begin a path at the position to be searched in tree ``index``, with its history."""
    copy_position(forest.positions + index * POSITION_BYTES, forest.board)
    keys = forest.keys + index * KEYS_BYTES
    for clock in range(min(clock_of(forest.board), np.int64(FIFTY_MOVES_PLIES)) + 1):
        store(forest.path_keys, clock, load(keys, clock))
    copy_past(forest.board, forest.past + index * PAST_BYTES, forest.path_past, forest.seen)


@inline
def push_board(forest: Any, board: Any) -> None:
    """Add the position on the board, which a move is about to leave, to the path's past."""
    if forest.seen > 1:
        push_position(board, forest.path_past)
        if sees_positions(forest):
            left = earlier_position(board, forest.path_past, 0)
            mark_repeated(left, plies_since_repeated(board, forest.path_keys))


@inline
def sees_positions(forest: Any) -> Any:
    """Whether the network sees positions as they are, see ``chess/planes.py``."""
    return forest.row_bytes == 8 * POSITION_INPUTS


@inline
def write_request_planes(
    forest: Any, row: Any, board: Any, repetitions: Any, num_moves: Any, in_check: Any
) -> None:
    """Write the input words of a request row, whose legal moves are listed."""
    num_planes, past = forest.row_bytes // 8, forest.path_past
    planes = planes_of(forest, row)
    write_inputs(forest.tables, board, past, repetitions, in_check, num_planes, planes)
    write_moves_behind(forest.tables, board, forest.moves, num_moves, num_planes, planes)


@inline
def evaluation_key(forest: Any, board: Any, repetitions: Any) -> Any:
    """(key, check) of what the network sees: the board, whether it occurred before, the clock's
    level, and the positions before it. Equal boards with other pasts have others (decision 59).

    A network that sees positions as they are knows more: clock, colour, and what was repeated.
    """
    level = clock_level(clock_of(board))
    if sees_positions(forest):
        level = _all_counters(board, forest.path_past)
    has_occurred = np.int64(repetitions > 0)
    key, check = board_hash(board)
    key += _U(2 * level + has_occurred) * _GOLDEN
    return mix_past(key ^ key >> _U(29), check, board, forest.path_past, forest.seen)


@inline
def _all_counters(board: Any, past: Any) -> Any:
    """Clock and colour of a position, and which of the seven before it were repeated, ``int64``."""
    found = clock_of(board) << 8 | np.int64(colour_of(board)) << 7
    for plies in range(1, MOST_POSITIONS):
        counters = load(earlier_position(board, past, plies), COUNTERS)
        found |= np.int64(counters >> _U(REPEATED_SHIFT) & _U(1)) << (plies - 1)
    return found


@inline
def save_board(forest: Any, row: Any, board: Any) -> None:
    """Keep the position on the board, and those before it, in the planes of a request row.

    The next simulation overwrites board and past; H positions take 8 H words, the planes 12 H + 13
    or, of a network that sees positions, as many.
    """
    planes, past = planes_of(forest, row), forest.path_past
    copy_position(board, planes)
    for plies in range(1, forest.seen):
        copy_position(earlier_position(board, past, plies), planes + plies * POSITION_BYTES)


@inline
def restore_board(forest: Any, row: Any, board: Any) -> None:
    """Bring back what ``save_board`` kept."""
    planes, past = planes_of(forest, row), forest.path_past
    copy_position(planes, board)
    for plies in range(1, forest.seen):
        copy_position(planes + plies * POSITION_BYTES, earlier_position(board, past, plies))


@inline
def planes_of(forest: Any, row: Any) -> Any:
    """Address of the planes of a request row."""
    return forest.planes + row * forest.row_bytes
