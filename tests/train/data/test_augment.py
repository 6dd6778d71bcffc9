"""The mirror, against python-chess: the mirrored board's moves and planes."""

import chess
import numpy as np

from tests.train.games import games
from vecchess.chess.action import moves_to_actions
from vecchess.chess.fen import from_board, to_board
from vecchess.chess.movegen import legal_moves
from vecchess.chess.planes import encode_planes, num_planes
from vecchess.chess.sample import random_positions
from vecchess.train.data.samples import make_samples, mirror, mirrored_actions


def without_castling(num: int) -> list[chess.Board]:
    """Positions of random games, their castling rights taken away; a promotion among them."""
    boards = [to_board(row) for row in random_positions(num, 4)]
    for board in boards:
        board.castling_rights = 0
    fens = ("1n6/P1P4k/8/8/8/8/7K/8 w - - 0 1", "4k3/8/8/2pP4/8/8/8/4K3 w - c6 0 1")
    return [*boards, *map(chess.Board, fens)]


def test_mirrored_positions_are_those_of_python_chess() -> None:
    boards = without_castling(300)
    positions = np.stack([from_board(board) for board in boards])
    flipped = np.stack([from_board(board.transform(chess.flip_horizontal)) for board in boards])
    counters = positions[:, 7]
    flipped[:, 7] = counters
    planes, (moves, num_legal) = encode_planes(positions), legal_moves(positions)
    legal = np.zeros_like(moves)
    for row, count in enumerate(num_legal):
        legal[row, :count] = moves_to_actions(moves[row, :count])
    before = planes.copy()
    mirror(planes, legal, num_legal, seed=3, step=0)
    is_mirrored = (planes != before).any(axis=1)
    assert 0.4 < is_mirrored.mean() < 0.6
    wanted = np.where(is_mirrored[:, None], encode_planes(flipped), before)
    assert np.array_equal(planes, wanted)
    for row in range(len(boards)):
        position = flipped[row] if is_mirrored[row] else positions[row]
        listed, (count,) = legal_moves(position[None])
        actions = moves_to_actions(listed[0, :count])
        assert sorted(legal[row, :count]) == sorted(actions)
        assert not legal[row, count:].any()


def test_rows_are_decided_one_by_one() -> None:
    records = games(6)
    rows = make_samples(records, np.arange(len(records.action)))
    may_castle = rows.planes[:, 12:16].any(axis=1)
    assert 0 < may_castle.sum() < len(may_castle)
    whole, half = rows.map(np.copy), rows.map(lambda column: column[100:].copy())
    mirror(whole.planes, whole.legal, whole.num_legal, 9, 4)
    mirror(half.planes, half.legal, half.num_legal, 9, 4, first_row=100)
    assert np.array_equal(whole.planes[100:], half.planes)
    assert np.array_equal(whole.legal[100:], half.legal)
    assert np.array_equal(whole.planes[may_castle], rows.planes[may_castle])
    other = rows.map(np.copy)
    mirror(other.planes, other.legal, other.num_legal, 9, 5)
    assert not np.array_equal(whole.planes, other.planes)


def test_earlier_positions_are_mirrored_with_the_newest() -> None:
    records = games(6)
    rows = make_samples(records, np.arange(len(records.action)), planes=num_planes(3))
    planes, num_newest = rows.planes.copy(), 25
    mirror(rows.planes, rows.legal, rows.num_legal, 9, 4)
    is_mirrored = (rows.planes[:, :num_newest] != planes[:, :num_newest]).any(axis=1)
    assert 20 < is_mirrored.sum() < len(planes) - 20
    for before, after, flipped in zip(planes, rows.planes, is_mirrored, strict=True):
        flip = chess.flip_horizontal if flipped else int
        assert after[num_newest:].tolist() == [flip(int(plane)) for plane in before[num_newest:]]


def test_mirroring_twice_changes_nothing() -> None:
    actions = mirrored_actions()
    assert np.array_equal(actions[actions], np.arange(4672))
