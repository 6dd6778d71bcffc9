"""What is said of a search."""

from math import tan

import pytest

from vecchess.search.principal_variations import Line, WdlEstimate
from vecchess.uci.search_snapshot import best_move, info_line, points, wdl

FIGURES = {
    "depth": 3, "seldepth": 7, "nodes": 120, "nps": 200, "hashfull": 5, "tbhits": 2, "time": 500,
}  # fmt: skip


def estimate(win: float, draw: float, loss: float, value: float | None = None) -> WdlEstimate:
    return WdlEstimate(win, draw, loss, win - loss if value is None else value)


def test_centipawns_are_those_of_lc0() -> None:
    assert points(estimate(0.5, 0.0, 0.5), "centipawn") == 0
    assert points(estimate(0.6, 0.2, 0.2), "centipawn") == round(90 * tan(1.5637541897 * 0.4))
    assert points(estimate(0.2, 0.2, 0.6), "centipawn") == -points(
        estimate(0.6, 0.2, 0.2), "centipawn"
    )
    assert points(estimate(1.0, 0.0, 0.0), "centipawn") == 12_780


def test_other_scores() -> None:
    found = estimate(0.6, 0.2, 0.2, value=0.3)
    kinds = {"win_percentage": 7000, "Q": 3000, "W-L": 4000}
    assert {kind: points(found, kind) for kind in kinds} == kinds


@pytest.mark.parametrize("shares", [(1 / 3, 1 / 3, 1 / 3), (0.0005, 0.999, 0.0005), (1, 0, 0)])
def test_wdl_sums_to_a_thousand(shares: tuple[float, float, float]) -> None:
    numbers = [int(word) for word in wdl(estimate(*shares)).split()[1:]]
    assert sum(numbers) == 1000
    assert min(numbers) >= 0
    assert all(
        abs(number - 1000 * share) <= 1 for number, share in zip(numbers, shares, strict=True)
    )


def test_an_info_line() -> None:
    line = Line((1, 2), 10, estimate(0.5, 0.0, 0.5), 0.5, 0, None)
    text = info_line(FIGURES, line, 2, ["e2e4", "e7e5"], "centipawn", True)
    assert text == (
        "info depth 3 seldepth 7 multipv 2 score cp 0 wdl 500 0 500 nodes 120 nps 200 hashfull 5 "
        "tbhits 2 time 500 pv e2e4 e7e5"
    )


def test_mates_are_said_in_moves() -> None:
    mating = Line((1, 2, 3), 10, WdlEstimate(1.0, 0.0, 0.0, 1.0), 0.5, 1, 3)
    assert " score mate 2 nodes " in info_line(FIGURES, mating, 1, ["a1a2"], "Q", False)
    mated = Line((1, 2), 10, WdlEstimate(0.0, 0.0, 1.0, -1.0), 0.5, -1, 2)
    assert " score mate -1 nodes " in info_line(FIGURES, mated, 1, ["a1a2"], "Q", False)


def test_best_moves() -> None:
    assert best_move(["e2e4", "e7e5", "g1f3"]) == "bestmove e2e4 ponder e7e5"
    assert best_move(["e2e4"]) == "bestmove e2e4"
    assert best_move([]) == "bestmove (none)"
