"""Alpha-beta by material against a minimax that visits everything."""

import chess
import numpy as np
import pytest

from tests.chess.walks import boards
from vecchess.chess.fen import from_board, from_fens
from vecchess.chess.uci_moves import move_to_uci, uci_to_move
from vecchess.search.kernels.alpha_beta import MATE, NO_SCORE, minimax

WORTH = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9}


def plain_minimax(board: chess.Board, depth: int, ply: int = 0) -> int:
    """What everything within ``depth`` plies comes to, for who moves."""
    if not any(board.legal_moves):
        return ply - MATE if board.is_check() else 0
    if depth == 0:
        return sum(
            worth * (len(board.pieces(kind, board.turn)) - len(board.pieces(kind, not board.turn)))
            for kind, worth in WORTH.items()
        )
    scores = []
    for move in board.legal_moves:
        board.push(move)
        scores.append(-plain_minimax(board, depth - 1, ply + 1))
        board.pop()
    return max(scores)


def check(board: chess.Board, depth: int) -> None:
    """Scores of the best moves are exact, those of the others bounds below the best."""
    position = from_board(board)[None]
    moves, (count,), (scores,) = minimax(position, depth)
    assert (scores[count:] == NO_SCORE).all()
    exact = np.zeros(count, np.int64)
    for item in range(count):
        # pushed in UCI as Chess960 spells it, so that castling is the king taking its rook
        after = board.copy(stack=False)
        after.push_uci(move_to_uci(position[0], int(moves[0, item]), chess960=board.chess960))
        exact[item] = -plain_minimax(after, depth - 1, 1)
    best = exact.max()
    assert scores.max() == best
    assert ((scores[:count] == best) == (exact == best)).all()
    assert (scores[:count] >= exact).all()


@pytest.mark.parametrize(("depth", "num"), [(1, 60), (2, 12)])
def test_random_positions(depth: int, num: int) -> None:
    found = [board for board in boards(12 * num, depth) if any(board.legal_moves)]
    for board in found[::12]:
        check(board, depth)


@pytest.mark.parametrize(
    "fen",
    [
        "8/P1P2k2/8/8/8/8/p1p2K2/8 w - - 0 1",  # promotions on both sides
        "k7/2K5/8/8/8/8/8/1Q6 w - - 0 1",  # mates at once and later, stalemates
        "7k/8/8/8/2pP4/8/8/4K3 b - d3 0 1",  # en passant
        "k7/p7/8/8/8/r7/1q6/4K3 w - - 0 1",  # about to be mated
        "4k2r/8/8/8/8/8/8/R3K3 w Qk - 0 1",  # castling, and a rook that hangs
    ],
)
def test_three_plies_where_little_is_left(fen: str) -> None:
    check(chess.Board(fen), 3)


def best_moves(fen: str, depth: int) -> tuple[int, set[str]]:
    positions = from_fens([fen])
    moves, _, scores = minimax(positions, depth)
    best = scores[0].max()
    return int(best), {move_to_uci(positions[0], int(move)) for move in moves[scores == best]}


def test_the_quickest_mate_is_best() -> None:
    fen = "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1"
    assert best_moves(fen, 1) == best_moves(fen, 3) == best_moves(fen, 5) == (MATE - 1, {"a1a8"})


def test_a_mate_in_two_is_seen_with_three_plies() -> None:
    fen = "k7/8/2K5/8/8/8/8/7R w - - 0 1"
    assert best_moves(fen, 2)[0] == 5
    assert best_moves(fen, 3) == (MATE - 3, {"c6b6", "c6c7"})


def test_stalemate_is_worth_nothing() -> None:
    positions = from_fens(["7k/8/8/6Q1/8/8/8/K7 w - - 0 1"])
    moves, _, scores = minimax(positions, 1)
    assert scores[0, moves[0] == uci_to_move(positions[0], "g5g6")] == 0
    assert scores[0].max() == 9


def test_depth_and_positions_of_no_game() -> None:
    over = from_fens(["7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"])
    assert (minimax(over, 2)[2] == NO_SCORE).all()
    assert len(minimax(over[:0], 2)[2]) == 0
    with pytest.raises(ValueError, match="1 ply ahead"):
        minimax(over, 0)


def test_positions_are_searched_alone_and_left_as_they_are() -> None:
    positions = np.stack([from_board(board) for board in boards(40, 7)])
    before = positions.copy()
    together = minimax(positions, 3)[2]
    apart = np.concatenate([minimax(row[None], 3)[2] for row in positions])
    assert np.array_equal(together, apart)
    assert np.array_equal(positions, before)
