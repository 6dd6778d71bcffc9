"""When games end, at the very edge of each rule, and what is remembered for repetition."""

import chess
import numpy as np
import pytest

from tests.chess.walks import to_code
from tests.kernels import exposed
from vecchess.chess.fen import from_board, from_fens
from vecchess.chess.make import make
from vecchess.chess.planes import CLOCK_STEPS, MATERIAL_WEIGHTS, NUM_PLANES, clock_level
from vecchess.chess.position import clock_of, colour_of, ply_of
from vecchess.chess.rules import (
    FIFTY_MOVES_PLIES,
    KEY_HISTORY,
    Termination,
    plies_since_repeated,
    push_key,
    terminations,
)
from vecchess.chess.sample import play_random

pytestmark = pytest.mark.plain

OPEN = "4k3/8/8/8/8/8/4P3/4K3 w - - {} {}"
MATE = "R3k3/8/4K3/8/8/8/8/8 b - - {} 80"
STALEMATE = "8/8/8/8/8/4k3/4p3/4K3 w - - {} 80"


@pytest.mark.parametrize(
    ("fen", "repetitions", "max_plies", "expected"),
    [
        (OPEN.format(99, 80), 1, 159, Termination.ONGOING),
        (OPEN.format(100, 80), 0, 1000, Termination.FIFTY_MOVES),
        (OPEN.format(0, 80), 2, 1000, Termination.THREEFOLD),
        (OPEN.format(0, 80), 3, 1000, Termination.THREEFOLD),
        (OPEN.format(0, 80), 0, 158, Termination.PLY_CAP),
        (OPEN.format(0, 80), 0, 157, Termination.PLY_CAP),
        # of several reasons the first counts, in the order of python-chess
        (MATE.format(100), 2, 10, Termination.CHECKMATE),
        (STALEMATE.format(100), 2, 10, Termination.STALEMATE),
        (OPEN.format(100, 80), 2, 10, Termination.FIFTY_MOVES),
        (OPEN.format(0, 80), 2, 10, Termination.THREEFOLD),
        ("8/8/8/8/8/3k4/8/3K4 w - - 100 80", 2, 10, Termination.INSUFFICIENT_MATERIAL),
        ("8/8/8/8/8/1k6/8/K1b5 w - - 0 80", 0, 1000, Termination.INSUFFICIENT_MATERIAL),
    ],
)
def test_a_game_ends_when_it_should(
    fen: str, repetitions: int, max_plies: int, expected: Termination
) -> None:
    assert terminations(from_fens([fen]), repetitions, max_plies).tolist() == [expected]
    assert terminations(from_fens([fen] * 2), [repetitions, 0], max_plies)[0] == expected


def test_dead_material_is_that_of_python_chess() -> None:
    """Every pair of men beside the kings, on light and dark squares."""
    places = (chess.B3, chess.C3, chess.F6, chess.G6)  # b3 and g6 are light, c3 and f6 dark
    men = [chess.Piece(kind, side) for kind in range(1, 6) for side in (True, False)]
    found = []
    for first in (None, *men):
        for second in (None, *men):
            for one, other in ((0, 1), (0, 3), (1, 2), (2, 3)):
                board = chess.Board("8/8/8/8/8/8/8/8 w - - 0 1")
                board.set_piece_at(chess.A1, chess.Piece(chess.KING, True))
                board.set_piece_at(chess.H8, chess.Piece(chess.KING, False))
                board.set_piece_at(places[one], first)
                board.set_piece_at(places[other], second)
                found.append(board)
    codes = terminations(np.stack([from_board(board) for board in found]))
    dead = codes == Termination.INSUFFICIENT_MATERIAL
    assert dead.tolist() == [board.is_insufficient_material() for board in found]
    assert 0 < dead.sum() < len(dead)


def test_wrong_shapes_of_repetitions_are_refused() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        terminations(from_fens([chess.STARTING_FEN] * 3), [0, 1])


def shuffled(fen: str, ucis: str) -> list[tuple[chess.Board, np.ndarray]]:
    """Boards and our positions along a game."""
    board, position = chess.Board(fen, chess960=True), from_fens([fen])
    walked = [(board.copy(), position[0])]
    for uci in ucis.split():
        move = chess.Move.from_uci(uci)
        position = make(position, [to_code(board, move)])
        board.push(move)
        walked.append((board.copy(), position[0]))
    return walked


BACK_AND_FORTH = "g1f3 g8f6 f3g1 f6g8 "
# the first king's move gives castling away, so that the start does not come again
KINGS_WALK = "a1b1 a8b8 b1a1 b8a8 "


@pytest.mark.parametrize(
    ("fen", "ucis"),
    [
        (chess.STARTING_FEN, BACK_AND_FORTH * 3),
        (chess.STARTING_FEN, BACK_AND_FORTH + "e2e4 e7e5 " + BACK_AND_FORTH * 2),
        ("r3k3/8/8/8/8/8/8/R3K3 w Qq - 5 30", KINGS_WALK * 3),
        # a knight's way round in six plies, and one in four within it
        (chess.STARTING_FEN, "b1c3 b8c6 c3d5 g8f6 d5c3 f6g8 c3b1 c6b8 " + BACK_AND_FORTH),
        # the same men, but for one move a pawn could be taken en passant
        ("4k3/8/8/8/3p4/8/4P3/4K3 w - - 0 1", "e2e4 " + "e8e7 e1e2 e7e8 e2e1 " * 2),
    ],
)
def test_repetitions_are_those_of_python_chess(fen: str, ucis: str) -> None:
    push, since = exposed(push_key), exposed(plies_since_repeated)
    keys, seen = np.zeros(KEY_HISTORY, np.uint64), set()
    walked = shuffled(fen, ucis)
    for ply, (board, position) in enumerate(walked):
        earlier = [
            p for p in range(ply) if _identity(walked[p][0]) == _identity(board)
        ]  # no capture and no pawn's move comes between: it would not be the same position
        assert push(position.ctypes.data, keys.ctypes.data) == len(earlier)
        assert since(position.ctypes.data, keys.ctypes.data) == (
            ply - earlier[-1] if earlier else 0
        )
        seen.add(len(earlier))
    assert seen >= {0, 1}


def _identity(board: chess.Board) -> object:
    return board._transposition_key()


def test_keys_are_kept_up_to_the_last_ply_that_can_be_played() -> None:
    push, since = exposed(push_key), exposed(plies_since_repeated)
    keys = np.zeros(KEY_HISTORY, np.uint64)
    assert KEY_HISTORY > FIFTY_MOVES_PLIES
    rows = from_fens([OPEN.format(clock, 80) for clock in (0, 4, 96, 100, 101, 900)])
    counts = [push(row.ctypes.data, keys.ctypes.data) for row in rows]
    assert counts == [0, 1, 2, 3, 0, 0]
    assert np.flatnonzero(keys).tolist() == [0, 4, 96, 100]
    assert len(np.unique(keys[[0, 4, 96, 100]])) == 1
    distances = [since(row.ctypes.data, keys.ctypes.data) for row in rows[:4]]
    assert distances == [0, 4, 92, 4]


def test_counters_are_read() -> None:
    for fen, clock, ply, colour in (
        ("4k3/8/8/8/8/8/8/4K2R b - - 0 1", 0, 1, 1),
        ("4k3/8/8/8/8/8/8/4K2R w - - 65535 2147483647", 65535, 2**32 - 4, 0),
        ("4k3/8/8/8/8/8/8/4K2R b - - 65535 2147483647", 65535, 2**32 - 3, 1),
    ):
        row = from_fens([fen])[0]
        address = row.ctypes.data
        assert exposed(clock_of)(address) == clock
        assert exposed(ply_of)(address) == ply
        assert exposed(colour_of)(address) == colour


def test_clocks_have_levels() -> None:
    level = exposed(clock_level)
    for clock in range(101):
        assert level(clock) == sum(clock >= least for least in CLOCK_STEPS)


def test_material_is_counted_on_the_planes_of_the_men() -> None:
    worth = {"p": 1, "n": 3, "b": 3, "r": 5, "q": 9, "k": 0}
    own = [worth[chess.piece_symbol(kind)] for kind in chess.PIECE_TYPES]
    rest = [0] * (NUM_PLANES - 12)
    assert MATERIAL_WEIGHTS.tolist() == [*own, *(-value for value in own), *rest]
    assert not MATERIAL_WEIGHTS.flags.writeable


def test_codes_are_those_of_recorded_games() -> None:
    """Shards hold them: docs/formats.md."""
    assert [name.lower() for name in Termination.__members__] == [
        "ongoing", "checkmate", "stalemate", "threefold", "fifty_moves", "insufficient_material",
        "ply_cap", "resignation", "adjudication", "tablebase",
    ]  # fmt: skip
    assert list(Termination) == list(range(10))


def test_random_games_end_as_their_last_positions_say() -> None:
    starts = from_fens(["7k/8/8/8/8/8/8/KQ6 w - - 0 1", "7k/8/5K2/6Q1/8/8/8/8 b - - 90 80"] * 12)
    positions, codes, plies = play_random(starts, np.arange(24), seed=5)
    expected = terminations(positions)
    repeated = codes == Termination.THREEFOLD
    assert codes[~repeated].tolist() == expected[~repeated].tolist()
    assert (expected[repeated] == Termination.ONGOING).all()
    assert {Termination.STALEMATE, Termination.FIFTY_MOVES} <= set(codes.tolist())
    assert (plies > 0).any()
