"""Tactical planes, against python-chess."""

from itertools import product

import chess
import numpy as np
import pytest

from tests.chess.walks import boards
from tests.kernels import size
from vecchess.chess.fen import from_board
from vecchess.chess.history import no_past
from vecchess.chess.planes import (
    NUM_PLANES,
    TACTICAL_PLANES,
    board_planes,
    encode_planes,
    has_tactics,
    history_of,
    num_planes,
    reads_moves,
)

pytestmark = pytest.mark.plain
VALUES = {
    chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9, chess.KING: 99,
}  # fmt: skip


def attackers(board: chess.Board, side: chess.Color, square: int) -> list[int]:
    """Piece types of the men of ``side`` that attack a square."""
    return [board.piece_type_at(man) for man in board.attackers(side, square)]


def hangs(board: chess.Board, square: int) -> bool:
    man = board.piece_at(square)
    enemies = attackers(board, not man.color, square)
    if man.piece_type == chess.KING or not enemies:
        return False
    is_defended = bool(board.attackers(man.color, square))
    return not is_defended or min(map(VALUES.get, enemies)) < VALUES[man.piece_type]


def tactics(board: chess.Board) -> list[set[int]]:
    """The squares of each plane, as the board stands."""
    planes = []
    for side in (board.turn, not board.turn):
        found = {square: attackers(board, side, square) for square in chess.SQUARES}
        planes += [
            {square for square, men in found.items() if men},
            {square for square, men in found.items() if len(men) > 1},
            {square for square, men in found.items() if chess.PAWN in men},
        ]
    men = [
        {s for s in chess.SQUARES if board.color_at(s) == c} for c in (board.turn, not board.turn)
    ]
    for own, side in zip(men, (board.turn, not board.turn), strict=True):
        planes.append({square for square in own if board.is_pinned(side, square)})
    planes.append(set(board.checkers()))
    planes += [{square for square in own if hangs(board, square)} for own in men]
    return planes


def bits(squares: set[int], turn: chess.Color) -> int:
    """A plane from the mover's view."""
    return sum(1 << (square if turn else square ^ 56) for square in squares)


def test_planes_are_those_of_python_chess() -> None:
    seen = [board.copy() for board in boards(size(1300, 300), 5)]
    positions = np.stack([from_board(board) for board in seen])
    planes = encode_planes(positions, num_planes=num_planes(1, tactical=True))
    assert np.array_equal(planes[:, :NUM_PLANES], encode_planes(positions))
    met = np.zeros(TACTICAL_PLANES, np.int64)
    for board, row in zip(seen, planes[:, NUM_PLANES:], strict=True):
        wanted = [bits(squares, board.turn) for squares in tactics(board)]
        assert row.tolist() == wanted, board.fen()
        met += [plane != 0 for plane in wanted]
    assert met.min() > 5


def test_men_of_equal_value_and_kings_do_not_win_what_is_defended() -> None:
    """A bishop attacked by a knight, a rook by a rook, a pawn by a king: all defended."""
    board = chess.Board("4k3/8/8/2n1r3/8/1P1BR3/2P3P1/3K2N1 b - - 0 1")
    (row,) = encode_planes(from_board(board)[None], num_planes=num_planes(1, tactical=True))
    assert row[NUM_PLANES:].tolist() == [bits(each, board.turn) for each in tactics(board)]


def test_the_history_comes_behind_them() -> None:
    board = chess.Board()
    board.push_san("e4")
    position, past = from_board(board)[None], no_past(1)
    past[0, :] = from_board(chess.Board())
    both = encode_planes(position, 0, past, num_planes(3, tactical=True))
    plain = encode_planes(position, 0, past, num_planes(3))
    first = NUM_PLANES + TACTICAL_PLANES
    assert np.array_equal(both[:, first:], plain[:, NUM_PLANES:])
    assert np.array_equal(both[:, :first], encode_planes(position, num_planes=num_planes(1, True)))


def test_history_and_tactics_follow_from_the_number_of_planes() -> None:
    for history in range(1, 9):
        for tactical, moves in product((False, True), repeat=2):
            planes = num_planes(history, tactical, moves)
            found = history_of(planes), has_tactics(planes), reads_moves(planes)
            assert found == (history, tactical, moves)
            assert board_planes(planes) == num_planes(history, tactical)
