"""The parts that have a second way of being computed, and what threads and seeds may not change."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import chess
import numba
import numpy as np
import pytest

from tests.kernels import size
from vecchess.chess.bitboards import attacks, tables
from vecchess.chess.bitboards.move_lists import _emit_in_fours, emit16
from vecchess.chess.bitboards.rays import slider_attacks
from vecchess.chess.chess960 import start_positions
from vecchess.chess.fen import from_board, from_fens
from vecchess.chess.make import make
from vecchess.chess.movegen import in_check, legal_moves
from vecchess.chess.position import position_keys
from vecchess.chess.sample import play_random, random_positions
from vecchess.jit import kernel

RNG = np.random.default_rng(7)
ALL = chess.BB_ALL


@kernel
def _attacks(block, squares, occupied, out):  # type: ignore[no-untyped-def]
    for i in range(len(squares)):
        square, men = squares[i], occupied[i]
        out[i, 0] = attacks.rook_attacks(block, square, men)
        out[i, 1] = attacks.bishop_attacks(block, square, men)
        out[i, 2] = attacks._line(block, square, men, 0) | attacks._line(block, square, men, 1)
        out[i, 3] = attacks._line(block, square, men, 2) | attacks._line(block, square, men, 3)
        bit = np.uint64(1) << np.uint64(square)
        out[i, 4] = slider_attacks(bit, np.uint64(0), ~men)
        out[i, 5] = slider_attacks(np.uint64(0), bit, ~men)


@pytest.mark.plain
def test_slider_attacks_agree_with_python_chess_in_every_way() -> None:
    squares = RNG.integers(0, 64, 4000)
    occupied = RNG.integers(0, 2**64, 4000, dtype=np.uint64)
    occupied[::2] &= RNG.integers(0, 2**64, 2000, dtype=np.uint64)
    out = np.zeros((4000, 6), dtype=np.uint64)
    _attacks(tables.address(), squares, occupied, out)
    for square, men, row in zip(squares.tolist(), occupied.tolist(), out.tolist(), strict=True):
        rook = chess.BB_RANK_ATTACKS[square][chess.BB_RANK_MASKS[square] & men]
        rook |= chess.BB_FILE_ATTACKS[square][chess.BB_FILE_MASKS[square] & men]
        bishop = chess.BB_DIAG_ATTACKS[square][chess.BB_DIAG_MASKS[square] & men]
        assert row == [rook, bishop] * 3


@kernel
def _emit(words, cursor, out):  # type: ignore[no-untyped-def]
    step, start = np.uint64(65), np.uint64(0xFFF8)
    for i in range(len(words)):
        end = emit16(np.uint64(cursor), words[i], step, start)
        out[i, 0] = np.int64(end) - cursor
        end = _emit_in_fours(np.uint64(cursor) + np.uint64(64), words[i], step, start)
        out[i, 1] = np.int64(end) - cursor - 64


@pytest.mark.plain
def test_targets_are_written_alike_in_fours_and_at_once() -> None:
    for _ in range(200):
        squares = np.sort(RNG.choice(64, RNG.integers(0, 17), replace=False)).astype(np.uint64)
        word = np.bitwise_or.reduce(np.uint64(1) << squares, initial=np.uint64(0))
        room, sizes = np.zeros(128, dtype=np.uint16), np.zeros((1, 2), dtype=np.int64)
        _emit(np.array([word], dtype=np.uint64), room.ctypes.data, sizes)
        expected = (squares * 65 + 0xFFF8).astype(np.uint16)
        num = len(squares)
        assert sizes.tolist() == [[2 * num, 2 * num]]
        assert (room[:num] == expected).all()
        assert (room[32 : 32 + num] == expected).all()


PORTABLE = """
import numpy as np
from vecchess.chess.fen import from_board, from_fens
from vecchess.chess.make import make
from vecchess.chess.movegen import legal_moves
from vecchess.chess.perft import perft
from vecchess.jit import cpu_has
assert not cpu_has("bmi2") and not cpu_has("avx512vbmi2")
print(perft("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 4))
print(perft("r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", 4))
"""


@pytest.mark.slow
def test_a_processor_without_extensions_counts_the_same(tmp_path: Path) -> None:
    plain = {
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", PORTABLE], env=os.environ | plain, capture_output=True, text=True
    )
    assert done.stdout.split() == ["4085603", "422333"], done.stderr


@pytest.mark.plain
@pytest.mark.skipif(not numba.config.DISABLE_JIT, reason="compiled code knows its processor")
def test_without_bmi2_sliders_reach_as_far(monkeypatch: pytest.MonkeyPatch) -> None:
    block, places = tables.address(), RNG.integers(0, 64, 200)
    kinds = (attacks.rook_attacks, attacks.bishop_attacks)
    boards = RNG.integers(0, 2**64, 200, dtype=np.uint64)
    tabled = [f(block, s, men) for f in kinds for s, men in zip(places, boards, strict=True)]
    monkeypatch.setattr(attacks, "has_bmi2", lambda: False)
    found = [f(block, s, men) for f in kinds for s, men in zip(places, boards, strict=True)]
    assert found == tabled


@pytest.mark.plain
def test_the_most_moves_known_fit() -> None:
    fen = "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1"  # Petrovic 1964
    assert legal_moves(from_fens([fen]))[1].tolist() == [218]


@pytest.mark.plain
def test_more_moves_than_fit_are_an_error() -> None:
    board = chess.Board("1Q4Q1/Q3QQ2/2Q1Q2Q/7Q/3Q3Q/Q1Q5/4Q1QQ/KQk1Q3 w - - 0 1")
    with pytest.raises(ValueError, match="more than 218"):
        legal_moves(from_board(board)[None])


@pytest.mark.plain
def test_random_games_depend_on_seed_and_number_only() -> None:
    num = size(40, 2)
    numbers = np.arange(num)
    whole = play_random(start_positions(num), numbers, seed=3)
    parts = [play_random(start_positions(1), numbers[n : n + 1], seed=3) for n in range(num)]
    for index, array in enumerate(whole):
        assert (np.concatenate([part[index] for part in parts]) == array).all()
    other = play_random(start_positions(num), numbers, seed=4)
    assert (other[2] != whole[2]).any()


@pytest.mark.plain
def test_random_positions_have_a_move_to_play() -> None:
    num = size(300, 20)
    positions = random_positions(num, seed=11)
    assert positions.shape == (num, 8)
    assert (legal_moves(positions)[1] > 0).all()
    assert len(np.unique(position_keys(positions))) > 0.9 * num
    assert (random_positions(num, seed=11) == positions).all()


def test_threads_see_the_same_tables() -> None:
    positions = random_positions(500, seed=1)
    with ThreadPoolExecutor(4) as pool:
        answers: list[Any] = list(pool.map(lambda _: legal_moves(positions), range(8)))
    for moves, num_moves in answers:
        assert (moves == answers[0][0]).all()
        assert (num_moves == answers[0][1]).all()


@pytest.mark.plain
def test_games_that_ended_are_replaced_by_the_next_ones() -> None:
    num = size(300, 20)
    numbers = np.arange(2 * num)
    positions, codes, plies = play_random(start_positions(2 * num), numbers, seed=7, below=120)
    assert 0 < (codes[:num] != 0).sum() < num // 2
    assert (random_positions(num, seed=7) == positions[codes == 0][:num]).all()
    assert plies.max() < 120
    board_plies = (positions[:, 7] >> np.uint64(16)).astype(np.int64) & 0xFFFF
    assert (board_plies == plies).all()


@pytest.mark.plain
def test_wrong_shapes_are_refused() -> None:
    for moves in ([1, 2], [[1]], []):
        with pytest.raises(ValueError, match="1 positions need as many moves"):
            make(start_positions(1), moves)
    with pytest.raises(ValueError, match="uint64"):
        in_check(np.zeros((3, 7), dtype=np.uint64))
    with pytest.raises(ValueError, match="uint64"):
        legal_moves(np.zeros((3, 8), dtype=np.int64))  # type: ignore[arg-type]
