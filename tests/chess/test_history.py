"""The planes of earlier positions, against python-chess boards with their moves taken back."""

from collections import Counter

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.chess.walks import boards, men_before, to_code
from tests.kernels import exposed, size
from vecchess.chess.fen import from_board, from_fens
from vecchess.chess.game_arrays import Games
from vecchess.chess.history import (
    REPEATED_SHIFT,
    clear_past,
    copy_past,
    mix_past,
    no_past,
)
from vecchess.chess.make import make
from vecchess.chess.movegen import legal_moves
from vecchess.chess.planes import (
    NUM_PLANES,
    POSITION_INPUTS,
    encode_planes,
    history_of,
    num_planes,
    positions_seen,
)
from vecchess.chess.sample import random_games, random_planes, random_positions
from vecchess.errors import NetworkError

pytestmark = pytest.mark.plain


@pytest.fixture(scope="module")
def walked() -> tuple[list[chess.Board], NDArray[np.uint64], NDArray[np.uint64]]:
    """Boards of random games with their move stacks; the same made by us, and their pasts."""
    seen, positions, pasts = [], [], []
    num, only, game = size(1200, 500), np.zeros(1, np.int64), None
    for board in boards(num, 12):
        if game is not None and board.move_stack:
            last = board.pop()
            code = to_code(board, last)
            board.push(last)
            game.play(only, np.array([code], np.uint16))
        else:
            game = Games.at(from_board(board)[None], num)
        seen.append(board.copy())
        positions.append(game.positions.copy())
        pasts.append(game.past.copy())
    return seen, np.concatenate(positions), np.concatenate(pasts)


@pytest.mark.thorough
@pytest.mark.parametrize("history", [1, 3, 8])
def test_planes_are_those_of_boards_with_moves_taken_back(walked, history: int) -> None:
    seen, positions, past = walked
    planes = encode_planes(positions, 0, past, num_planes(history))
    assert planes.shape == (len(seen), num_planes(history))
    assert np.array_equal(planes[:, :NUM_PLANES], encode_planes(positions))
    for board, row in zip(seen, planes, strict=True):
        assert row[NUM_PLANES:].tolist() == men_before(board, history), board.fen()


def test_the_walk_meets_what_is_special(walked) -> None:
    kinds: Counter[str] = Counter()
    for board in walked[0]:
        kinds["short"] += 0 < len(board.move_stack) < 7
        if board.move_stack:
            before = board.copy()
            move = before.pop()
            kinds["castling"] += before.is_castling(move)
            kinds["en passant"] += before.is_en_passant(move)
            kinds["promotion"] += move.promotion is not None
    assert min(kinds[name] for name in ("short", "castling", "en passant", "promotion")) > 1


def test_a_game_that_begins_anywhere_has_no_past_before_it() -> None:
    """Plies count from wherever the FEN says: rows of a ring are found all the same."""
    for fen in (chess.STARTING_FEN, "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 3 1234"):
        game, board = Games.at(from_fens([fen]), 10), chess.Board(fen)
        assert not encode_planes(game.positions, 0, game.past, num_planes(8))[0, NUM_PLANES:].any()
        for _ in range(9):
            move = next(iter(board.legal_moves))
            game.play(np.zeros(1, np.int64), np.array([to_code(board, move)], np.uint16))
            board.push(move)
            planes = encode_planes(game.positions, 0, game.past, num_planes(8))[0, NUM_PLANES:]
            assert planes.tolist() == men_before(board, 8)


def test_parts_of_the_past_are_copied_mixed_and_cleared(walked) -> None:
    copy, clear = exposed(copy_past), exposed(clear_past)
    mix = exposed(mix_past)
    _, positions, pasts = walked
    key, check, marks = np.uint64(12345), np.uint64(678), np.uint64(2**64 - 1)
    for index in range(20, 60):
        position, past = positions[index], pasts[index].copy()
        address, ply = position.ctypes.data, int(position[7]) >> 16 & 0xFFFFFFFF
        keys = []
        for history in (1, 2, 5, 8):
            copied = np.full_like(past, marks)
            copy(address, past.ctypes.data, copied.ctypes.data, history)
            rows = [(ply - back) % 8 for back in range(1, history)]
            others = [row for row in range(8) if row not in rows]
            assert np.array_equal(copied[rows], past[rows])
            assert (copied[others] == marks).all()
            keys.append(mix(key, check, address, copied.ctypes.data, history))
            # what is not seen has no say, what is seen has
            assert keys[-1] == mix(key, check, address, past.ctypes.data, history)
            for row in rows:
                other = past.copy()
                other[row, 0] ^= np.uint64(1)
                mixed = mix(key, check, address, other.ctypes.data, history)
                assert [mixed[word] == keys[-1][word] for word in (0, 1)] == [False, False]
        assert keys[0] == (key, check)
        assert [len({mixed[word] for mixed in keys}) for word in (0, 1)] == [4, 4]
        clear(past.ctypes.data)
        assert not past.any()


def test_a_past_in_another_order_has_another_key(walked) -> None:
    mix = exposed(mix_past)
    position, past = walked[1][30], walked[2][30]
    keys = {
        mix(np.uint64(0), np.uint64(0), position.ctypes.data, row.ctypes.data, 8)
        for row in (np.ascontiguousarray(past[np.roll(np.arange(8), n)]) for n in range(8))
    }
    assert [len({pair[word] for pair in keys}) for word in (0, 1)] == [8, 8]


def test_positions_as_they_are(walked) -> None:
    """Eight positions of eight words, the newest first and marked where it has occurred before."""
    seen, positions, past = walked
    repetitions = np.arange(len(seen)) % 3
    found = encode_planes(positions, repetitions, past, POSITION_INPUTS)
    boards_seen = found.reshape(len(seen), 8, 8)
    marks = boards_seen[:, 0, 7] ^ positions[:, 7]
    assert np.array_equal(marks >> np.uint64(REPEATED_SHIFT), repetitions > 0)
    assert np.array_equal(boards_seen[:, 0, :7], positions[:, :7])
    for row, board in enumerate(seen):
        ply = board.ply()
        for plies in range(1, 8):
            wanted = past[row, (ply - plies) % 8] if plies <= len(board.move_stack) else 0
            assert (boards_seen[row, plies] == wanted).all()
    assert positions_seen(POSITION_INPUTS) == 8
    with pytest.raises(NetworkError, match="64 input planes"):
        history_of(POSITION_INPUTS)


def test_numbers_of_planes() -> None:
    assert [num_planes(history) for history in (1, 2, 8)] == [25, 37, 109]
    assert [history_of(num_planes(history)) for history in range(1, 9)] == list(range(1, 9))
    for history in (0, 9):
        with pytest.raises(ValueError, match=f"history of {history} positions"):
            num_planes(history)
    for planes in (13, 24, 26, 35, 132):
        with pytest.raises(NetworkError, match=f"{planes} input planes: vecchess makes 25") as told:
            history_of(planes)
        assert "\n" not in str(told.value)


def test_pasts_of_other_shapes_are_refused() -> None:
    position = from_fens([chess.STARTING_FEN])
    for past in (no_past(2), no_past(1)[:, :3], no_past(1).astype(np.int64)):
        with pytest.raises(ValueError, match=r"must be uint64\[1, 8, 8\]"):
            encode_planes(position, 0, past, num_planes(2))


def test_random_games_lead_to_their_positions() -> None:
    """Each noted position has a move to the one after it, back to the start of the game."""
    num = size(200, 12)
    positions, past = random_games(num, 2)
    assert np.array_equal(positions, random_positions(num, 2))
    plies = (positions[:, 7] >> np.uint64(16)).astype(np.int64) & 0xFFFF
    for row, ply in enumerate(plies):
        after = positions[row]
        for earlier in range(ply - 1, max(ply - 8, -1), -1):
            before = past[row, earlier % 8]
            moves, (count,) = legal_moves(before[None])
            reached = make(before[None].repeat(count, 0), moves[0, :count])
            assert (reached == after).all(axis=1).any()
            after = before
        if ply < 7:
            assert not past[row, ply:7].any()
    assert (plies < 7).sum() > 1
    assert np.array_equal(
        random_planes(num, 2, num_planes(3)), encode_planes(positions, 0, past, num_planes(3))
    )
