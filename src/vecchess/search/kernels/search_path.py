"""The board on the way down a tree, the positions it left, and what the network sees of them."""

from typing import Any

import numpy as np

from vecchess.chess.bitboards.bits import load, load_i64, store
from vecchess.chess.history import (
    PAST_BYTES,
    copy_past_unbatched,
    earlier_unbatched,
    mix_past_unbatched,
    note_unbatched,
)
from vecchess.chess.planes import (
    clock_level_unbatched,
    encode_past_unbatched,
    encode_planes_unbatched,
)
from vecchess.chess.position import board_key_unbatched, clock_unbatched, copy_unbatched
from vecchess.chess.rules import FIFTY_MOVES_PLIES, KEY_HISTORY
from vecchess.jit import inline
from vecchess.search.tree import forest_layout as descriptor
from vecchess.shapes import POSITION_WORDS

_POSITION_BYTES = 8 * POSITION_WORDS
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_U = np.uint64


@inline
def set_board_unbatched(forest: Any, index: Any) -> None:
    """Put the position to be searched in tree ``index`` on the scratch board, its keys beside it,
    and the positions before it on the trail."""
    board, history = load_i64(forest, descriptor.BOARD), load_i64(forest, descriptor.HISTORY)
    copy_unbatched(load_i64(forest, descriptor.POSITIONS) + index * _POSITION_BYTES, board)
    keys = load_i64(forest, descriptor.KEYS) + index * (8 * KEY_HISTORY)
    for clock in range(min(clock_unbatched(board), np.int64(FIFTY_MOVES_PLIES)) + 1):
        store(history, clock, load(keys, clock))
    past = load_i64(forest, descriptor.PAST) + index * PAST_BYTES
    trail, seen = load_i64(forest, descriptor.TRAIL), load_i64(forest, descriptor.SEEN)
    copy_past_unbatched(board, past, trail, seen)


@inline
def leave_unbatched(forest: Any, board: Any) -> None:
    """A move is about to leave the position on the board."""
    if load_i64(forest, descriptor.SEEN) > 1:
        note_unbatched(board, load_i64(forest, descriptor.TRAIL))


@inline
def encode_unbatched(forest: Any, row: Any, board: Any, repetitions: Any, in_check: Any) -> None:
    """Write the planes of a request row."""
    planes = planes_of(forest, row)
    encode_planes_unbatched(board, repetitions, in_check, planes)
    trail, seen = load_i64(forest, descriptor.TRAIL), load_i64(forest, descriptor.SEEN)
    encode_past_unbatched(board, trail, seen, planes)


@inline
def evaluation_key_unbatched(forest: Any, board: Any, repetitions: Any) -> Any:
    """Key of what the network sees: the board, whether it occurred before, the clock's level, and
    the positions before it. Equal boards with other pasts have other keys."""
    level = clock_level_unbatched(clock_unbatched(board))
    seen = np.int64(repetitions > 0)
    key = board_key_unbatched(board) + _U(2 * level + seen) * _GOLDEN
    trail = load_i64(forest, descriptor.TRAIL)
    return mix_past_unbatched(key ^ key >> _U(29), board, trail, load_i64(forest, descriptor.SEEN))


@inline
def put_aside_unbatched(forest: Any, row: Any, board: Any) -> None:
    """Keep a position in the planes of a request row, and those before it behind it.

    The trail is for the next simulation; H positions take 8 H words, the planes 12 H + 13.
    """
    planes, trail = planes_of(forest, row), load_i64(forest, descriptor.TRAIL)
    copy_unbatched(board, planes)
    for plies in range(1, load_i64(forest, descriptor.SEEN)):
        copy_unbatched(earlier_unbatched(board, trail, plies), planes + plies * _POSITION_BYTES)


@inline
def bring_back_unbatched(forest: Any, row: Any, board: Any) -> None:
    """Put what ``put_aside_unbatched`` kept on the board and the trail again."""
    planes, trail = planes_of(forest, row), load_i64(forest, descriptor.TRAIL)
    copy_unbatched(planes, board)
    for plies in range(1, load_i64(forest, descriptor.SEEN)):
        copy_unbatched(planes + plies * _POSITION_BYTES, earlier_unbatched(board, trail, plies))


@inline
def planes_of(forest: Any, row: Any) -> Any:
    """Address of the planes of a request row."""
    return load_i64(forest, descriptor.PLANES) + row * load_i64(forest, descriptor.ROW_BYTES)
