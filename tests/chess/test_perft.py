"""Perft against the published numbers: the strictest test a move generator can be put to."""

import chess
import pytest

from tests.kernels import size
from vecchess.chess.chess960 import chess960_positions
from vecchess.chess.fen import to_board
from vecchess.chess.perft import perft
from vecchess.errors import ConfigError

# chessprogramming.org, "Perft Results": leaves at depth 1, 2, ...
PUBLISHED = {
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1": (
        20, 400, 8902, 197281, 4865609, 119060324, 3195901860,
    ),
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1": (
        48, 2039, 97862, 4085603, 193690690, 8031647685,
    ),
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1": (
        14, 191, 2812, 43238, 674624, 11030083, 178633661, 3009794393,
    ),
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1": (
        6, 264, 9467, 422333, 15833292, 706045033,
    ),
    "r2q1rk1/pP1p2pp/Q4n2/bbp1p3/Np6/1B3NBn/pPPP1PPP/R3K2R b KQ - 0 1": (
        6, 264, 9467, 422333, 15833292, 706045033,
    ),
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8": (
        44, 1486, 62379, 2103487, 89941194,
    ),
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10": (
        46, 2079, 89890, 3894594, 164075551, 6923051137,
    ),
}  # fmt: skip

# chessprogramming.org, "Chess960 Perft Results"
CHESS960 = {
    "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9": (
        21, 528, 12189, 326672, 8146062, 227689589,
    ),
    "2nnrbkr/p1qppppp/8/1ppb4/6PP/3PP3/PPP2P2/BQNNRBKR w HEhe - 1 9": (
        21, 807, 18002, 667366, 16253601, 590751109,
    ),
    "b1q1rrkb/pppppppp/3nn3/8/P7/1PPP4/4PPPP/BQNNRKRB w GE - 1 9": (
        20, 479, 10471, 273318, 6417013, 177654692,
    ),
    "qbbnnrkr/2pp2pp/p7/1p2pp2/8/P3PP2/1PPP1KPP/QBBNNR1R w hf - 0 9": (
        22, 593, 13440, 382958, 9183776, 274103539,
    ),
    "1nbbnrkr/p1p1ppp1/3p4/1p3P1p/3Pq2P/8/PPP1P1P1/QNBBNRKR w HFhf - 0 9": (
        28, 1120, 31058, 1171749, 34030312, 1250970898,
    ),
}  # fmt: skip

MOST_LEAVES = size(50_000_000, 20_000)
"""A second or less: deeper ones are for the slow run."""


def _cases(table: dict[str, tuple[int, ...]], slow: bool) -> list[tuple[str, int, int]]:
    return [
        (fen, depth, leaves)
        for fen, counts in table.items()
        for depth, leaves in enumerate(counts, 1)
        if (leaves > MOST_LEAVES) == slow
    ]


@pytest.mark.plain
@pytest.mark.parametrize(("fen", "depth", "leaves"), _cases(PUBLISHED | CHESS960, slow=False))
def test_perft_is_the_published_number(fen: str, depth: int, leaves: int) -> None:
    assert perft(fen, depth) == leaves


@pytest.mark.slow
@pytest.mark.parametrize(("fen", "depth", "leaves"), _cases(PUBLISHED | CHESS960, slow=True))
def test_deep_perft_is_the_published_number(fen: str, depth: int, leaves: int) -> None:
    assert perft(fen, depth) == leaves


@pytest.mark.plain
@pytest.mark.parametrize("fen", PUBLISHED)
def test_counting_made_moves_gives_the_same(fen: str) -> None:
    depth = size(4, 2)
    assert perft(fen, depth, bulk=False) == PUBLISHED[fen][depth - 1]


@pytest.mark.plain
def test_chess960_starts_agree_with_python_chess() -> None:
    for number in range(0, 960, size(31, 97)):
        position = chess960_positions([number])[0]
        assert perft(position, 2) == _slow_perft(to_board(position), 2), number


def _slow_perft(board: chess.Board, depth: int) -> int:
    if depth == 0:
        return 1
    total = 0
    for move in board.legal_moves:
        board.push(move)
        total += _slow_perft(board, depth - 1)
        board.pop()
    return total


@pytest.mark.plain
def test_depth_0_is_the_root_and_less_is_an_error() -> None:
    assert perft(chess.STARTING_FEN, 0) == 1
    with pytest.raises(ValueError, match="negative"):
        perft(chess.STARTING_FEN, -1)
    with pytest.raises(ConfigError, match="bad FEN"):
        perft("nonsense", 2)
