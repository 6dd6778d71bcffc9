import chess
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vecchess.chess import fen as fen_module
from vecchess.chess.chess960 import chess960_positions, start_positions
from vecchess.chess.fen import from_fens, to_board, to_fens
from vecchess.errors import ConfigError

pytestmark = pytest.mark.plain


@pytest.mark.parametrize(
    "fen",
    [
        chess.STARTING_FEN,
        "rnbqkbnr/pppp1ppp/8/8/3Pp3/8/PPP1PPPP/RNBQKBNR b KQkq d3 7 33",
        "8/8/8/8/8/4k3/4p3/4K3 b - - 99 200",
        "r3k2r/8/8/8/8/8/8/R3K2R w Kq - 3 5",
    ],
)
def test_fens_come_back_as_they_went_in(fen: str) -> None:
    assert to_fens(from_fens([fen])) == [
        fen.replace(" d3 ", " - ") if "d3" not in _legal(fen) else fen
    ]


def _legal(fen: str) -> str:
    return chess.Board(fen).fen(en_passant="legal")


def test_en_passant_is_kept_only_when_a_capture_is_legal() -> None:
    pinned = "8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1"  # both pawns leave the rank: the queen checks
    free = "8/8/8/8/k2Pp3/8/8/3K4 b - d3 0 1"
    assert to_fens(from_fens([pinned, free])) == [pinned.replace("d3", "-"), free]


def test_xfen_and_shredder_name_the_inner_rook_alike() -> None:
    xfen, shredder = "4k3/8/8/8/8/8/8/1R2KR1R w F - 0 1", "4k3/8/8/8/8/8/8/1R2KR1R w F - 0 1"
    position = from_fens([xfen])
    assert to_fens(position) == [xfen]
    assert to_fens(position, shredder=True) == [shredder]
    outer = from_fens(["4k3/8/8/8/8/8/8/1R2KR1R w KQ - 0 1"])
    assert to_fens(outer, shredder=True) == ["4k3/8/8/8/8/8/8/1R2KR1R w HB - 0 1"]


def test_missing_clocks_read_as_the_first_move() -> None:
    assert to_fens(from_fens(["8/8/8/8/8/4k3/4p3/4K3 w - -"])) == [
        "8/8/8/8/8/4k3/4p3/4K3 w - - 0 1"
    ]


@pytest.mark.parametrize(
    ("fen", "reason"),
    [
        ("", "empty"),
        ("nonsense", "rows"),
        ("8/8/8/8/8/8/8/8 w - - 0 1", "White has no king"),
        ("8/8/8/8/8/8/8/K7 w - - 0 1", "Black has no king"),
        ("kk6/8/8/8/8/8/8/K7 w - - 0 1", "more than one king"),
        ("k7/8/8/8/8/8/8/KP6 w - - 0 1", "first or last rank"),
        ("k7/8/8/8/8/8/8/KR6 w Q - 0 1", "castling"),
        ("k7/8/8/8/8/8/8/RK6 w - - 0 1", "not to move is in check"),
        ("k7/8/8/8/8/8/8/K7 x - - 0 1", "turn"),
        ("k7/8/QQQQQQQQ/QQ6/8/8/8/K7 b - - 0 1", "more men than pawns could promote to"),
        ("k7/8/8/8/8/8/8/K7 w - - 70000 1", "clock"),
    ],
)
def test_bad_fens_are_named_with_the_reason(fen: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_fens([chess.STARTING_FEN, fen])
    assert f"'{fen}'" in str(caught.value)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("men", ["N", "B", "R", "Q"])
def test_men_may_be_as_many_as_pawns_could_have_become(men: str) -> None:
    """Three more than at the start, with five and with six pawns; black ones alike."""
    many = men * (4 if men == "Q" else 5)
    for pawns in (5, 6):
        board = chess.Board(None)
        board.set_piece_map({
            chess.A1: chess.Piece(chess.KING, True), chess.H8: chess.Piece(chess.KING, False),
            **dict(zip((chess.B2, chess.C1, chess.D1, chess.E1, chess.F1),
                       map(chess.Piece.from_symbol, many), strict=False)),
            **dict.fromkeys(range(chess.A6, chess.A6 + pawns), chess.Piece(chess.PAWN, True)),
        })  # fmt: skip
        board.turn = chess.BLACK
        for side, fen in (("White", board.fen()), ("Black", board.mirror().fen())):
            if pawns == 5:
                assert to_fens(from_fens([fen])) == [fen]
            else:
                with pytest.raises(ConfigError, match=f"{side} has more men than pawns"):
                    from_fens([fen])


def test_no_fens_are_no_positions() -> None:
    assert from_fens([]).shape == (0, 8)


def test_all_chess960_starts_are_those_of_python_chess() -> None:
    fens = to_fens(chess960_positions(range(960)), shredder=True)
    expected = [chess.Board.from_chess960_pos(n).shredder_fen() for n in range(960)]
    assert fens == expected
    assert len(set(fens)) == 960
    assert to_fens(start_positions(2)) == [chess.STARTING_FEN] * 2
    with pytest.raises(ConfigError, match="960"):
        chess960_positions([3, 960])


@given(st.integers(0, 959), st.integers(0, 60_000), st.integers(1, 500_000), st.booleans())
def test_counters_survive(number: int, clock: int, fullmove: int, black: bool) -> None:
    board = chess.Board.from_chess960_pos(number)
    board.turn, board.halfmove_clock, board.fullmove_number = not black, clock, fullmove
    fen = board.fen()
    position = from_fens([fen])
    assert to_fens(position) == [fen]
    assert to_board(position[0]).ply() == board.ply()


def test_a_fen_with_more_moves_than_lists_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """No FEN is known that passes the other checks and has more than 218."""
    most = "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1"
    assert len(from_fens([most])) == 1
    monkeypatch.setattr(fen_module, "MAX_MOVES", 217)
    with pytest.raises(ConfigError, match="it has 218 legal moves, more than 217"):
        from_fens([most])
