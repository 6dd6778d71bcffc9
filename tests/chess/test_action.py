import chess
import numpy as np
import pytest

from tests.chess.walks import to_code
from tests.kernels import exposed
from vecchess.chess.action import actions_to_moves, moves_to_actions, write_actions
from vecchess.chess.bitboards.directions import NO_MOVE, action_moves
from vecchess.chess.bitboards.tables import address
from vecchess.chess.fen import from_fens
from vecchess.shapes import NUM_ACTIONS

pytestmark = pytest.mark.plain


def _move(start: str, goal: str, promotion: int = 0) -> int:
    squares = [(ord(name[0]) - 97) + 8 * (int(name[1]) - 1) for name in (start, goal)]
    return squares[0] | squares[1] << 6 | promotion << 12


@pytest.mark.parametrize(
    ("move", "action"),
    [
        (_move("e2", "e4"), (7 * 0 + 1) * 64 + 12),
        (_move("a1", "h8"), (7 * 1 + 6) * 64 + 0),
        (_move("e1", "h1"), (7 * 2 + 2) * 64 + 4),
        (_move("g1", "f3"), (56 + 7) * 64 + 6),
        (_move("b7", "b8", 4), 0 * 64 + 49),
        (_move("b7", "a8", 1), 64 * 64 + 49),
        (_move("b7", "b8", 2), (64 + 3 + 1) * 64 + 49),
        (_move("b7", "c8", 3), (64 + 6 + 2) * 64 + 49),
    ],
)
def test_codes_are_those_of_the_drawing(move: int, action: int) -> None:
    assert moves_to_actions([move]).tolist() == [action]


def test_a_queen_promotion_is_known_by_the_pawn() -> None:
    pawn, rook = from_fens(["8/1P3k2/8/8/8/8/8/4K3 w - - 0 1", "8/1R6/5k2/8/8/8/8/4K3 w - - 0 1"])
    moves = actions_to_moves(np.stack([pawn, rook]), [49, 49])
    assert moves.tolist() == [_move("b7", "b8", 4), _move("b7", "b8")]


def test_every_action_on_the_board_is_of_one_move() -> None:
    moves = action_moves()
    on_board = np.flatnonzero(moves != NO_MOVE)
    assert len(on_board) == 1792 + 22 * 3  # ways to go on an empty board, underpromotions
    assert len(np.unique(moves[on_board])) == len(on_board)
    assert (moves_to_actions(moves[on_board]) == on_board).all()


def test_lists_of_moves_are_encoded_in_their_order() -> None:
    board = chess.Board("r3k2r/Pppp1ppp/1b3nbN/nPP5/BB2P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1")
    moves = np.array([to_code(board, move) for move in board.legal_moves], np.uint16)
    actions = np.full(len(moves) + 1, 7, np.uint16)
    encode = exposed(write_actions)
    encode(address(), moves.ctypes.data, len(moves), actions.ctypes.data)
    assert actions.tolist() == [*moves_to_actions(moves).tolist(), 7]


def test_impossible_moves_and_actions_are_refused() -> None:
    with pytest.raises(ValueError, match="no piece"):
        moves_to_actions([_move("a1", "b4")])
    with pytest.raises(ValueError, match="no piece"):
        moves_to_actions([_move("a7", "h8", 2)])
    position = from_fens(["8/1P3k2/8/8/8/8/8/4K3 w - - 0 1"])
    with pytest.raises(ValueError, match="leaves the board"):
        actions_to_moves(position, [7 * 64 * 2 - 1])
    with pytest.raises(ValueError, match="below"):
        actions_to_moves(position, [NUM_ACTIONS])
