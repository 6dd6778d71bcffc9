"""Moves of recorded games as people write them, legal ones or not."""

from dataclasses import dataclass

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import actions_to_moves
from vecchess.chess.fen import to_board
from vecchess.chess.make import make
from vecchess.chess.movegen import legal_moves
from vecchess.chess.uci_moves import to_chess_move


@dataclass(frozen=True)
class MoveText:
    """One move."""

    uci: str
    san: str
    """With its number: "3. Nf3", "3... Nc6"."""


def move_texts(
    start: NDArray[np.uint64], actions: NDArray[np.uint16], chess960: bool
) -> list[MoveText]:
    """The moves behind ``actions`` (uint16[plies]) from the position ``start`` (uint64[8]) on.

    Castling is Chess960's where ``chess960`` says so, or the start does. The list ends with the
    first move that is not legal: a damaged record may hold anything.
    """
    chess960 = chess960 or to_board(start).has_chess960_castling_rights()
    position, board, moves = start[None].copy(), to_board(start, chess960), []
    for action in actions:
        move = _legal(position, board, action)
        if move is None:
            moves.append(MoveText("", f"{_number(board)} (illegal: action {action})"))
            break
        moves.append(
            MoveText(board.uci(move, chess960=chess960), f"{_number(board)} {board.san(move)}")
        )
        position = make(position, actions_to_moves(position, np.array([action])))
        board.push(move)
    return moves


def _legal(
    position: NDArray[np.uint64], board: chess.Board, action: np.uint16
) -> chess.Move | None:
    """The move behind an action code; None where there is none, or it is not legal."""
    try:
        code = int(actions_to_moves(position, np.array([action]))[0])
    except ValueError:
        return None
    moves, num_moves = legal_moves(position)
    return to_chess_move(board, code) if code in moves[0, : num_moves[0]] else None


def _number(board: chess.Board) -> str:
    return f"{board.fullmove_number}{'.' if board.turn else '...'}"
