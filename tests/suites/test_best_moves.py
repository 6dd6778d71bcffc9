"""EPD files of best moves, what players find in them, and how results are told."""

import hashlib
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from vecchess.arena.player_protocol import ImmediatePlayer, MoveRequests
from vecchess.chess.fen import to_board
from vecchess.chess.uci_moves import uci_to_move
from vecchess.config import MatchConfig
from vecchess.errors import ConfigError
from vecchess.suites.best_moves import MOVES, PUZZLES, BestMoveSuite
from vecchess.suites.epd import read_best_moves
from vecchess.suites.run_suite import SuiteProgress, run_suite, suite_facts
from vecchess.suites.suite_result import Figure, SuiteResult, share_ratio

LINES = """# a comment

4k3/8/8/8/8/8/8/R3K3 w Q - bm O-O-O Ra8+; hmvc 3; c0 "905 90 5"; id "endings.17";
r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - bm Bb5; id "games.1";
rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - bm e5; c0 "400 500 100"; id "games.2";
"""


class Castler(ImmediatePlayer):
    """Castles where it can, else makes the first legal move by name."""

    def choose(self, requests: MoveRequests) -> NDArray[np.uint16]:
        chosen = []
        for position in requests.positions:
            board = to_board(position, chess960=False)
            legal = sorted(board.legal_moves, key=lambda m: (not board.is_castling(m), m.uci()))
            chosen.append(uci_to_move(position, legal[0].uci()))
        return np.array(chosen, np.uint16)


def castler(seed: int) -> Castler:
    return Castler("castler")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "some.epd"
    path.write_text(LINES)
    return path


def test_a_file_is_read(file: Path) -> None:
    suite = read_best_moves(file)
    assert suite.moves == [{"e1c1", "a1a8"}, {"f1b5"}, {"e7e5"}]
    assert suite.sources == ["endings", "games", "games"]
    np.testing.assert_equal(suite.values, [0.9, np.nan, 0.3])
    assert len(suite.first(2)) == 2


def test_a_line_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "one.epd"
    file.write_text(
        'r3k2r/8/8/8/4Pp2/8/8/R3K2R b KQkq e3 bm O-O; hmvc 12; c0 "250 250 500"; id "a.b.7";\n'
    )
    suite = read_best_moves(file)
    assert (suite.moves, suite.sources) == ([{"e8g8"}], ["a.b"])
    assert suite.values.tolist() == [-0.25]
    assert int(suite.positions[0, 7]) & 0xFFFF == 12


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("8/8/8/8/8/8/8/8 w - - bm Ka1;", "line 1: bad FEN"),
        ("4k3/8/8/8/8/8/8/R3K3 w Q - bm --;", "line 1: -- is no legal move"),
        ("4k3/8/8/8/8/8/8/R3K3 w Q -", "holds no positions with best moves"),
        ("4k3/8/8/8/8/8/8/R3K3 w Q - bm Rb9;", "line 1: Rb9 is no legal move"),
        ("4k3/8/8/8/8/8/8/R3K3 w Q - bm Ra2 Rb9;", "line 1: Rb9 is no legal move"),
        ("4k3/8/8/8/8/8/8/R3K3 w Q - am Tb1;", "line 1: Tb1 is no legal move"),
        ("k7/2K5/1Q6/8/8/8/8/8 b - - bm Kb8;", "line 1: "),
        ("4k3/8/8/8/8/8/8/4R3 w - - bm Ra1;", "White has no king"),
        ("nothing", "line 1: "),
        ("", "holds no positions"),
    ],
)  # fmt: skip
def test_bad_lines_are_named(tmp_path: Path, line: str, reason: str) -> None:
    file = tmp_path / "bad.epd"
    file.write_text(line)
    with pytest.raises(ConfigError, match=reason):
        read_best_moves(file)


RUY = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R"


def test_positions_without_moves_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "suite.epd"
    file.write_text(f"{RUY} w KQkq - 0 1; draw\n{RUY} w KQkq - bm Bb5;\n{RUY} w KQkq -\n")
    suite = read_best_moves(file)
    assert (suite.moves, suite.left_out) == ([{"f1b5"}], 2)


@pytest.mark.parametrize(
    ("line", "moves", "clock"),
    [
        ('w KQkq - bm Bb5; c0 "f5=10, Be5+=2, Bf2=3"; id "STS(v1.0) Undermine.001";', "f1b5", 0),
        ('w KQkq - bm Bb5; c0 "ERET.095; Queen sacrifice"; id "a.1";', "f1b5", 0),
        ('w KQkq - 7 3 bm Bb5; id "arasan21.1"', "f1b5", 7),
        ("w KQkq -; bm Bb5; hmvc 5; fmvn 9;", "f1b5", 5),
        ("w KQkq - bm Bb5+!? Bc4 ; CCC some remark", "f1b5 f1c4", 0),
        ('w KQkq - acd 12; pv e2e4 nonsense "; bm f1b5; c0 "0 0 0";', "", 0),
        ('w KQkq - acd 12; pv e2e4 nonsense; bm f1b5; c0 "0 0 0"; dm x;', "f1b5", 0),
        ("w KQkq - bm 3. Bb5 3.Bc4;", "f1b5 f1c4", 0),
        ('w KQkq -\tbm Bb5;id "BK.01"', "f1b5", 0),
        ("w KQkq - bm Bf1-b5;", "f1b5", 0),
        ("w KQkq - ; bm Bb5 + ? ; c1 diff=10", "f1b5", 0),
        ("w KQkq - bm Bb5 dm 26", "f1b5", 0),
        ("w - -4 12 ; bm Bb5", "f1b5", 4),
        ("w KQkq - 0 1 bm c3 d3 ce 12 acd 5", "c2c3 d2d3", 0),
        ("w KQkq - ; bm Bb5\0", "f1b5", 0),
        ('w KQkq - bm Bb5; am Bd8; id "x.1";', "f1b5", 0),
    ],
)
def test_lines_of_public_suites_are_read(tmp_path: Path, line: str, moves: str, clock: int) -> None:
    file = tmp_path / "suite.epd"
    file.write_bytes(f"\ufeff# a suite\r\n\r\n{RUY} {line}\r\n".encode())
    if not moves:  # what follows belongs to a text that does not end
        with pytest.raises(ConfigError, match="no positions with best moves"):
            read_best_moves(file)
        return
    suite = read_best_moves(file)
    assert suite.moves == [set(moves.split())]
    assert int(suite.positions[0, 7]) & 0xFFFF == clock
    assert np.isnan(suite.values[0])


def test_castling_may_be_written_with_zeros(tmp_path: Path) -> None:
    file = tmp_path / "suite.epd"
    file.write_text("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - bm 0-0 12.0-0-0 13. Ra2;\n")
    assert read_best_moves(file).moves == [{"e1g1", "e1c1", "a1a2"}]


def test_moves_to_avoid_leave_all_others(tmp_path: Path) -> None:
    file = tmp_path / "avoid.epd"
    file.write_text("4k3/8/8/8/8/8/8/R3K3 w - - am Ra8+ Ra7;\n4k3/8/8/8/8/8/8/R3K3 w - - bm x;\n")
    suite = read_best_moves(file, skip_bad=True)
    assert "a1a8" not in suite.moves[0]
    assert "e1d1" in suite.moves[0]
    assert len(suite.moves[0]) == 13
    assert (len(suite), suite.left_out) == (1, 1)


def test_best_moves_are_counted_by_source(file: Path) -> None:
    suite = BestMoveSuite(file)
    seen: list[SuiteProgress] = []
    (result,) = run_suite([f"{__name__}:castler"], suite, MatchConfig(), seen.append)
    facts = suite_facts(suite, [result])
    (one,) = facts["players"]
    assert (one["hits"], one["positions"], one["value_error"]) == (1, 3, None)
    assert [one["groups"][name]["hits"] for name in ("endings", "games")] == [1, 0]
    assert facts["suite"] == "some.epd"
    assert (seen[-1].done, seen[-1].total, seen[-1].hits) == (3, 3, 1)


@pytest.mark.thorough
def test_a_network_finds_the_same_each_time_however_many_at_once(file: Path) -> None:
    players = ["net:material?search=gumbel&sims=4", "net:material"]
    found = [
        [one.to_dict() for one in run_suite(players, BestMoveSuite(MOVES, 16), config)]
        for config in (MatchConfig(gpus="cpu"), MatchConfig(gpus="cpu", concurrency=7))
    ]
    assert found[0] == found[1]
    assert found[0][0]["positions"] == 16
    assert 0 < found[0][0]["value_error"] < 2


@pytest.mark.thorough
@pytest.mark.parametrize("name", [MOVES, PUZZLES])
def test_the_suites_of_the_package_have_one_best_move(name: str) -> None:
    suite = BestMoveSuite(name).best_moves
    assert all(len(moves) == 1 for moves in suite.moves)
    assert len(np.unique(suite.positions[:, :7], axis=0)) == len(suite)
    assert all(suite.sources)


def test_shares_of_the_same_positions_are_compared() -> None:
    def result(hits: list[int]) -> SuiteResult:
        return SuiteResult("", np.array(hits, np.bool_), {}, [""] * len(hits), 0)

    first, second = result([1, 1, 1, 1, 0, 0, 0]), result([1, 1, 0, 0, 1, 0, 0])
    facts = share_ratio(first, second)
    assert facts["ratio"] == 0.75
    width = np.exp(1.96 * np.sqrt(3 / 12))  # 3 differ; 4 and 3 hits
    assert facts["ratio_interval"] == [round(0.75 / width, 4), round(0.75 * width, 4)]
    assert share_ratio(first, first)["ratio_interval"] == [1.0, 1.0]
    assert share_ratio(first, result([0] * 7))["ratio"] is None


def test_a_figure_is_a_mean_over_the_positions_that_have_it() -> None:
    every = np.array([True, True, True])
    assert Figure(np.array([3.0, np.nan, 4.0])).mean(every) == 3.5
    assert Figure(np.array([3.0, np.nan, 4.0]), is_rms=True).mean(every) == 3.5355
    assert Figure(np.full(3, np.nan)).mean(every) is None


def test_castling_of_chess960_is_read_in_every_spelling(tmp_path: Path) -> None:
    file = tmp_path / "960.epd"
    for move in ("O-O", "f1g1", "f1h1"):
        file.write_text(f"4k3/8/8/8/8/8/8/RR3K1R w HB - bm {move};\n")
        assert read_best_moves(file).moves == [{"f1g1"} if move == "f1g1" else {"f1h1"}]


def test_a_pipe_is_read_once_and_known_by_its_bytes(file: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(file.read_bytes()))
    writer.start()
    suite = read_best_moves(pipe)
    writer.join()
    assert suite.sha256 == read_best_moves(file).sha256
    assert suite.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
