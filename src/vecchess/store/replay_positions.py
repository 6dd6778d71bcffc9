"""Recorded games played again, up to the positions that are wanted: questions for a network.

Records hold moves, not positions; the rules bring the positions back, with their legal moves,
repetitions and input planes, those of earlier positions among them, exactly as self-play had put
them to the network.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import action_to_move, write_actions
from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.bitboards.bits import load16
from vecchess.chess.history import PAST_WORDS, clear_past, push_position
from vecchess.chess.make import make_move
from vecchess.chess.movegen import MOVE_BUFFER, generate_moves
from vecchess.chess.planes import (
    history_length,
    num_planes,
    write_past_planes,
    write_planes,
)
from vecchess.chess.position import colour_of
from vecchess.chess.rules import KEY_HISTORY, push_key
from vecchess.errors import DataError
from vecchess.inference.requests import LEGAL_BYTES, Requests
from vecchess.jit import inline, kernel
from vecchess.shapes import POSITION_WORDS
from vecchess.store.records import GameRecords

_ALL_LEGAL = -1


@dataclass(frozen=True)
class ReplayedPositions:
    """B positions of recorded games, in the order of ``GameRecords``, mover's view.

    requests: B rows with questions (planes, legal, num_legal)
    ply: int64[B]        index into the ply columns of the records
    game: int64[B]       index of the game in the records
    played: int64[B]     index of the move played, in ``requests.legal``
    outcome: int8[B]     the game's result for the mover: 1 won, 0 drawn, -1 lost
    """

    requests: Requests
    ply: NDArray[np.int64]
    game: NDArray[np.int64]
    played: NDArray[np.int64]
    outcome: NDArray[np.int8]


def replay_positions(
    records: GameRecords, plies: NDArray[np.int64], history: int = 1
) -> ReplayedPositions:
    """The positions before ``plies``: int64[B], indices into the ply columns, ascending.

    ``history``: positions that the network sees, 1 to 8. Raises DataError where a recorded move on
    the way is not legal.
    """
    requests = Requests.empty(len(plies), num_planes(history))
    plies = np.ascontiguousarray(plies, np.int64)
    played = np.zeros(len(plies), np.int64)
    is_black = np.zeros(len(plies), np.bool_)
    illegal = _replay(
        lookup.address(),
        np.ascontiguousarray(records.start),
        records.offsets,
        records.action,
        plies,
        (
            np.empty(POSITION_WORDS, np.uint64),
            np.empty(KEY_HISTORY, np.uint64),
            np.empty(PAST_WORDS, np.uint64),
        ),
        np.empty(MOVE_BUFFER, np.uint16),
        (requests.planes, requests.legal, requests.num_legal, played, is_black),
    )
    if illegal != _ALL_LEGAL:
        index = int(np.searchsorted(records.offsets, illegal, side="right")) - 1
        ply = illegal - int(records.offsets[index])
        raise DataError(f"game {records.numbers[index]}: the move recorded at ply {ply} is illegal")
    game = np.searchsorted(records.offsets, plies, side="right") - 1
    outcome = records.result[game] * np.where(is_black, -1, 1).astype(np.int8)
    return ReplayedPositions(requests, plies, game, played, outcome)


@kernel
def _replay(tables, starts, offsets, actions, wanted, board, moves, rows):  # type: ignore[no-untyped-def]
    """Fill one of ``rows`` for each of ``wanted``; returns the ply of an illegal move, or -1."""
    planes, legal, num_legal, played, is_black = rows
    position, keys = np.int64(board[0].ctypes.data), np.int64(board[1].ctypes.data)
    past, history = np.int64(board[2].ctypes.data), history_length(planes.shape[1])
    listed = np.int64(moves.ctypes.data)
    row = 0
    for game in range(len(offsets) - 1):
        if row == len(wanted):
            break
        if wanted[row] >= offsets[game + 1]:
            continue
        _set_up(starts, game, board)
        for ply in range(offsets[game], offsets[game + 1]):
            packed = generate_moves(tables, position, listed)
            repetitions = push_key(position, keys)
            count = np.int64(packed & 0xFFFF)
            move = action_to_move(tables, position, actions[ply])
            index = _find(listed, count, move)
            if index == count:
                return ply
            if ply == wanted[row]:
                write_actions(
                    tables, listed, count, np.int64(legal.ctypes.data) + row * LEGAL_BYTES
                )
                seen = np.int64(planes.ctypes.data) + row * 8 * planes.shape[1]
                write_planes(position, repetitions, packed >> 16, seen)
                write_past_planes(position, past, history, seen)
                num_legal[row] = count
                played[row] = index
                is_black[row] = colour_of(position) != np.uint64(0)
                row += 1
                if row == len(wanted) or wanted[row] >= offsets[game + 1]:
                    break
            push_position(position, past)
            make_move(tables, position, move)
    return _ALL_LEGAL


@inline
def _set_up(starts: Any, game: Any, board: Any) -> None:
    """The start position of a game on the board, without a history."""
    for word in range(POSITION_WORDS):
        board[0][word] = starts[game, word]
    for index in range(KEY_HISTORY):
        board[1][index] = np.uint64(0)
    clear_past(np.int64(board[2].ctypes.data))


@inline
def _find(listed: Any, count: Any, move: Any) -> Any:
    """Index of ``move`` among ``count`` moves at the address ``listed``; ``count`` if missing."""
    for index in range(count):
        if load16(listed, index) == move:
            return index
    return count
