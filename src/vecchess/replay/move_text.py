"""Moves of recorded games as UCI and SAN; an illegal one ends the list."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.pgn import start_board
from vecchess.chess.uci_moves import action_to_chess_move


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

    Castling is Chess960's where ``chess960``, or where the start needs it. The list ends with the
    first illegal move: a damaged record may hold anything.
    """
    board, moves = start_board(start, chess960), list[MoveText]()
    for action in actions.tolist():
        number = f"{board.fullmove_number}{'.' if board.turn else '...'}"
        move = action_to_chess_move(board, action)
        if move is None:
            moves.append(MoveText("", f"{number} (illegal: action {action})"))
            break
        moves.append(MoveText(board.uci(move), f"{number} {board.san(move)}"))
        board.push(move)
    return moves
