import chess
import pytest

from tests.chess.walks import boards
from tests.kernels import size
from vecchess.chess.fen import from_board, from_fens
from vecchess.chess.movegen import legal_moves
from vecchess.chess.uci_moves import move_to_uci, uci_to_move
from vecchess.errors import ConfigError

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
