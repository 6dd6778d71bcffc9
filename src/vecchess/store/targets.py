"""Recorded policy targets mapped onto the legal moves of their positions.

A record lists a target's moves by action code; a network answers in the order of move generation. A
table from code to index maps one to the other. It is never cleared: an entry counts only if the
legal move at that index has that code.

Decision 64.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards.bits import load16, load_u16, store16
from vecchess.errors import DataError
from vecchess.jit import inline, kernel
from vecchess.shapes import NUM_ACTIONS
from vecchess.store.records import GameRecords

NOT_LEGAL = -1
_ALL_FIT = -1


@inline
def index_actions(legal: Any, count: Any, places: Any) -> None:
    """Write the index of each of ``count`` actions to ``places``, the address of uint16[4672]."""
    for index in range(count):
        store16(places, load_u16(legal, index), index)


@inline
def action_index(legal: Any, count: Any, places: Any, action: Any) -> Any:
    """Index of ``action`` among the indexed ``legal``, ``int64``; NOT_LEGAL where it is missing."""
    if action >= NUM_ACTIONS:
        return NOT_LEGAL
    index = load_u16(places, action)
    if index >= count or load16(legal, index) != np.uint64(action):
        return NOT_LEGAL
    return index


@inline
def target_weight(legal: Any, count: Any, places: Any, target: Any) -> Any:
    """Sum of the weights of a target, ``int64``; 0 where one of its moves is not legal.

    ``target``: addresses of its actions and weights (uint16), then the first and the end of it.
    """
    actions, weights, first, end = target
    total = np.int64(0)
    for item in range(first, end):
        if action_index(legal, count, places, load_u16(actions, item)) == NOT_LEGAL:
            return np.int64(0)
        total += load_u16(weights, item)
    return total


@kernel
def _lay_out(offsets, actions, weights, plies, legal, num_legal, places, laid):  # type: ignore[no-untyped-def]
    """Fill the rows of ``laid`` whose ply has a target; returns the first row with a bad one."""
    codes, parts = np.int64(actions.ctypes.data), np.int64(weights.ctypes.data)
    table, stride = np.int64(places.ctypes.data), legal.shape[1] * 2
    for row in range(len(plies)):
        first, end = offsets[plies[row]], offsets[plies[row] + 1]
        if first == end:
            continue
        listed, count = np.int64(legal.ctypes.data) + row * stride, np.int64(num_legal[row])
        index_actions(listed, count, table)
        total = target_weight(listed, count, table, (codes, parts, first, end))
        if total == 0:
            return row
        for item in range(first, end):
            place = action_index(listed, count, table, load_u16(codes, item))
            laid[row, place] = load_u16(parts, item) / total
    return _ALL_FIT


def lay_out_targets(
    records: GameRecords,
    plies: NDArray[np.int64],
    legal: NDArray[np.uint16],
    num_legal: NDArray[np.uint8],
) -> NDArray[np.float64]:
    """The recorded targets of ``plies`` over their legal moves: float64[B, L], rows sum to 1.

    plies: int64[B], indices into the ply columns. legal: uint16[B, L], of which num_legal:
    uint8[B] count. The row of a ply without a target is zero. Raises DataError where a target has
    moves that are not legal, or no weight at all.
    """
    legal = np.ascontiguousarray(legal)
    laid = np.zeros(legal.shape)
    bad = _lay_out(
        records.target_offsets,
        np.ascontiguousarray(records.target_action),
        np.ascontiguousarray(records.target_prob),
        plies,
        legal,
        num_legal,
        np.empty(NUM_ACTIONS, np.uint16),
        laid,
    )
    if bad != _ALL_FIT:
        raise target_error(records, int(plies[bad]))
    return laid


def target_error(records: GameRecords, ply: int) -> DataError:
    """The error of a target that does not fit; ``ply`` is an index into the ply columns."""
    number, ply = records.locate(ply)
    return DataError(f"game {number}, ply {ply}: the recorded target does not fit the legal moves")
