"""Games in PGN, read back by python-chess."""

import io

import chess
import chess.pgn
import numpy as np
import pytest

from tests.chess.walks import boards, to_code
from vecchess.chess.fen import from_board, from_fens
from vecchess.chess.pgn import RESULTS, in_lines, start_board, to_pgn
from vecchess.chess.uci_moves import to_chess_move

pytestmark = pytest.mark.plain

SWITCHED = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"
INNER_ROOK = "4k3/8/8/8/8/8/8/1R2KR1R w F - 0 1"


def codes(board: chess.Board, sans: str) -> np.ndarray:
    """The moves as recorded ones, mover's view."""
    board, found = board.copy(), []
    board.chess960 = True
    for san in sans.split():
        move = board.parse_san(san)
        found.append(to_code(board, move))
        board.push(move)
    return np.array(found, np.uint16)


def read(text: str) -> chess.pgn.Game:
    game = chess.pgn.read_game(io.StringIO(text))
    assert game is not None
    assert not game.errors
    return game


@pytest.mark.parametrize(
    ("fen", "chess960", "sans"),
    [
        (chess.STARTING_FEN, False, "e4 e5 Nf3 Nc6 Bb5 a6 O-O d6"),
        (chess.STARTING_FEN, True, "e4 e5 Nf3 Nc6 Bb5 a6 O-O d6"),
        (SWITCHED, False, "Nf3 Nc6"),
        (INNER_ROOK, False, "O-O Kd7 Rfe1"),
        ("r3k3/8/8/8/8/8/8/4K3 b q - 0 1", False, "O-O-O Ke2"),
        ("8/1P4k1/8/8/8/8/8/4K3 w - - 0 1", False, "b8=N Kg8"),
    ],
)
def test_games_are_read_back_as_they_were_played(fen: str, chess960: bool, sans: str) -> None:
    start = from_fens([fen])[0]
    board = start_board(start, chess960)
    before = board.fen(), len(board.move_stack)
    game = to_pgn({"Event": "a test", "Result": RESULTS[0]}, board, codes(board, sans))
    assert (board.fen(), len(board.move_stack)) == before
    back = read(in_lines(game))
    walked, played = back.board(), []
    for move in back.mainline_moves():
        played.append(walked.san(move))
        walked.push(move)
    assert played == sans.split()
    assert back.headers["Event"] == "a test"
    assert ("FEN" in back.headers) == (fen != chess.STARTING_FEN)
    is_960 = chess960 or fen == INNER_ROOK
    assert (back.headers.get("Variant") == "Chess960") == is_960 == board.chess960


def test_comments_stand_behind_as_many_moves() -> None:
    board = chess.Board()
    moves = codes(board, "d4 d5")
    game = to_pgn({}, board, moves, ["before all", "one", "two"])
    assert "{ before all } 1. d4 { one } 1... d5 { two }" in in_lines(game).replace("\n", " ")
    assert "{" not in in_lines(to_pgn({}, board, moves))


def test_lines_are_short() -> None:
    board = chess.Board()
    moves = codes(board, "Nf3 Nf6 Ng1 Ng8 " * 40)
    text = in_lines(to_pgn({"Event": "x"}, board, moves))
    assert 60 < max(map(len, text.splitlines())) < 80


def test_results_are_whites() -> None:
    assert RESULTS == {1: "1-0", 0: "1/2-1/2", -1: "0-1"}


@pytest.mark.parametrize("chess960", [True, False])
def test_moves_are_those_of_the_board(chess960: bool) -> None:
    castled = 0
    for board in boards(120, seed=1):
        start = from_board(board)
        mine = start_board(start, chess960)
        for move in board.legal_moves:
            made = to_chess_move(mine, to_code(board, move))
            assert mine.is_legal(made)
            assert mine.san(made) == board.san(move)
            castled += board.is_castling(move)
    assert castled > 5
