"""Positions of random games for tests of the network, made with python-chess: planes and moves."""

from functools import cache

import chess
import numpy as np
from numpy.typing import NDArray

NUM_PLANES = 25
"""12 piece planes, own and then other; 4 castling rights; en passant; 8 of the halfmove clock."""


@cache
def random_positions(count: int, seed: int) -> tuple[NDArray[np.uint64], list[NDArray[np.uint16]]]:
    """Planes uint64[count, 25] and legal actions, one array a position, mover's view."""
    rng = np.random.default_rng(seed)
    planes, legal = [], []
    board = chess.Board()
    while len(planes) < count:
        if board.is_game_over() or board.ply() > 120:
            board = chess.Board()
        for _ in range(int(rng.integers(1, 6))):
            moves = list(board.legal_moves)
            if moves:
                board.push(moves[int(rng.integers(len(moves)))])
        if any(board.legal_moves):
            seen = board if board.turn else board.mirror()
            planes.append(_planes(seen))
            legal.append(_actions(seen))
    return np.array(planes, np.uint64), legal


def _planes(board: chess.Board) -> list[int]:
    pieces = [
        int(board.pieces(kind, colour)) for colour in (True, False) for kind in chess.PIECE_TYPES
    ]
    full = 2**64 - 1
    rights = [
        full * bool(right)
        for colour in (True, False)
        for right in (
            board.has_kingside_castling_rights(colour),
            board.has_queenside_castling_rights(colour),
        )
    ]
    passing = 1 << board.ep_square if board.ep_square is not None else 0
    clock = [full * (board.halfmove_clock > 2**step - 1) for step in range(8)]
    return [*pieces, *rights, passing, *clock]


def _actions(board: chess.Board) -> NDArray[np.uint16]:
    """Some code of the move into plane * 64 + from-square: the network does not care which."""
    actions = {
        ((move.to_square * 5 + (move.promotion or 0)) % 73) * 64 + move.from_square
        for move in board.legal_moves
    }
    return np.array(sorted(actions), np.uint16)
