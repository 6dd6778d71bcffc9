"""A game on the play page: its facts, its end by all rules, its text."""

import chess
import pytest

from vecchess.dash.play.play_game import (
    MOST_PLIES,
    game_facts,
    outcome_of,
    read_game,
    read_text,
    uci_moves,
    with_typed,
    write_pgn,
)
from vecchess.errors import ConfigError

SHUFFLE = ["g1f3", "g8f6", "f3g1", "f6g8"]
CASTLING = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
CASTLING_960 = "1r2k1r1/1p4p1/8/8/8/8/1P4P1/1R2K1R1 w GBgb - 0 1"
PROMOTING = "3n3k/4P3/8/8/8/8/8/4K3 w - - 0 1"


def test_facts_of_a_game() -> None:
    facts = game_facts(read_game("startpos", ["e2e4", "f7f6", "d1h5"]))
    assert facts["start"] == chess.STARTING_FEN
    assert [ply["san"] for ply in facts["plies"]] == [None, "e4", "f6", "Qh5+"]
    assert [ply["check"] for ply in facts["plies"]] == [False, False, False, True]
    assert (facts["turn"], facts["outcome"]) == ("black", None)
    assert facts["targets"] == {"g7": ["g6"]}


@pytest.mark.parametrize(
    ("start", "moves", "result", "reason", "can_go_on"),
    [
        ("startpos", ["f2f3", "e7e5", "g2g4", "d8h4"], "0-1", "checkmate", False),
        ("7k/8/6Q1/8/8/8/8/K7 w - - 0 1", ["g6f7"], "1/2-1/2", "stalemate", False),
        ("startpos", SHUFFLE * 2, "1/2-1/2", "threefold repetition", True),
        ("7k/8/6K1/8/8/8/8/R7 w - - 99 90", ["a1a2"], "1/2-1/2", "the fifty-move rule", True),
        ("7k/8/6K1/8/8/8/1p6/B7 w - - 0 1", ["a1b2"], "1/2-1/2", "neither side can mate", True),
    ],
    ids=["mate", "stalemate", "threefold", "fifty", "material"],
)
def test_games_end_by_all_rules(
    start: str, moves: list[str], result: str, reason: str, can_go_on: bool
) -> None:
    before, after = (read_game(start, moves[:count]).board for count in (len(moves) - 1, None))
    assert outcome_of(before) is None
    assert outcome_of(after) == {"result": result, "reason": reason, "can_go_on": can_go_on}


def test_a_mate_with_the_hundredth_move_is_a_mate() -> None:
    outcome = outcome_of(read_game("7k/8/6K1/8/8/8/8/R7 w - - 99 90", ["a1a8"]).board)
    assert outcome is not None
    assert outcome["reason"] == "checkmate"


def test_castling_is_written_and_read_as_the_start_position_needs_it() -> None:
    facts = game_facts(read_game(CASTLING, []))
    assert {"g1", "h1", "c1", "a1"} <= set(facts["targets"]["e1"])
    for move in ("e1g1", "e1h1"):
        assert uci_moves(read_game(CASTLING, [move])) == ["e1g1"]
    facts = game_facts(read_game(CASTLING_960, ["e1g1"]))
    assert [facts["plies"][1][name] for name in ("uci", "san")] == ["e1g1", "O-O"]
    assert facts["plies"][1]["fen"].startswith("1r2k1r1/1p4p1/8/8/8/8/1P4P1/1R3RK1 b")


def test_promotions() -> None:
    facts = game_facts(read_game(PROMOTING, []))
    assert facts["promotions"] == ["e7d8", "e7e8"]
    assert sorted(facts["targets"]["e7"]) == ["d8", "e8"]
    assert game_facts(read_game(PROMOTING, ["e7d8n"]))["plies"][1]["san"] == "exd8=N"


@pytest.mark.parametrize(
    ("typed", "uci"), [("Nf3", "g1f3"), (" e4 ", "e2e4"), ("e2e4", "e2e4"), ("Nc3", "b1c3")]
)
def test_moves_can_be_typed(typed: str, uci: str) -> None:
    assert with_typed(read_game("startpos", []), typed) == [uci]


@pytest.mark.parametrize("typed", ["Ke3", "e2e5", "0000", "--", "", "Nf3 Nf6"])
def test_what_is_typed_has_to_be_a_move(typed: str) -> None:
    with pytest.raises(ConfigError, match="is no legal move here"):
        with_typed(read_game("startpos", []), typed)


@pytest.mark.parametrize(
    ("start", "moves", "reason"),
    [
        ("8/8/8/8/8/8/8/8 w - - 0 1", [], "no king"),
        ("nonsense", [], "bad FEN"),
        ("startpos", ["e2e4", "e2e4"], 'move 2, "e2e4", is not legal'),
        ("startpos", SHUFFLE * (MOST_PLIES // 4) + ["g1f3"], "is the most here"),
    ],
    ids=["kings", "nonsense", "illegal", "long"],
)
def test_games_that_are_none(start: str, moves: list[str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        read_game(start, moves)


def test_a_game_survives_its_pgn() -> None:
    for start, moves in (
        ("startpos", ["e2e4", "e7e5", "g1f3"]),
        (CASTLING, ["e1c1", "e8g8"]),
        (chess.Board.from_chess960_pos(12).fen(), []),
        (CASTLING_960, ["e1g1", "e8b8"]),
    ):
        game = read_game(start, moves)
        text = write_pgn(game, {"White": "You", "Black": "net", "Result": "*"})
        assert '[White "You"]' in text
        if moves:
            again = read_text(text)
            assert again.start == game.start
            assert uci_moves(again) == moves


def test_text_is_a_fen_or_a_pgn() -> None:
    assert read_text(f" {PROMOTING}\n").start.fen() == PROMOTING
    assert uci_moves(read_text("1. e4 e5 (1... c5 2. Nf3) 2. Nf3 *")) == ["e2e4", "e7e5", "g1f3"]
    assert read_text(f'[SetUp "1"]\n[FEN "{PROMOTING}"]\n\n*').start.fen() == PROMOTING


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "nothing to read"),
        ("hello", "neither a FEN nor a PGN"),
        ("1. e4 e5 2. Ke4", "cannot be read"),
        ('[Variant "Atomic"]\n\n1. e4 *', "AtomicBoard is not chess"),
        (f'[Variant "{"x" * 9999}"]\n\n1. e4 *', "cannot be read: unsupported variant: xxx"),
        ("8/8/8/8/8/8/8/8 w - - 0 1", "no king"),
    ],
)
def test_text_that_is_neither(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        read_text(text)
    assert len(str(caught.value)) < 300


def test_chess960_starts() -> None:
    board = read_game(chess.Board.from_chess960_pos(0).fen(), []).board
    assert board.has_chess960_castling_rights()
