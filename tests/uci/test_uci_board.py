"""The game as ``position`` tells it, and illegal ones, as Stockfish takes them."""

import chess
import pytest

from tests.uci.talk import stockfish
from vecchess.chess.fen import from_board
from vecchess.chess.movegen import legal_moves
from vecchess.chess.uci_moves import from_chess_move, move_to_uci
from vecchess.errors import ConfigError
from vecchess.uci.parse_command import STARTPOS, Position, parse_position
from vecchess.uci.tasks import BENCH_FENS
from vecchess.uci.uci_board import UciGame, diagram, legal_move, set_up

CASTLING_960 = "1r2k1r1/pppppppp/8/8/8/8/PPPPPPPP/1R2K1R1 w GBgb - 0 1"
LINES = (
    "startpos moves e2e4 e2e4 d2d4",
    "startpos moves e2e4 0000 e7e5",
    "startpos moves e7e5",
    "startpos moves e2e4 e7e5 e1e3 g8f6",
    "startpos moves e2e4 nonsense",
    "startpos e2e4 e7e5",
    "startpos moves e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 e1g1",
    "fen rnbqkbnr/pppp1ppp/8/8/3Pp3/8/PPP1PPPP/RNBQKBNR b KQkq d3 0 2",
    "fen rnbqkbnr/pppp1ppp/8/8/3P1p2/8/PPP1PPPP/RNBQKBNR b KQkq d3 0 2",
    "fen 4k3/8/8/8/8/8/8/R3K2R w KQ - 12 34 moves e1g1 e8d7",
    "fen 7k/4P3/8/8/8/8/8/K7 w - - 0 1 moves e7e8q",
    "fen 7k/4P3/8/8/8/8/8/K7 w - - 0 1 moves e7e8",
)


def game(line: str, before: UciGame | None = None) -> UciGame:
    asked = parse_position(line.split())
    assert asked is not None
    return set_up(asked, before)


def shown(line: str) -> list[str]:
    return diagram(game(line), key=0, chess960=False)


@pytest.mark.stockfish
@pytest.mark.parametrize("line", LINES)
def test_the_board_is_shown_as_by_stockfish(line: str) -> None:
    """Also where moves are illegal: what comes before them counts. Keys are our own."""
    theirs, ours = stockfish(f"position {line}", "d"), shown(line)
    keys = [place for place, text in enumerate(theirs) if text.startswith("Key")]
    assert len(keys) == 1
    del theirs[keys[0]], ours[keys[0]]
    assert ours == theirs


@pytest.mark.parametrize(
    ("fen", "part"),
    [
        ("", "bad FEN"),
        ("foo bar", "bad FEN"),
        ("8/8/8/8/8/8/8/K7 w - - 0 1", "Black has no king"),
        ("k7/8/8/8/8/8/8/8 w - - 0 1", "White has no king"),
        ("kk6/8/8/8/8/8/8/K7 w - - 0 1", "more than one king"),
        ("k7/8/8/8/8/8/8/R6K w - - 0 1", "not to move is in check"),
        ("k6P/8/8/8/8/8/8/7K w - - 0 1", "first or last rank"),
        ("k7/8/8/8/8/8/8/7K x - - 0 1", "bad FEN"),
        ("k7/8/8/8/8/8/8/7K w - - x y", "bad FEN"),
        ("k7/8/8/8/8/8/8/7K w - - 0 99999999999999", "clock"),
        ("qqqqqqqk/qqqqqqqq/8/8/8/8/8/K7 w - - 0 1", "more men"),
    ],
)
def test_positions_that_cannot_be(fen: str, part: str) -> None:
    """Stockfish crashes on most of them, and plays on from the rest."""
    with pytest.raises(ConfigError, match=part) as caught:
        set_up(Position(fen))
    assert "\n" not in str(caught.value)


def test_a_game_that_goes_on_is_not_read_again() -> None:
    first = game("startpos moves e2e4 e7e5")
    second = game("startpos moves e2e4 e7e5 g1f3 b8c6", first)
    assert second.board.fen() == game("startpos moves e2e4 e7e5 g1f3 b8c6").board.fen()
    assert second.begins_with(first)
    assert not first.begins_with(second)
    assert first.board.fen() == game("startpos moves e2e4 e7e5").board.fen()
    assert not game("startpos moves d2d4").begins_with(first)
    assert game("startpos", first).moves == []
    assert not game(f"fen {chess.STARTING_FEN} moves e2e4 c7c5", first).begins_with(first)


def test_after_an_illegal_move_nothing_goes_on() -> None:
    broken = game("startpos moves e2e4 e2e4")
    assert len(game("startpos moves e2e4 e2e4 e7e5", broken).moves) == 1
    assert len(game("startpos moves e2e4 e7e5", broken).moves) == 2


@pytest.mark.parametrize("fen", [STARTPOS, CASTLING_960, *BENCH_FENS])
def test_moves_have_the_codes_and_the_words_of_the_library(fen: str) -> None:
    board = set_up(Position(fen)).board
    position = from_board(board)
    moves, count = legal_moves(position[None])
    for chess960 in {True, board.has_chess960_castling_rights()}:
        theirs = {
            move_to_uci(position, int(move), chess960): int(move) for move in moves[0, : count[0]]
        }
        ours = {
            board.uci(move, chess960=chess960): from_chess_move(move, board.turn)
            for move in board.legal_moves
        }
        assert ours == theirs


def test_castling_is_understood_both_ways() -> None:
    board = set_up(Position("4k3/8/8/8/8/8/8/4K2R w K - 0 1")).board
    assert legal_move(board, "e1g1") == legal_move(board, "e1h1") != None  # noqa: E711
    assert legal_move(board, "e1f1") != legal_move(board, "e1g1")
    assert legal_move(board, "0000") is None
    assert legal_move(board, "e1e9") is None


def test_checkers_and_chess960_in_the_diagram() -> None:
    lines = diagram(set_up(Position("4k3/8/8/8/8/8/4r3/4K2R w K - 0 1")), 0xAB, chess960=True)
    assert lines[-3:] == [
        "Fen: 4k3/8/8/8/8/8/4r3/4K2R w H - 0 1",
        "Key: 00000000000000AB",
        "Checkers: e2 ",
    ]
