"""Recorded actions as moves that people read, in plain Python: no kernel has to be compiled.

A game that goes on is told in pieces; the moves that are known stay, and only new ones are decoded.
"""

from functools import cache

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards.directions import UNDERPROMOTION_PLANE, action_moves
from vecchess.chess.pgn import start_board
from vecchess.chess.uci_moves import to_chess_move
from vecchess.errors import DataError

_QUEEN_PROMOTION = 4 << 12


class Moves:
    """The moves of one game from its start on."""

    def __init__(self, start: NDArray[np.uint64], chess960: bool) -> None:
        """``start``: uint64[8]. ``chess960``: the run plays Chess960. Raises DataError where this
        is no position."""
        try:
            self.board = start_board(start, chess960)
        except (ValueError, IndexError, OverflowError) as error:
            raise DataError(f"a game begins with no position: {error}") from None
        if self.board.king(chess.WHITE) is None or self.board.king(chess.BLACK) is None:
            raise DataError("a game begins without both kings")
        self.start_fen = self.board.fen()
        self.ucis: list[str] = []
        self.sans: list[str] = []
        self._actions: list[int] = []

    def is_begun_by(self, actions: list[int]) -> bool:
        """Whether a game of these actions begins with the moves known."""
        return actions[: len(self._actions)] == self._actions

    def extend(self, actions: list[int]) -> None:
        """Decode all after those known. Raises DataError at one that is not legal."""
        for action in actions[len(self._actions) :]:
            move = _move(self.board, action)
            self.ucis.append(self.board.uci(move))
            self.sans.append(self.board.san(move))
            self.board.push(move)
            self._actions.append(action)


def _move(board: chess.Board, action: int) -> chess.Move:
    codes = _codes()
    code = codes[action] if action < len(codes) else 0
    turn = 0 if board.turn else 56
    is_pawn = board.piece_type_at(code & 63 ^ turn) == chess.PAWN
    if is_pawn and code >> 6 & 63 >= 56 and action < UNDERPROMOTION_PLANE * 64:
        code |= _QUEEN_PROMOTION
    move = to_chess_move(board, code)
    if not board.is_legal(move):
        raise DataError(f"action {action} is no legal move in {board.fen()}")
    return move


@cache
def _codes() -> list[int]:
    codes: list[int] = action_moves().tolist()
    return codes
