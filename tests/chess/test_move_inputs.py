"""Inputs of moves against python-chess, where swap-offs are played on boards."""

import chess
import numpy as np
import pytest

from tests.kernels import size
from vecchess.chess.fen import from_fens, to_board
from vecchess.chess.move_inputs import MOST, NUM_CODES, SIZES, move_codes
from vecchess.chess.movegen import legal_moves
from vecchess.chess.planes import MOVE_WORDS, encode_planes, num_planes
from vecchess.chess.sample import random_positions
from vecchess.chess.uci_moves import to_chess_move

pytestmark = pytest.mark.plain
WORTH = {
    chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9, chess.KING: 0
}  # fmt: skip
TRICKY = [
    "6k1/P7/8/8/8/8/8/1n2K3 w - - 0 1",
    "r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 0 1",
    "4k3/8/8/2pP4/8/8/8/4K3 w - c6 0 1",
    "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
    "3r2k1/3r4/3q4/8/3P4/3R4/3R4/3Q2K1 b - - 0 1",
    "k7/8/8/3p4/4K3/8/8/8 w - - 0 1",
    "1q1r2k1/2P5/8/8/8/8/8/6K1 w - - 0 1",
]


def numbers_of(codes: np.ndarray) -> np.ndarray:
    """int64[..., 4]: takes, exchange, hangs and check of each code."""
    rest, takes = np.divmod(codes.astype(np.int64), SIZES[0])
    rest, exchange = np.divmod(rest, SIZES[1])
    check, hangs = np.divmod(rest, SIZES[2])
    return np.stack([takes, exchange - MOST, hangs, check], -1)


def swap_off(board: chess.Board, square: int, side: bool, mover: bool) -> int:
    """What ``side`` wins by taking on ``square``, or 0."""
    takers = board.attackers(side, square)
    victim = board.piece_at(square)
    if not takers or victim is None:
        return 0

    def order(taker: int) -> tuple[int, int]:
        kind = board.piece_type_at(taker)
        assert kind is not None
        return kind, chess.square_mirror(taker) if mover else taker

    taker = min(takers, key=order)
    piece = board.piece_at(taker)
    assert piece is not None
    if piece.piece_type == chess.KING and board.attackers(not side, square):
        return 0
    after = board.copy(stack=False)
    after.remove_piece_at(taker)
    after.set_piece_at(square, piece)
    return max(0, WORTH[victim.piece_type] - swap_off(after, square, not side, mover))


def inputs_of(board: chess.Board, move: chess.Move) -> tuple[int, int, int, int]:
    """(takes, exchange, hangs, check) of a legal move."""
    taken = board.piece_type_at(move.to_square) or 0
    if board.is_castling(move):
        taken = 0
    if board.is_en_passant(move):
        taken = chess.PAWN
    gain = WORTH.get(taken, 0)
    if move.promotion:
        gain += WORTH[move.promotion] - 1
    after, mover = board.copy(stack=False), board.turn
    after.push(move)
    men = [s for s in chess.SquareSet(after.occupied_co[mover]) if not after.kings >> s & 1]
    losses = {square: swap_off(after, square, not mover, mover) for square in men}
    exchange = 0 if board.is_castling(move) else gain - losses.get(move.to_square, 0)
    check = 2 if after.is_checkmate() else int(after.is_check())
    return taken, max(-MOST, min(exchange, MOST)), max(losses.values(), default=0), check


def check_all(positions: np.ndarray) -> None:
    moves, counts = legal_moves(positions)
    codes = move_codes(positions)
    assert codes.max() < NUM_CODES
    found = numbers_of(codes)
    for index, count in enumerate(counts):
        board = to_board(positions[index])
        for place in range(count):
            move = to_chess_move(board, int(moves[index, place]))
            wanted = inputs_of(board, move)
            assert tuple(found[index, place]) == wanted, (board.fen(), move)


def test_tricky_positions() -> None:
    check_all(from_fens(TRICKY))


@pytest.mark.parametrize("seed", range(4))
def test_random_positions(seed: int) -> None:
    check_all(random_positions(size(100, 5), seed))


def test_they_lie_behind_the_planes() -> None:
    positions = random_positions(50, 9)
    words = encode_planes(positions, num_planes=num_planes(1, True, True))
    assert np.array_equal(words[:, :-MOVE_WORDS], encode_planes(positions, num_planes=36))
    codes = words[:, -MOVE_WORDS:].view(np.uint16)
    assert np.array_equal(codes, move_codes(positions))
    counts = legal_moves(positions)[1]
    assert (codes[np.arange(codes.shape[1]) >= counts[:, None]] == 0).all()
