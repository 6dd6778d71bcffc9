"""Games in PGN, through python-chess."""

from collections.abc import Mapping, Sequence

import chess
import chess.pgn
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.fen import to_board
from vecchess.chess.uci_moves import to_chess_move

RESULTS = {1: "1-0", 0: "1/2-1/2", -1: "0-1"}
"""PGN's word for a result, by White's result."""
RESULT_CODES = {name: code for code, name in RESULTS.items()}
"""White's result by PGN's word for it."""


def start_board(start: NDArray[np.uint64], chess960: bool = False) -> chess.Board:
    """The board of a start position, uint64[8]; Chess960's where that is requested, or castling
    rights need it."""
    board = to_board(start)
    board.chess960 = chess960 or board.has_chess960_castling_rights()
    return board


def to_pgn(
    tags: Mapping[str, str],
    board: chess.Board,
    moves: NDArray[np.uint16],
    comments: Sequence[str] = (),
) -> chess.pgn.Game:
    """A game from ``board`` on, which is not changed, as python-chess keeps it.

    moves: uint16[plies], mover's view. comments: after so many moves each, from 0 to all of them,
    or empty.
    """
    game, board = chess.pgn.Game(dict(tags)), board.copy()
    if board.chess960 or board.fen() != chess.STARTING_FEN:
        game.setup(board)
    node: chess.pgn.GameNode = game
    for ply in range(len(moves) + 1):
        if comments:
            node.comment = comments[ply]
        if ply < len(moves):
            move = to_chess_move(board, int(moves[ply]))
            node = node.add_main_variation(move)
            board.push(move)
    return game


def in_lines(game: chess.pgn.Game) -> str:
    """The text of a game, in lines of less than 80 characters, as PGN's export format has them."""
    return game.accept(chess.pgn.StringExporter(columns=79))
