"""The board on the way down a tree, the positions it left, and what the network sees of them."""

from typing import Any

import numpy as np

from vecchess.chess.bitboards.bits import load, load_i64, store
from vecchess.chess.history import (
    PAST_BYTES,
    copy_past,
    earlier_position,
    mix_past,
    push_position,
)
from vecchess.chess.planes import (
    clock_level,
    write_past_planes,
    write_planes,
)
from vecchess.chess.position import board_key, clock_of, copy_position
from vecchess.chess.rules import FIFTY_MOVES_PLIES, KEY_HISTORY
from vecchess.jit import inline
from vecchess.search.tree import forest_layout as descriptor
from vecchess.shapes import POSITION_WORDS

_POSITION_BYTES = 8 * POSITION_WORDS
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_U = np.uint64


@inline
def set_root_board(forest: Any, index: Any) -> None:
    """Put the position to be searched in tree ``index`` on the scratch board, its keys beside it,
    and the positions before it on the trail."""
    board, history = load_i64(forest, descriptor.BOARD), load_i64(forest, descriptor.HISTORY)
    copy_position(load_i64(forest, descriptor.POSITIONS) + index * _POSITION_BYTES, board)
    keys = load_i64(forest, descriptor.KEYS) + index * (8 * KEY_HISTORY)
    for clock in range(min(clock_of(board), np.int64(FIFTY_MOVES_PLIES)) + 1):
        store(history, clock, load(keys, clock))
    past = load_i64(forest, descriptor.PAST) + index * PAST_BYTES
    trail, seen = load_i64(forest, descriptor.TRAIL), load_i64(forest, descriptor.SEEN)
    copy_past(board, past, trail, seen)


@inline
def push_board(forest: Any, board: Any) -> None:
    """A move is about to leave the position on the board."""
    if load_i64(forest, descriptor.SEEN) > 1:
        push_position(board, load_i64(forest, descriptor.TRAIL))


@inline
def write_request_planes(
    forest: Any, row: Any, board: Any, repetitions: Any, in_check: Any
) -> None:
    """Write the planes of a request row."""
    planes = planes_of(forest, row)
    write_planes(board, repetitions, in_check, planes)
    trail, seen = load_i64(forest, descriptor.TRAIL), load_i64(forest, descriptor.SEEN)
    write_past_planes(board, trail, seen, planes)


@inline
def evaluation_key(forest: Any, board: Any, repetitions: Any) -> Any:
    """Key of what the network sees: the board, whether it occurred before, the clock's level, and
    the positions before it. Equal boards with other pasts have other keys."""
    level = clock_level(clock_of(board))
    seen = np.int64(repetitions > 0)
    key = board_key(board) + _U(2 * level + seen) * _GOLDEN
    trail = load_i64(forest, descriptor.TRAIL)
    return mix_past(key ^ key >> _U(29), board, trail, load_i64(forest, descriptor.SEEN))


@inline
def save_board(forest: Any, row: Any, board: Any) -> None:
    """Keep a position in the planes of a request row, and those before it behind it.

    The trail is for the next simulation; H positions take 8 H words, the planes 12 H + 13.
    """
    planes, trail = planes_of(forest, row), load_i64(forest, descriptor.TRAIL)
    copy_position(board, planes)
    for plies in range(1, load_i64(forest, descriptor.SEEN)):
        copy_position(earlier_position(board, trail, plies), planes + plies * _POSITION_BYTES)


@inline
def restore_board(forest: Any, row: Any, board: Any) -> None:
    """Put what ``save_board`` kept on the board and the trail again."""
    planes, trail = planes_of(forest, row), load_i64(forest, descriptor.TRAIL)
    copy_position(planes, board)
    for plies in range(1, load_i64(forest, descriptor.SEEN)):
        copy_position(planes + plies * _POSITION_BYTES, earlier_position(board, trail, plies))


@inline
def planes_of(forest: Any, row: Any) -> Any:
    """Address of the planes of a request row."""
    return load_i64(forest, descriptor.PLANES) + row * load_i64(forest, descriptor.ROW_BYTES)
