"""Searches of given positions: lanes, limits, tablebases, the cache."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.search.samples import pasts, samples
from tests.search.table_backend import TableBackend
from vecchess.analysis.parse_position import STARTPOS, position_after
from vecchess.chess.fen import from_fens
from vecchess.chess.planes import POSITION_INPUTS, num_planes
from vecchess.chess.position import Positions
from vecchess.chess.sample import random_games
from vecchess.config import TreeConfig
from vecchess.errors import ConfigError
from vecchess.inference.builtin import MaterialBackend
from vecchess.machine_limits import Limit, MachineLimits
from vecchess.search import tree_memory
from vecchess.search.batch_search import BatchSearch, SearchResults
from vecchess.search.kernels.evaluate_leaf import UNKNOWN_OUTCOME
from vecchess.search.tablebase import Tablebase
from vecchess.search.tree.layout import EDGES_A_PAGE, UNIT
from vecchess.search.tree_memory import TreeLimits

SYZYGY = Path(__file__).parent.parent / "data" / "syzygy"


def same(one: SearchResults, other: SearchResults) -> bool:
    """Whether two searches found the same, to the bit."""
    return all(np.array_equal(value, getattr(other, name)) for name, value in vars(one).items())


@pytest.mark.parametrize("search", ["puct", "gumbel"])
@pytest.mark.parametrize("lanes", [1, 2, 7])
@pytest.mark.parametrize("planes", [num_planes(1), num_planes(3), POSITION_INPUTS])
def test_nothing_but_the_number_of_lanes_matters(search: str, lanes: int, planes: int) -> None:
    """Answers come at other times with other slots, and not at all where the cache has them."""
    positions, keys = samples(6, 3)
    past = pasts(6, 3)
    found = []
    for slots, cache_mb in ((64, 0), (3, 0), (1, 1), (9, 1)):
        config = TreeConfig(search=search, sims=90, cache_mb=cache_mb)
        searches = BatchSearch(config, TableBackend(slots), 6, lanes=lanes, num_planes=planes)
        for _ in range(2):  # the second time much is in the cache
            found.append(searches.run(positions, keys, past, seed=5, temperature=0.5, explore=True))
        assert searches.forest.counters()["cache_hits"] > 0 or not cache_mb
    assert all(same(found[0], other) for other in found[1:])
    assert (found[0].visits <= 90).all()


@pytest.mark.parametrize("history", [1, 2, 3, 4, 8])
def test_the_cache_answers_no_position_with_another_past(history: int) -> None:
    """One position, reached in two ways; what the network sees differs from 2 plies ago on."""
    ways = (["g1f3", "g8f6", "b1c3", "b8c6"], ["b1c3", "g8f6", "g1f3", "b8c6"])
    config = TreeConfig(search="puct", sims=60, cache_mb=1)
    without = config.model_copy(update={"cache_mb": 0})
    shared = BatchSearch(config, TableBackend(4), 1, num_planes=num_planes(history))
    found, counts = [], []
    for moves in ways:
        position, keys, past = position_after(STARTPOS, moves)
        found.append(shared.run(position, keys, past))
        counts.append(shared.forest.counters()["evaluations"])
        alone = BatchSearch(without, TableBackend(4), 1, num_planes=num_planes(history))
        assert same(found[-1], alone.run(position, keys, past))
        again = shared.run(position, keys, past)
        assert same(again, found[-1])
        assert shared.forest.counters()["evaluations"] == counts[-1], "all was in the cache"
    same_sight = history < 3
    assert (counts[1] == counts[0]) == same_sight
    assert same(*found) == same_sight


def test_lanes_ask_for_more_than_one_position_at_a_time() -> None:
    positions, _ = samples(1, 4)
    config = TreeConfig(search="puct", sims=200, cache_mb=0)
    steps = []
    for lanes in (1, 8):
        searches = BatchSearch(config, TableBackend(64), 1, lanes=lanes)
        searches.run(positions)
        steps.append(searches.engine.counters.batches)
    assert steps[1] < steps[0] / 4


def test_a_full_tree_goes_on_without_growing() -> None:
    positions, keys = samples(2, 8)
    config = TreeConfig(search="puct", sims=1000, tree_mb=1, solve=False)
    searches = BatchSearch(config, TableBackend(4), 2)
    results = searches.run(positions, keys)
    assert (results.visits == 1000).all()
    assert searches.forest.counters()["unexpanded"] > 0
    assert searches.forest.bytes_touched <= searches.forest.bytes_reserved <= 1 << 20


def test_a_tree_has_no_more_edges_than_can_be_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much ``tree_mb`` and the machine allow."""
    large = MachineLimits(Limit(1 << 44, "a large machine"), Limit(64, "cores"))
    monkeypatch.setattr(tree_memory, "machine_limits", lambda: large)
    config = TreeConfig(search="puct", sims=500_000, tree_mb=60_000)
    limits = TreeLimits.of_analysis(config, 64)
    assert 2**31 - 65 * EDGES_A_PAGE <= 65 * limits.edge_pages * EDGES_A_PAGE < 2**31
    assert limits.edge_pages < TreeLimits.of_analysis(config, 4).edge_pages
    endless = TreeConfig(search="puct", sims=1 << 24, tree_mb=1 << 22)
    with pytest.raises(ConfigError, match="more than one mover can number"):
        TreeLimits.of_analysis(endless, 64)


def test_limits_that_cannot_be_kept_are_refused() -> None:
    with pytest.raises(ConfigError, match="tree_mb"):
        BatchSearch(TreeConfig(search="puct", sims=10_000, tree_mb=1), TableBackend(4), 8)
    with pytest.raises(ConfigError, match="cache"):
        BatchSearch(TreeConfig(search="puct", cache_mb=1 << 22), TableBackend(4), 1)
    with pytest.raises(ConfigError, match="no tables"):
        Tablebase(SYZYGY.parent)
    with pytest.raises(ConfigError, match="no folder"):
        Tablebase(SYZYGY / "nowhere")


def test_what_tablebases_say() -> None:
    won, lost, drawn, four_men = from_fens(
        [
            "8/8/8/3k4/8/8/8/R3K3 w - -",
            "8/8/8/3K4/8/8/8/r3k3 w - -",
            "4k3/8/8/4K3/4P3/8/8/8 b - -",
            "4k3/8/8/4K3/4P3/8/7P/8 b - -",
        ]
    )
    table = Tablebase(SYZYGY)
    assert table.most_men == 3
    outcomes = table.outcomes(np.stack([won, lost, drawn, four_men]))
    assert outcomes.tolist() == [1, -1, 0, UNKNOWN_OUTCOME]


@pytest.mark.parametrize("lanes", [1, 4])
def test_captures_and_promotions_into_tablebases_decide(lanes: int) -> None:
    positions = from_fens(
        [
            "8/8/3k4/8/8/8/1b6/1R2K3 w - - 3 9",  # takes the bishop
            "8/P6k/8/8/8/8/8/K7 w - - 0 9",  # promotes
            "8/1R5r/8/8/8/2k5/8/K7 b - - 0 9",  # takes the rook
        ]
    )
    config = TreeConfig(search="puct", sims=200, cache_mb=0)
    search = BatchSearch(config, TableBackend(4), 3, lanes=lanes, tablebase=Tablebase(SYZYGY))
    results = search.run(positions)
    assert results.win.tolist() == [UNIT, UNIT, UNIT]
    without = BatchSearch(config, TableBackend(4), 3).run(positions)
    assert (without.win < UNIT).any()


def test_tables_that_are_missing_are_asked_of_the_network(tmp_path: Path) -> None:
    """Captures into endings without a table, some of them with a mate in one."""
    (tmp_path / "KPvK.rtbw").write_bytes((SYZYGY / "KPvK.rtbw").read_bytes())
    positions = from_fens(["7k/5K1P/8/8/8/8/8/2Q5 b - - 0 1", "8/8/8/8/1k6/8/p1q5/K1N5 w - - 0 1"])
    config = TreeConfig(search="puct", sims=40, cache_mb=0)
    search = BatchSearch(config, TableBackend(4), 2, tablebase=Tablebase(tmp_path))
    results = search.run(positions)
    proven = np.isin(results.win, (0, UNIT)) & (results.draw == 0)
    assert (proven | (results.visits == 40)).all()
    assert not search.forest.trees["in_flight"].any()


class SilentTable(Tablebase):
    """Is asked about five men, and knows nothing."""

    def __init__(self) -> None:
        self.most_men, self.asked = 5, 0

    def outcomes(self, positions: Positions) -> NDArray[np.int64]:
        self.asked += len(positions)
        return np.full(len(positions), UNKNOWN_OUTCOME, np.int64)


@pytest.mark.parametrize("history", [1, 2, 8])
@pytest.mark.parametrize("lanes", [1, 5])
@pytest.mark.parametrize("cache_mb", [0, 1])
def test_a_tablebase_without_an_answer_changes_no_question(
    history: int, lanes: int, cache_mb: int
) -> None:
    """Positions wait for the table while other simulations go on; their pasts wait with them."""
    fen, moves = "8/8/2k5/8/3b1p2/4R3/4K1r1/8 w - - 0 1", ["e2f1", "g2h2", "e3e4", "d4c5"]
    position, keys, past = position_after(fen, moves)
    config, table = TreeConfig(search="puct", sims=500, cache_mb=cache_mb), SilentTable()
    found = [
        BatchSearch(config, TableBackend(2), 1, 0, lanes, tablebase, num_planes(history)).run(
            position, keys, past
        )
        for tablebase in (None, table)
    ]
    assert table.asked > 3
    assert same(*found)


def test_positions_of_finished_games_are_refused() -> None:
    search = BatchSearch(TreeConfig(search="puct", sims=4), TableBackend(4), 1)
    for fen in ("7k/5Q2/6K1/8/8/8/8/8 b - -", "8/8/8/8/8/7R/8/K1k5 w - - 100 90"):
        with pytest.raises(ValueError, match="over"):
            search.run(from_fens([fen]))
    assert search.run(from_fens(["8/8/8/8/8/7R/8/K1k5 w - - 98 90"])).visits[0] > 0


def test_root_value_and_policy_add_up() -> None:
    positions, keys = samples(20, 2)
    config = TreeConfig(search="gumbel", sims=16, draw_score=-0.4)
    results = BatchSearch(config, TableBackend(8), 20).run(positions, keys)
    assert ((results.win >= 0) & (results.draw >= 0)).all()
    assert (results.win + results.draw <= UNIT).all()
    sums = np.add.reduceat(results.target_prob.astype(np.int64), results.target_offsets[:-1])
    assert (np.abs(sums - 65535) <= 218).all()


def test_a_gumbel_search_records_the_value_of_what_it_found() -> None:
    """The mean of all simulations counts the candidates that were dropped: far too low."""
    positions, past = random_games(96, 5)
    trees, values = np.arange(len(positions)), {}
    for method, sims in (("puct", 400), ("gumbel", 16)):
        config = TreeConfig(search=method, sims=sims, considered=16)  # type: ignore[arg-type]
        search = BatchSearch(config, MaterialBackend(96), len(positions))
        search.begin(
            trees, positions, past=past, numbers=trees, temperature=1.0,
            explore=method == "gumbel",
        )  # fmt: skip
        while not search.is_idle:
            search.step()
        found, roots = search.results(trees), search.forest.nodes[search.forest.trees["root"]]
        mean = roots["value_sum"] / (roots["visits"].astype(np.int64) * UNIT)
        values[method] = (2 * found.win + found.draw) / UNIT - 1
        if method == "puct":
            is_proven = np.isin(found.win, (0, UNIT)) & (found.draw == 0)
            assert np.allclose(values["puct"][~is_proven], mean[~is_proven], atol=1e-6)
    is_open = np.abs(values["puct"]) < 0.9
    error, error_of_mean = ((v - values["puct"])[is_open] for v in (values["gumbel"], mean))
    assert np.sqrt((error**2).mean()) < 0.85 * np.sqrt((error_of_mean**2).mean())
    assert abs(error.mean()) < 0.1 < -error_of_mean.mean()
