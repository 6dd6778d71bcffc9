"""AlphaZero's action code, ``plane * 64 + from``, mover's view, to moves and back.

The 73 planes are drawn in ``bitboards/directions.py``. Castling is king takes own rook
(decision 2), hence a queen-like plane; so is promotion to a queen, which only the position can tell
from another move.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.bitboards.bits import load, load16, store16
from vecchess.chess.bitboards.directions import NO_ACTION, NO_MOVE, UNDERPROMOTION_PLANE
from vecchess.chess.position import PAWNS, POSITION_BYTES, Positions, checked
from vecchess.jit import inline, kernel
from vecchess.shapes import MAX_MOVES, NUM_ACTIONS

LEGAL_BYTES = 2 * MAX_MOVES
"""Bytes of a row with the actions of the legal moves of a position."""
_U = np.uint64
_FIRST_UNDERPROMOTION = UNDERPROMOTION_PLANE * 64
_QUEEN_PROMOTION = 4 << 12
_ROOK_PROMOTION = 3 << 12


@inline
def move_to_action(tables: Any, move: Any) -> Any:
    """The action of a legal move, ``uint64``."""
    move = _U(move)
    promotion, square = move >> _U(12), move & _U(63)
    if promotion == _U(0) or promotion == _U(4):
        return load16(tables, np.int64(lookup.ACTIONS * 4) + np.int64(move & _U(4095)))
    side = (move >> _U(6) & _U(63)) - square - _U(7)
    return (_U(UNDERPROMOTION_PLANE - 3) + _U(3) * promotion + side) * _U(64) + square


@inline
def write_actions(tables: Any, moves: Any, num_moves: Any, actions: Any) -> None:
    """Write the actions of ``num_moves`` moves at the address ``moves`` to ``actions``."""
    for index in range(np.int64(num_moves)):
        store16(actions, index, move_to_action(tables, load16(moves, index)))


@inline
def action_to_move(tables: Any, position: Any, action: Any) -> Any:
    """The move that an action means in this position, ``uint64``; ``NO_MOVE`` off the board."""
    move = load16(tables, np.int64(lookup.MOVES * 4) + np.int64(action))
    goal, square = move >> _U(6) & _U(63), move & _U(63)
    is_pawn = load(position, PAWNS) >> square & _U(1) != _U(0)
    if is_pawn and goal >= _U(56) and np.int64(action) < _FIRST_UNDERPROMOTION:
        move |= _U(_QUEEN_PROMOTION)
    return move


@kernel
def _to_actions(tables, moves, actions):  # type: ignore[no-untyped-def]
    for index in range(len(moves)):
        actions[index] = move_to_action(tables, moves[index])


@kernel
def _to_moves(tables, positions, actions, moves):  # type: ignore[no-untyped-def]
    for index in range(len(actions)):
        position = positions + index * POSITION_BYTES
        moves[index] = action_to_move(tables, position, actions[index])


def moves_to_actions(moves: ArrayLike) -> NDArray[np.uint16]:
    """Actions of moves, ``uint16[...] -> uint16[...]``, mover's view.

    Raises ValueError for a move that no piece can make.
    """
    given = np.ascontiguousarray(moves, dtype=np.uint16)
    flat, actions = given.ravel(), np.empty(given.size, dtype=np.uint16)
    under = (flat > 0x0FFF) & (flat <= _ROOK_PROMOTION | 0x0FFF)
    sides = (flat >> 6 & 63).astype(np.int64) - (flat & 63)
    _to_actions(lookup.address(), flat, actions)
    bad = (actions == NO_ACTION) | (flat >= 5 << 12) | (under & ((sides < 7) | (sides > 9)))
    if bad.any():
        raise ValueError(f"no piece can make the move {flat[bad][0]:#06x}")
    return actions.reshape(given.shape)


def actions_to_moves(positions: Positions, actions: ArrayLike) -> NDArray[np.uint16]:
    """The move each action means: ``uint64[G, 8], uint16[G] -> uint16[G]``, mover's view.

    Raises ValueError for an action out of range or that leaves the board; whether the move is
    legal is not checked.
    """
    positions = checked(positions)
    given = np.ascontiguousarray(actions, dtype=np.uint16)
    if given.shape != (len(positions),) or (given >= NUM_ACTIONS).any():
        raise ValueError(f"actions must be uint16[{len(positions)}] below {NUM_ACTIONS}")
    moves = np.empty(len(given), dtype=np.uint16)
    _to_moves(lookup.address(), positions.ctypes.data, given, moves)
    if (moves == NO_MOVE).any():
        raise ValueError(f"action {given[moves == NO_MOVE][0]} leaves the board")
    return moves
