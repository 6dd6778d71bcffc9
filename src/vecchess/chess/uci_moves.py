"""Moves in UCI notation and of python-chess, to and from the mover's view."""

from functools import cache

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import moves_to_actions
from vecchess.chess.bitboards.directions import NO_MOVE, UNDERPROMOTION_PLANE, action_moves
from vecchess.chess.movegen import legal_moves
from vecchess.chess.position import COLOUR_SHIFT, COUNTERS, OWN
from vecchess.errors import ConfigError

_PROMOTIONS = (None, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN)


def move_to_uci(position: NDArray[np.uint64], move: int, chess960: bool = False) -> str:
    """A legal move of one position (``uint64[8]``) as UCI, White's view.

    Castling is ``e1g1`` for standard chess, king takes rook (``e1h1``) with ``chess960``.
    """
    start, goal, promotion = int(move) & 63, int(move) >> 6 & 63, int(move) >> 12
    if int(position[OWN]) >> goal & 1 and not chess960:
        goal = 6 if goal > start else 2
    turned = 56 if int(position[COUNTERS]) >> COLOUR_SHIFT else 0
    return chess.Move(start ^ turned, goal ^ turned, _PROMOTIONS[promotion]).uci()


def to_chess_move(board: chess.Board, move: int) -> chess.Move:
    """A legal move in the mover's view as python-chess writes it on ``board``: castling is king
    takes rook where the board is Chess960's, else a step of two."""
    flip, promotion = 0 if board.turn else 56, _PROMOTIONS[move >> 12]
    start, goal = move & 63 ^ flip, move >> 6 & 63 ^ flip
    if not board.chess960 and board.occupied_co[board.turn] & chess.BB_SQUARES[goal]:
        goal = chess.square(6 if goal > start else 2, chess.square_rank(start))
    return chess.Move(start, goal, promotion)


def from_chess_move(move: chess.Move, white: bool) -> int:
    """A move of python-chess, castling as king takes rook, in the mover's view: the inverse of
    ``to_chess_move``."""
    flip, promotion = 0 if white else 56, _PROMOTIONS.index(move.promotion)
    return move.from_square ^ flip | (move.to_square ^ flip) << 6 | promotion << 12


def action_of(board: chess.Board, move: chess.Move) -> int:
    """The action code of a legal ``move`` on ``board``, mover's view: the inverse of
    ``action_to_chess_move``."""
    if board.is_castling(move):  # king takes own rook, however it was written
        move = chess.Move(move.from_square, _castling_rook(board, move))
    return _action(from_chess_move(move, board.turn))


@cache
def _action(word: int) -> int:
    """The action code of a move in the mover's view."""
    return int(moves_to_actions([word])[0])


def _castling_rook(board: chess.Board, move: chess.Move) -> int:
    """Square of the rook that castles."""
    if board.occupied_co[board.turn] & chess.BB_SQUARES[move.to_square]:
        return move.to_square
    rank = chess.BB_RANKS[chess.square_rank(move.from_square)]
    rooks = list(chess.scan_forward(board.clean_castling_rights() & rank))
    return rooks[-1] if move.to_square > move.from_square else rooks[0]


def action_to_chess_move(board: chess.Board, action: int) -> chess.Move | None:
    """The legal move on ``board`` that an action code means, mover's view; None where there is
    none. Plain Python: no kernel has to be compiled for it."""
    codes = _codes()
    code = codes[action] if action < len(codes) else NO_MOVE
    turned = 0 if board.turn else 56
    piece, goal = board.piece_type_at(code & 63 ^ turned), chess.BB_SQUARES[code >> 6 & 63 ^ turned]
    is_castling = piece == chess.KING and board.clean_castling_rights() & goal
    if code == NO_MOVE or (board.occupied_co[board.turn] & goal and not is_castling):
        return None
    if piece == chess.PAWN and code >> 6 & 63 >= 56 and action < UNDERPROMOTION_PLANE * 64:
        code |= _PROMOTIONS.index(chess.QUEEN) << 12
    move = to_chess_move(board, code)
    if board.is_castling(move) and not is_castling:  # a king's two steps: no action means them
        return None
    return move if board.is_legal(move) else None


@cache
def _codes() -> list[int]:
    codes: list[int] = action_moves().tolist()
    return codes


def uci_to_move(position: NDArray[np.uint64], uci: str) -> int:
    """The legal move of one position (``uint64[8]``) that a UCI string means.

    Both ways to write castling are understood; where ``e1g1`` could be castling or a step of the
    king, it is the step. Raises ConfigError when it is no legal move.
    """
    moves, num_moves = legal_moves(position[None])
    legal = [int(move) for move in moves[0, : num_moves[0]]]
    for chess960 in (True, False):
        for move in legal:
            if move_to_uci(position, move, chess960) == uci:
                return move
    raise ConfigError(f"'{uci}' is not a legal move here")
