import numpy as np
import pytest

from tests.search.epd import read_epd
from vecchess.chess.bitboards import tables
from vecchess.chess.chess960 import start_positions
from vecchess.chess.fen import from_board, from_fens
from vecchess.chess.make import make
from vecchess.chess.movegen import MOVE_BUFFER, legal_moves
from vecchess.chess.position import Positions
from vecchess.chess.rules import Termination, terminations
from vecchess.chess.sample import play_random
from vecchess.config import TreeConfig
from vecchess.inference.builtin import MaterialBackend
from vecchess.jit import kernel
from vecchess.search.batch_search import BatchSearch
from vecchess.search.kernels.evaluate_leaf import NO_MOVE, mating_move
from vecchess.shapes import POSITION_WORDS


@kernel
def _mating_moves(tables, positions, moves, counts, board, trial, found):  # type: ignore[no-untyped-def]
    for index in range(len(counts)):
        found[index] = mating_move(
            tables, positions + index * 64, moves + index * (2 * 218), counts[index], board, trial
        )


def mating_moves(positions: Positions) -> np.ndarray:
    """What the kernel finds for each position."""
    moves, counts = legal_moves(positions)
    board, trial = np.zeros(POSITION_WORDS, np.uint64), np.zeros(MOVE_BUFFER, np.uint16)
    found = np.zeros(len(positions), np.int64)
    _mating_moves(
        tables.address(), positions.ctypes.data, moves.ctypes.data, counts.astype(np.int64),
        board.ctypes.data, trial.ctypes.data, found,
    )  # fmt: skip
    return found


def first_mates(positions: Positions) -> np.ndarray:
    """The first mating move in order of generation, by trying every legal move."""
    moves, counts = legal_moves(positions)
    rows = np.repeat(np.arange(len(positions)), counts)
    listed = moves[np.arange(moves.shape[1]) < counts[:, None]]
    mates = terminations(make(positions[rows], listed)) == Termination.CHECKMATE
    first = np.full(len(positions), NO_MOVE)
    first[rows[mates][::-1]] = listed[mates][::-1]
    return first


@pytest.mark.parametrize("below", [20, 80, 300, 500])
def test_every_mate_in_random_games_is_seen(below: int) -> None:
    numbers = np.arange(3000, dtype=np.int64)
    positions, codes, _ = play_random(start_positions(3000), numbers, below, below)
    positions = np.ascontiguousarray(positions[codes == Termination.ONGOING])
    assert (mating_moves(positions) == first_mates(positions)).all()


def test_known_mates_are_seen() -> None:
    positions = np.stack([from_board(board) for board, _ in read_epd("mate_in_1")])
    found = mating_moves(positions)
    assert (found == first_mates(positions)).all()
    assert (found != NO_MOVE).all()
    others = np.stack([from_board(board) for board, _ in read_epd("mate_in_2")])
    assert (mating_moves(others) == NO_MOVE).all()


@pytest.mark.parametrize(
    "fen",
    [
        "5k2/R7/8/8/8/8/8/4K2R w K -",
        "4rkr1/4p1p1/8/8/8/8/8/4K2R w K -",
        "k7/2P5/1K6/8/8/8/8/8 w - -",
        "k1K5/8/1P6/pP6/8/8/8/6B1 w - a6",
        "3rkr2/8/8/8/8/8/8/R3K2R w KQ -",
        "7k/7p/8/4N3/8/8/1B6/K5R1 w - -",
        "6rk/6pp/7N/8/8/8/8/K7 w - -",
    ],
)
def test_castling_promotion_en_passant_and_discovery(fen: str) -> None:
    positions = from_fens([fen])
    assert (mating_moves(positions) == first_mates(positions)).all()


def test_a_gumbel_search_plays_no_lost_move_while_others_are_left() -> None:
    """Most moves allow Qxf7 mate. A search that tried those alone plays one that it has not."""
    tried = from_fens(["r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 3 3"])
    backend = MaterialBackend(1)
    played = []
    for sims in (1, 2, 3, 4):
        config = TreeConfig(search="gumbel", sims=sims, considered=sims)
        played.append(int(BatchSearch(config, backend, 1).run(tried).action[0]))
    assert len(set(played)) == len(played)
