"""Positions of recorded games, brought back by playing the games again.

Records hold actions, not positions. ``replay_positions`` rebuilds the requests that self-play sent
to the network: legal moves, repetitions and input planes, those of earlier positions among them.
``replay_moves`` rebuilds positions and moves alone.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import LEGAL_BYTES, action_to_move
from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.game_cursor import (
    begin_game,
    cursor_memory,
    cursor_of,
    move_index,
    play_action,
    write_question,
)
from vecchess.chess.history import earlier_position, mark_repeated
from vecchess.chess.movegen import generate_moves
from vecchess.chess.planes import NUM_PLANES, POSITION_INPUTS, history_length
from vecchess.chess.position import POSITION_BYTES, Positions, colour_of, copy_position
from vecchess.chess.rules import push_key
from vecchess.errors import DataError
from vecchess.inference.requests import Requests
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


@dataclass(frozen=True)
class ReplayedMoves:
    """All games of some records ply by ply, in the order of their ply columns, mover's view.

    positions: uint64[plies, 8]   before each ply
    moves: uint16[plies]          played there
    """

    positions: Positions
    moves: NDArray[np.uint16]


def replay_positions(
    records: GameRecords, plies: NDArray[np.int64], planes: int = NUM_PLANES
) -> ReplayedPositions:
    """The positions before ``plies``: int64[B], indices into the ply columns, ascending.

    ``planes``: the network's input planes. Raises DataError where a recorded move on
    the way is not legal.
    """
    requests = Requests.empty(len(plies), planes)
    plies = np.ascontiguousarray(plies, np.int64)
    played = np.zeros(len(plies), np.int64)
    is_black = np.zeros(len(plies), np.bool_)
    rows = (requests.planes, requests.legal, requests.num_legal, played, is_black)
    illegal = write_requests(*_columns(records), plies, cursor_memory(), rows)
    if illegal != _ALL_LEGAL:
        raise illegal_move_error(records, illegal)
    game = np.searchsorted(records.offsets, plies, side="right") - 1
    outcome = records.result[game] * np.where(is_black, -1, 1).astype(np.int8)
    return ReplayedPositions(requests, plies, game, played, outcome)


def replay_moves(records: GameRecords) -> ReplayedMoves:
    """All positions and moves of all games. Raises DataError where a recorded move is not legal."""
    num_plies = len(records.action)
    replayed = ReplayedMoves(
        np.empty((num_plies, POSITION_WORDS), np.uint64), np.empty(num_plies, np.uint16)
    )
    illegal = _write_moves(*_columns(records), cursor_memory(), replayed.positions, replayed.moves)
    if illegal != _ALL_LEGAL:
        raise illegal_move_error(records, illegal)
    return replayed


def illegal_move_error(records: GameRecords, ply: int) -> DataError:
    """The error of an illegal recorded move; ``ply`` is an index into the ply columns."""
    number, ply = records.locate(ply)
    return DataError(f"game {number}: the move recorded at ply {ply} is illegal")


def _columns(records: GameRecords) -> tuple[Any, ...]:
    """What both kernels read: lookup tables, start positions, offsets and actions."""
    return (
        lookup.address(),
        np.ascontiguousarray(records.start),
        records.offsets,
        records.action,
    )


@kernel
def write_requests(tables, starts, offsets, actions, wanted, memory, rows):  # type: ignore[no-untyped-def]
    """Fill one of ``rows`` for each of ``wanted``; returns the ply of an illegal move, or -1."""
    planes, legal, num_legal, played, is_black = rows
    cursor, history = cursor_of(memory), history_length(planes.shape[1])
    sees_positions = planes.shape[1] == POSITION_INPUTS
    row, repetitions = 0, np.int64(0)
    for game in range(len(offsets) - 1):
        if row == len(wanted):
            break
        if wanted[row] >= offsets[game + 1]:
            continue
        begin_game(cursor, np.int64(starts.ctypes.data) + game * POSITION_BYTES, history)
        for ply in range(offsets[game], offsets[game + 1]):
            generated, index = _generate(tables, cursor, actions[ply])
            count = np.int64(generated & 0xFFFF)
            if index == count:
                return ply
            if sees_positions or ply == wanted[row]:
                repetitions = np.int64(push_key(cursor[0], cursor[1]))
            if ply == wanted[row]:
                row_planes = np.int64(planes.ctypes.data) + row * 8 * planes.shape[1]
                row_legal = np.int64(legal.ctypes.data) + row * LEGAL_BYTES
                write_question(
                    tables, cursor, generated, repetitions, planes.shape[1], (row_planes, row_legal)
                )
                num_legal[row] = count
                played[row] = index
                is_black[row] = colour_of(cursor[0]) != np.uint64(0)
                row += 1
                if row == len(wanted) or wanted[row] >= offsets[game + 1]:
                    break
            play_action(tables, cursor, actions[ply], history > 1)
            if sees_positions:
                mark_repeated(earlier_position(cursor[0], cursor[2], 1), repetitions)
    return _ALL_LEGAL


@kernel
def _write_moves(tables, starts, offsets, actions, memory, positions, moves):  # type: ignore[no-untyped-def]
    """Write the position and move of every ply; returns the ply of an illegal move, or -1."""
    cursor = cursor_of(memory)
    for game in range(len(offsets) - 1):
        begin_game(cursor, np.int64(starts.ctypes.data) + game * POSITION_BYTES, 1)
        for ply in range(offsets[game], offsets[game + 1]):
            generated, index = _generate(tables, cursor, actions[ply])
            if index == np.int64(generated & 0xFFFF):
                return ply
            copy_position(cursor[0], np.int64(positions.ctypes.data) + ply * POSITION_BYTES)
            moves[ply] = memory.moves[index]
            play_action(tables, cursor, actions[ply], False)
    return _ALL_LEGAL


@inline
def _generate(tables: Any, cursor: Any, action: Any) -> Any:
    """The answer of ``generate_moves``, and the index of ``action`` among the legal moves."""
    generated = generate_moves(tables, cursor[0], cursor[3])
    move = action_to_move(tables, cursor[0], action)
    return generated, move_index(cursor, np.int64(generated & 0xFFFF), move)
