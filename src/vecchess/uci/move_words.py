"""Moves between the tree, which knows action codes, and UCI."""

from collections.abc import Sequence

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import actions_to_moves, moves_to_actions
from vecchess.chess.make import make
from vecchess.chess.uci_moves import move_to_uci
from vecchess.uci.uci_board import UciGame, to_move


def encode_move(board: chess.Board, move: chess.Move) -> int:
    """The action code of a legal move."""
    return int(moves_to_actions([to_move(move, board.turn == chess.WHITE)])[0])


def uci_line(
    game: UciGame, position: NDArray[np.uint64], actions: Sequence[int], chess960: bool
) -> list[str]:
    """A line of actions from ``position``, ``uint64[8]``, where ``game`` is, as UCI moves."""
    is_960 = chess960 or game.writes_chess960
    here, names = position[None], []
    for action in actions:
        move = actions_to_moves(here, [action])
        names.append(move_to_uci(here[0], int(move[0]), is_960))
        here = make(here, move)
    return names
