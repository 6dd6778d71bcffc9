"""Analysis of a position: the order of lines, what they say, and when a search ends."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

from tests.chess.walks import men_before
from tests.nets import FOUR_STEPS
from vecchess.analysis import run_analysis
from vecchess.analysis.parse_position import STARTPOS, position_after, position_reached
from vecchess.analysis.run_analysis import ENDS, Analysis, Variation, analyse, lanes_for
from vecchess.chess.history import REPEATED_SHIFT
from vecchess.chess.planes import NUM_PLANES, encode_planes, num_planes
from vecchess.chess.position import COUNTERS
from vecchess.chess.sample import random_positions
from vecchess.config import AnalyseConfig, SearchConfig, TreeConfig, build
from vecchess.errors import ConfigError
from vecchess.inference.builtin import MaterialBackend
from vecchess.search.batch_search import BatchSearch
from vecchess.search.principal_variations import best_lines, root_estimate
from vecchess.shapes import MAX_MOVES

SYZYGY = Path(__file__).parents[1] / "data" / "syzygy"
SCHOLAR = "r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"
FOOL = "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq - 0 2"
CORNERED = "k7/8/1K6/8/8/8/8/7R b - - 0 1"
MIDDLEGAME = "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2Q1RK1 w - - 0 9"
SHUFFLE = ["g1f3", "g8f6", "f3g1", "f6g8", "g1f3", "g8f6", "f3g1"]
CLOCKS = ("seconds", "simulations_per_s")


def find(
    fen: str, moves: list[str] | None = None, on_progress: Any = None, **settings: Any
) -> Analysis:
    tree_names = SearchConfig.model_fields
    tree = {name: settings.pop(name) for name in list(settings) if name in tree_names}
    config = build(AnalyseConfig, {"net": "material", "tree": tree} | settings)
    return analyse(config, fen, moves or [], on_progress=on_progress)[0]


def facts(found: Analysis) -> dict[str, Any]:
    return {name: value for name, value in found.to_dict().items() if name not in CLOCKS}


def by_move(found: Analysis) -> dict[str, Variation]:
    return {variation.moves[0]: variation for variation in found.variations}


@pytest.mark.parametrize("search", ["puct", "gumbel"])
def test_mate_comes_first(search: str) -> None:
    found = find(SCHOLAR, search=search)
    line = found.variations[0].line
    assert (found.best, line.mate, line.plies) == (("h5f7", "Qxf7#"), 1, 1)
    assert (line.estimate.win, line.estimate.value, line.outcome) == (1.0, 1.0, 1)
    assert (found.estimate.win, found.stopped_by) == (1.0, "proof")
    assert found.variations[0].san == ("Qxf7#",)
    assert facts(found)["lines"][0]["mate"] == 1


def test_the_line_to_a_proven_mate_is_as_long_as_it_says() -> None:
    found = find("7k/8/8/8/8/8/R7/1R5K w - - 0 1", sims=5000, multipv=1)
    line = found.variations[0].line
    assert (line.mate, line.plies, len(line.actions)) == (2, 3, 3)
    assert found.variations[0].san[-1].endswith("#")


def test_a_tablebase_proves_a_win_but_knows_no_mate() -> None:
    found = find("k7/8/8/4n3/3KP3/8/8/8 w - - 0 1", syzygy=SYZYGY, sims=100)
    assert (found.best[1], found.stopped_by) == ("Kxe5", "proof")
    line = facts(found)["lines"][0]
    assert (line["proven"], line["mate"], line["win"]) == ("win", None, 1.0)


def test_a_lost_position_says_in_how_many_moves() -> None:
    found = find(CORNERED)
    assert found.variations[0].moves == ("a8b8", "h1h8")
    assert found.variations[0].line.mate == -1
    assert (found.estimate.loss, found.stopped_by) == (1.0, "proof")


def test_moves_that_lose_come_last_and_their_lines_end_in_mate() -> None:
    found = find(FOOL, multipv=MAX_MOVES, sims=2000)
    assert len(found.variations) == chess.Board(FOOL).legal_moves.count()
    last = found.variations[-1]
    assert (last.moves, last.line.mate) == (("g2g4", "d8h4"), -1)
    assert last.san[-1] == "Qh4#"
    outcomes = [v.line.outcome for v in found.variations]
    assert outcomes == sorted(outcomes, reverse=True)


def test_lines_stand_by_visits_and_can_be_played() -> None:
    found = find(MIDDLEGAME, multipv=5)
    lines = [variation.line for variation in found.variations]
    assert len({line.actions[0] for line in lines}) == len(lines) == 5
    for better, worse in pairwise(lines):
        key, other = ((line.visits, np.float32(line.estimate.value)) for line in (better, worse))
        assert key >= other
    for variation in found.variations:
        outlook = variation.line.estimate
        assert outlook.win + outlook.draw + outlook.loss == pytest.approx(1.0)
        assert outlook.value == pytest.approx(outlook.win - outlook.loss)
        board = chess.Board(MIDDLEGAME)
        for uci, san in zip(variation.moves, variation.san, strict=True):
            assert board.san(board.parse_uci(uci)) == san
            board.push_uci(uci)
    assert found.best == (found.variations[0].moves[0], found.variations[0].san[0])
    assert (found.simulations, found.stopped_by) == (800, "simulations")
    assert found.fen == MIDDLEGAME
    assert found.stopped_by in ENDS


@pytest.mark.parametrize("search", ["puct", "gumbel"])
@pytest.mark.parametrize("lanes", [1, 5, 32])
def test_the_same_again(search: str, lanes: int) -> None:
    one, other = (find(MIDDLEGAME, search=search, lanes=lanes, sims=300) for _ in range(2))
    assert facts(one) == facts(other)
    assert (one.lanes, one.simulations) == (lanes, 300)
    assert one.best[0] == one.variations[0].moves[0]


def test_lanes_follow_from_the_simulations() -> None:
    assert [lanes_for(sims) for sims in (1, 99, 800, 10**6)] == [1, 1, 8, 32]
    assert find(MIDDLEGAME, sims=200).lanes == 2


def test_the_moves_that_led_there_count() -> None:
    with_history = find(STARTPOS, SHUFFLE, multipv=MAX_MOVES)
    alone = find(with_history.fen, multipv=MAX_MOVES)
    assert alone.fen == with_history.fen
    third = by_move(with_history)["f6g8"]
    assert third.line.estimate.draw == 1.0, "the start position for the third time"
    assert third.moves == ("f6g8",)
    assert by_move(alone)["f6g8"].line.estimate.draw < 1.0


def test_repeated_positions_that_led_there_are_marked() -> None:
    """Networks that see earlier positions are asked the same as in a match."""
    marks = position_reached(STARTPOS, SHUFFLE).past[0, :, COUNTERS] >> np.uint64(
        REPEATED_SHIFT
    ) & np.uint64(1)
    assert marks.tolist() == [0, 0, 0, 0, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("fen", "moves", "part"),
    [
        (STARTPOS, [*SHUFFLE, "f6g8"], "over: threefold"),
        (STARTPOS, ["f2f3", "e7e5", "g2g4", "d8h4"], "over: checkmate"),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", [], "over: stalemate"),
        ("7k/8/6K1/8/8/8/8/8 b - - 0 1", [], "over: insufficient material"),
        ("7k/8/6K1/8/8/8/8/R7 b - - 100 90", [], "over: fifty moves"),
        (STARTPOS, ["e2e4", "e2e4"], r"moves: 'e2e4' is not a legal move here \(number 2 of 2\)"),
        ("8/8/8 w", [], "bad FEN"),
    ],
)
def test_positions_that_cannot_be_searched(fen: str, moves: list[str], part: str) -> None:
    with pytest.raises(ConfigError, match=part) as caught:
        position_after(fen, moves)
    assert "\n" not in str(caught.value)


def test_time_ends_a_search_with_one_simulation_at_least() -> None:
    found = find(MIDDLEGAME, sims=10**6, seconds=1e-9)
    assert found.stopped_by == "seconds"
    assert 1 <= found.simulations <= 100
    assert found.best[0] == found.variations[0].moves[0]


def test_a_tree_that_is_full_says_so() -> None:
    found = find(MIDDLEGAME, sims=20_000, tree_mb=16)
    assert found.unexpanded > 0
    assert (found.simulations, found.stopped_by) == (20_000, "simulations")


def test_progress_reports_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_analysis, "UPDATE_S", 0.01)
    seen: list[Analysis] = []
    found = find(MIDDLEGAME, on_progress=seen.append, sims=10_000, lanes=1)
    assert len(seen) > 1
    assert all(later.simulations > earlier.simulations for earlier, later in pairwise(seen))
    assert {analysis.stopped_by for analysis in seen} == {""}
    assert found.simulations == 10_000


def test_a_draw_has_the_worth_it_is_given() -> None:
    found = find(MIDDLEGAME, draw_score=-0.5, multipv=MAX_MOVES)
    for variation in found.variations:
        outlook = variation.line.estimate
        assert outlook.value == pytest.approx(outlook.win - outlook.loss - outlook.draw / 2)


def test_castling_is_written_as_asked() -> None:
    usual = find("4k3/8/8/8/8/8/8/4K2R w K - 0 1", multipv=MAX_MOVES)
    assert by_move(usual)["e1g1"].san[0] == "O-O"
    forced = find("4k3/8/8/8/8/8/8/4K2R w K - 0 1", multipv=MAX_MOVES, chess960=True)
    assert by_move(forced)["e1h1"].san[0] == "O-O"
    other = find("k7/8/8/8/8/8/8/1K2R3 w E - 0 1", multipv=MAX_MOVES)
    assert by_move(other)["b1e1"].san[0] == "O-O"


def test_a_new_network_is_called_new() -> None:
    said: list[str] = []
    config = build(AnalyseConfig, {"net": FOUR_STEPS, "gpus": "cpu", "tree": {"sims": 20}})
    found, judge = analyse(config, report_line=said.append)
    assert "untrained" in " ".join(said)
    assert len(judge["sha256"]) == 64
    assert found.mean_time_steps > 1


def test_the_position_comes_with_those_before() -> None:
    board, moves = chess.Board(), ["e2e4", "c7c5", "g1f3", "d7d6", "f1b5", "c8d7", "e1g1", "d7b5"]
    for played in (moves[:2], moves):
        position, _, past = position_after(STARTPOS, played)
        board = chess.Board()
        for move in played:
            board.push_uci(move)
        planes = encode_planes(position, 0, past, num_planes(8))
        assert planes[0, NUM_PLANES:].tolist() == men_before(board, 8)


def test_a_network_that_sees_the_game(tmp_path: Path) -> None:
    """The same position, with another game before it, is another question."""
    sizes = tmp_path / "three.toml"
    sizes.write_text("blocks = 1\nchannels = 32\nhistory = 3\n")
    ways = (["g1f3", "g8f6", "b1c3", "b8c6"], ["b1c3", "g8f6", "g1f3", "b8c6"])
    found = [find(STARTPOS, moves, net=str(sizes), gpus="cpu", sims=30) for moves in ways]
    again = find(STARTPOS, ways[0], net=str(sizes), gpus="cpu", sims=30)
    assert found[0].fen == found[1].fen
    assert facts(found[0]) == facts(again) != facts(found[1])


@pytest.mark.parametrize("search", ["puct", "gumbel"])
def test_lines_are_the_edges_of_the_trees(search: str) -> None:
    num, config = 6, TreeConfig(search=search, sims=120)  # type: ignore[arg-type]
    batch = BatchSearch(config, MaterialBackend(8), num, lanes=3)
    positions, trees = random_positions(num, 5), np.arange(num)
    batch.begin(trees, positions)
    while not batch.is_idle:
        batch.step()
    results = batch.results(trees)
    for tree in range(num):
        assert batch.forest.root(tree)["visits"] == results.visits[tree] + 1
        outlook = root_estimate(batch.forest, tree)
        assert outlook.win == pytest.approx(results.win[tree] / 2**24, abs=1e-6)
        assert outlook.draw == pytest.approx(results.draw[tree] / 2**24, abs=1e-6)
        lines = best_lines(batch.forest, tree, MAX_MOVES)
        edges = slice(*results.edge_offsets[tree : tree + 2])
        names = ("edge_action", "edge_visits", "edge_q", "edge_prior")
        rows = zip(*(getattr(results, name)[edges].tolist() for name in names), strict=True)
        expected = {row[0]: row[1:] for row in rows if row[1] > 0}
        assert {line.actions[0] for line in lines} == set(expected)
        for line in lines:
            value = float(np.float32(line.estimate.value))
            assert (line.visits, value, line.prior) == expected[line.actions[0]]
    batch.free(trees)
    again = batch.run(positions)
    assert np.array_equal(again.action, results.action)
    assert np.array_equal(again.edge_visits, results.edge_visits)
