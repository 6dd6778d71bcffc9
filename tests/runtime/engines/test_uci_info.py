"""What is taken from the lines of a search: the last whole report, and exact scores."""

import chess.engine
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vecchess.runtime.engines.uci_info import EngineEvaluation, read_evaluation


def read(*lines: str, nodes: int = 9) -> EngineEvaluation | None:
    return read_evaluation([f"info {line}" for line in lines], 20, nodes)


def scores(*lines: str) -> list[tuple[str, str]]:
    found = read(*lines)
    return [] if found is None else [(line.move, str(line.score)) for line in found.lines]


def test_win_and_draw_are_the_engines_own() -> None:
    found = read("depth 3 multipv 1 score cp 31 wdl 100 850 50 nodes 40 nps 1 pv e2e4 e7e5")
    assert found is not None
    assert (found.nodes, found.win, found.draw) == (40, 0.1, 0.85)


@pytest.mark.parametrize("score", [chess.engine.Cp(30), chess.engine.Mate(-3)])
def test_without_them_they_follow_from_the_score(score: chess.engine.Score) -> None:
    mate = score.mate()
    found = read(f"depth 3 score {f'cp {score.score()}' if mate is None else f'mate {mate}'}")
    assert found is not None
    expected = score.wdl(model="sf15.1", ply=20)
    assert (found.nodes, found.win, found.draw) == (9, expected.wins / 1000, expected.draws / 1000)


def test_the_last_whole_report_counts() -> None:
    assert scores(
        "depth 1 multipv 1 score cp 1 pv a2a3",
        "depth 1 multipv 2 score cp 0 pv b2b3",
        "depth 2 multipv 1 score cp 7 pv c2c3",
        "depth 2 multipv 2 score cp 6 pv d2d3",
        "depth 2 currmove e2e4 currmovenumber 3 nodes 5",
        "depth 3 multipv 1 score cp 9 pv e2e3",
        "nodes 55",
    ) == [("c2c3", "+7"), ("d2d3", "+6")]


def test_a_depth_that_is_reported_again_counts_as_it_was_last() -> None:
    repeated = [
        f"depth 8 multipv {rank} score cp {score} pv {move}"
        for rank, score, move in ((1, 5, "a2a3"), (2, 4, "b2b3"), (1, 6, "b2b3"), (2, 3, "a2a3"))
    ]
    assert scores(*repeated) == [("b2b3", "+6"), ("a2a3", "+3")]


def test_bounds_count_only_where_there_is_nothing_else() -> None:
    bound = "depth 5 score cp 90 lowerbound nodes 70 pv d2d4"
    assert scores("depth 4 score cp 3 pv e2e4", bound) == [("e2e4", "+3")]
    assert scores(bound) == [("d2d4", "+90")]
    assert scores(
        "depth 4 multipv 1 score cp 3 pv a2a3",
        "depth 4 multipv 2 score cp 2 pv b2b3",
        "depth 5 multipv 1 score cp 8 upperbound pv b2b3",
        "depth 5 multipv 2 score cp 1 pv a2a3",
    ) == [("a2a3", "+3"), ("b2b3", "+2")]
    found = read("depth 4 score cp 3 nodes 50 pv e2e4", bound)
    assert found is not None
    assert found.nodes == 70


@pytest.mark.parametrize(
    "line",
    ["depth 1 pv e2e4", "string score cp 5", "score cp x", "score cp 99999999999", "score", ""],
)
def test_what_has_no_score_says_nothing(line: str) -> None:
    assert read(line) is None


PARTS = (
    "score cp",
    "score mate",
    "-1",
    "0",
    "7",
    "multipv",
    "wdl",
    "pv",
    "nodes",
    "string",
    "9" * 30,
)


@given(st.lists(st.lists(st.sampled_from(PARTS) | st.text(max_size=9), max_size=9), max_size=4))
def test_no_line_is_too_strange(lines: list[list[str]]) -> None:
    found = read(*(" ".join(line) for line in lines))
    if found is not None:
        assert found.nodes > 0
        assert 0 <= found.win <= found.win + found.draw <= 1 + 1e-9


def test_mates_keep_their_distance_and_lines_may_lack_moves() -> None:
    assert scores("score mate 2 multipv 1", "score mate -4 multipv 2 wdl 0 0 0") == [
        ("", "#+2"),
        ("", "#-4"),
    ]
