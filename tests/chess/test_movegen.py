"""All results of the rules, compared with python-chess on random positions: no differences."""

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.chess.walks import boards, to_code, why_over
from tests.kernels import size
from vecchess.chess.action import actions_to_moves, moves_to_actions
from vecchess.chess.fen import from_board, from_fens, to_fens
from vecchess.chess.make import make
from vecchess.chess.movegen import in_check, legal_moves
from vecchess.chess.planes import encode_planes
from vecchess.chess.position import position_keys
from vecchess.chess.rules import terminations

CHUNK = 2000


@pytest.mark.plain
@pytest.mark.parametrize("seed", range(2))
def test_positions_agree_with_python_chess(seed: int) -> None:
    _Comparison().run(size(600, 300), seed)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_200000_positions_agree_with_python_chess() -> None:
    _Comparison().run(200_000, 1000)


class _Comparison:
    """Compares the results of both on random boards, in chunks."""

    def __init__(self) -> None:
        self.key_of: dict[object, int] = {}

    def run(self, num: int, seed: int) -> None:
        chunk: list[chess.Board] = []
        for board in boards(num, seed):
            chunk.append(board.copy())
            if len(chunk) == CHUNK:
                self._compare(chunk)
                chunk = []
        self._compare(chunk)
        distinct = set(self.key_of.values())
        assert len(distinct) == len(self.key_of), "different positions share a key"

    def _compare(self, chunk: list[chess.Board]) -> None:
        if not chunk:
            return
        positions = np.stack([from_board(board) for board in chunk])
        moves, num_moves = legal_moves(positions)
        listed = [list(row[:num].tolist()) for row, num in zip(moves, num_moves, strict=True)]
        repetitions = [_repetitions(board) for board in chunk]
        assert in_check(positions).tolist() == [board.is_check() for board in chunk]
        codes = terminations(positions, repetitions)
        keys = position_keys(positions)
        for index, board in enumerate(chunk):
            expected = {to_code(board, move): move for move in board.legal_moves}
            assert sorted(listed[index]) == sorted(expected), board.fen()
            assert codes[index] == why_over(board), board.fen()
            known = self.key_of.setdefault(board._transposition_key(), int(keys[index]))
            assert known == keys[index], board.fen()
        self._compare_successors(chunk, positions, listed)
        _compare_planes(chunk, positions, repetitions)
        _compare_fens(chunk, positions)

    def _compare_successors(
        self, chunk: list[chess.Board], positions: NDArray[np.uint64], listed: list[list[int]]
    ) -> None:
        """Every move is made by both; every move survives the way to its action and back."""
        rows = np.repeat(np.arange(len(chunk)), [len(moves) for moves in listed])
        moves = np.array([move for row in listed for move in row], dtype=np.uint16)
        actions = moves_to_actions(moves)
        assert (actions_to_moves(positions[rows], actions) == moves).all()
        codes = rows.astype(np.int64) * 4672 + actions
        assert len(np.unique(codes)) == len(codes), "two legal moves share an action"
        after = make(positions[rows], moves)
        for row, board in enumerate(chunk):
            if row % 4 == 0:
                move_of = {to_code(board, move): move for move in board.legal_moves}
                for code, position in zip(listed[row], after[rows == row], strict=True):
                    board.push(move_of[code])
                    assert (from_board(board) == position).all(), (board.fen(), code)
                    board.pop()


def _repetitions(board: chess.Board) -> int:
    """Earlier occurrences of the position in its game."""
    count = 1
    while count < 3 and board.is_repetition(count + 1):
        count += 1
    return count - 1


def _compare_fens(chunk: list[chess.Board], positions: NDArray[np.uint64]) -> None:
    assert to_fens(positions) == [board.fen(en_passant="legal") for board in chunk]
    shredder = [board.shredder_fen(en_passant="legal") for board in chunk]
    assert to_fens(positions, shredder=True) == shredder
    assert (from_fens(shredder) == positions).all()


def _compare_planes(
    chunk: list[chess.Board], positions: NDArray[np.uint64], repetitions: list[int]
) -> None:
    planes = encode_planes(positions, repetitions)
    for board, seen, row in zip(chunk, repetitions, planes, strict=True):
        assert row.tolist() == _planes(board, seen), board.fen()


def _planes(board: chess.Board, repetitions: int) -> list[int]:
    """The planes in plain python-chess, from the table in ``planes.py``."""
    us, them, full = board.turn, not board.turn, chess.BB_ALL
    men = [board.pieces_mask(kind, side) for side in (us, them) for kind in chess.PIECE_TYPES]
    rooks = []
    for side in (us, them):
        king = board.king(side)
        assert king is not None
        own = board.clean_castling_rights() & board.occupied_co[side]
        right = sum(chess.BB_SQUARES[rook] for rook in chess.SquareSet(own) if rook > king)
        rooks += [right, own ^ right]
    en_passant = chess.BB_SQUARES[board.ep_square or 0] if board.has_legal_en_passant() else 0
    planes = [*men, *rooks, en_passant]
    planes = [chess.flip_vertical(plane) if us == chess.BLACK else plane for plane in planes]
    flags = [repetitions >= 1, board.is_check()]
    flags += [board.halfmove_clock >= least for least in (16, 32, 48, 64, 80)]
    return planes + [full if flag else 0 for flag in flags] + [full]
