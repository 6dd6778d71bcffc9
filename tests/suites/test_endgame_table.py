"""Tables of endings against the rules, move by move, and figures that the literature gives."""

import random

import chess
import numpy as np
import pytest

from vecchess.chess.fen import from_board
from vecchess.suites.endgame_table import HOMES, NEVER, solve
from vecchess.suites.endings import moves_to_mate

LONGEST = {"Q": 10, "R": 16, "P": 28, "BB": 19}


def random_boards(men: str, num: int) -> list[chess.Board]:
    """Legal positions with White to move."""
    chance, boards = random.Random(men), []
    while len(boards) < num:
        board = chess.Board(None)
        for symbol, square in zip(f"Kk{men}", chance.sample(range(64), len(men) + 2), strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(symbol))
        if board.is_valid() and any(board.legal_moves):
            boards.append(board)
    return boards


def after(board: chess.Board) -> list[chess.Board]:
    children = []
    for move in board.legal_moves:
        board.push(move)
        children.append(board.copy(stack=False))
        board.pop()
    return children


def worst_for_white(board: chess.Board) -> int:
    """Of Black's best reply, by the table; 0 for a mate."""
    if not any(board.legal_moves):
        return 0 if board.is_check() else NEVER
    return max(table_of(after(board)))


def table_of(boards: list[chess.Board]) -> list[int]:
    found: list[int] = moves_to_mate(np.stack([from_board(board) for board in boards])).tolist()
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("men", HOMES)
def test_a_position_is_a_move_longer_than_the_best_that_follows(men: str) -> None:
    boards = random_boards(men, 40)
    found = table_of(boards)
    assert len(set(found)) > 5
    for board, moves in zip(boards, found, strict=True):
        best = min(worst_for_white(child) for child in after(board))
        assert moves == (NEVER if best == NEVER else best + 1), board.fen()


@pytest.mark.parametrize("men", HOMES)
def test_the_longest_wins_are_those_of_the_literature(men: str) -> None:
    assert len(solve(men).won) == LONGEST[men]


def test_all_won_positions_of_king_and_pawn_are_counted() -> None:
    won, lost = solve("P").won[-1], solve("P").lost[-1]
    counts = [int(np.bitwise_count(sets).sum()) for sets in (won, lost)]
    assert counts == [124_960, 97_604]  # as in the bitbases of other programs


def test_nothing_is_known_of_other_men() -> None:
    fens = ["8/8/8/8/8/2k5/8/KN6 w - - 0 1", "8/8/8/8/8/2k5/1q6/K6Q w - - 0 1",
            "8/8/8/8/8/2k5/8/K1B1B3 w - - 0 1"]  # fmt: skip
    assert table_of([chess.Board(fen) for fen in fens]) == [NEVER] * 3
