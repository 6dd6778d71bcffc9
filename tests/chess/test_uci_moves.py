import chess
import pytest

from tests.chess.walks import boards
from tests.kernels import size
from vecchess.chess.action import moves_to_actions
from vecchess.chess.fen import from_board, from_fens
from vecchess.chess.movegen import legal_moves
from vecchess.chess.uci_moves import action_to_chess_move, move_to_uci, uci_to_move
from vecchess.errors import ConfigError
from vecchess.shapes import NUM_ACTIONS

pytestmark = pytest.mark.plain


def test_moves_are_written_as_python_chess_writes_them() -> None:
    for board in boards(size(300, 100), seed=5):
        position = from_board(board)
        moves, num_moves = legal_moves(position[None])
        mine = [move_to_uci(position, move, chess960=True) for move in moves[0, : num_moves[0]]]
        assert sorted(mine) == sorted(move.uci() for move in board.legal_moves)
        for move, uci in zip(moves[0], mine, strict=False):
            assert uci_to_move(position, uci) == move


def test_standard_castling_is_two_steps_of_the_king() -> None:
    board = chess.Board("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1")
    position = from_board(board)
    moves, num_moves = legal_moves(position[None])
    mine = [move_to_uci(position, move) for move in moves[0, : num_moves[0]]]
    assert sorted(mine) == sorted(move.uci() for move in board.legal_moves)
    assert uci_to_move(position, "e8g8") == uci_to_move(position, "e8h8")


def test_a_step_beside_the_rook_is_no_castling() -> None:
    position = from_fens(["4k3/8/8/8/8/8/8/5K1R w H - 0 1"])[0]
    assert move_to_uci(position, uci_to_move(position, "f1g1"), chess960=True) == "f1g1"


@pytest.mark.parametrize("uci", ["e2e5", "e1g1", "", "0000", "e2e4q"])
def test_what_is_no_legal_move_is_refused(uci: str) -> None:
    with pytest.raises(ConfigError, match="not a legal move"):
        uci_to_move(from_fens([chess.STARTING_FEN])[0], uci)


def test_an_action_is_decoded_where_it_is_legal_and_nowhere_else() -> None:
    fens = [
        "r3k2r/pppqbppp/2npbn2/4p3/4P3/2NPBN2/PPPQBPPP/R3K2R w KQkq - 0 1",
        "r3k2r/pppqbppp/2npbn2/4p3/4P3/2NPBN2/PPPQBPPP/R3K2R b Qk - 0 1",
        "r1b1kb1r/1P4P1/8/3pP3/8/8/p5p1/RNBQKBNR w kq d6 0 1",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1",
    ]
    for fen in [
        fen.replace("r1bqkb1r", "r1b1kb1r").replace("RNBQ1BNR", "RNBQKBNR") for fen in fens
    ]:
        board = chess.Board(fen)
        moves, (count,) = legal_moves(from_board(board)[None])
        legal = set(moves_to_actions(moves[0, :count]).tolist())
        decoded = {a for a in range(NUM_ACTIONS) if action_to_chess_move(board, a) is not None}
        assert decoded == legal, fen
        assert {action_to_chess_move(board, action) for action in legal} == set(board.legal_moves)
