"""Games whose moves are searched."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels import size
from tests.selfplay.playing import LoudBackend, Recorder, play, questions_in, replay
from tests.selfplay.test_play import assert_games_are_right
from vecchess.chess.planes import num_planes
from vecchess.chess.rules import Termination
from vecchess.config import GameConfig, TreeConfig
from vecchess.shapes import TARGET_UNIT
from vecchess.store.records import GameRecords
from vecchess.store.replay_positions import replay_positions

SYZYGY = Path(__file__).parent.parent / "data" / "syzygy"
GUMBEL = TreeConfig(search="gumbel", sims=12, cache_mb=0)
PUCT = TreeConfig(search="puct", sims=20, fast_sims=5, full_share=0.4)


def assert_targets_are_right(records: GameRecords) -> None:
    """Every full search has a target over legal moves that sums to one; no other ply has."""
    assert records.validate() is None
    counts = np.diff(records.target_offsets)
    assert ((counts > 0) == (records.full == 1)).all()
    sums = np.add.reduceat(
        np.append(records.target_prob.astype(np.int64), 0), records.target_offsets[:-1]
    )
    full = np.flatnonzero(records.full)
    positions = replay_positions(records, full)
    rounded = positions.requests.num_legal / 2  # those that round to nothing included
    assert (np.abs(sums[full] - TARGET_UNIT) <= rounded).all()
    for row, ply in enumerate(full):
        first, end = records.target_offsets[ply : ply + 2]
        legal = positions.requests.legal[row, : positions.requests.num_legal[row]]
        assert np.isin(records.target_action[first:end], legal).all()


@pytest.mark.parametrize("tree", [GUMBEL, PUCT], ids=["gumbel", "puct"])
def test_games_and_targets_are_right(tree: TreeConfig) -> None:
    records = play(GameConfig(max_plies=80, random_plies=4), 12, LoudBackend(9), tree=tree)
    assert_games_are_right(records, 80)
    assert_targets_are_right(records)
    searched = records.visits > 0
    for first in records.offsets[:-1]:
        assert not searched[first : first + 4].any()
    assert searched.sum() >= records.lengths.sum() - 4 * records.num_games - 2
    if not tree.reuse or tree.search == "gumbel":  # else a search may stand on what was kept
        assert (records.thought[records.visits > 1] > 0).all()


def test_full_and_fast_searches() -> None:
    records = play(GameConfig(max_plies=60), 20, LoudBackend(16), tree=PUCT)
    full = records.full == 1
    assert 0.3 < full.mean() < 0.5
    settled = records.visits > 1  # a proof ends a search early
    assert np.median(records.visits[full & settled]) == 20
    assert (records.visits[full] <= 20).all()
    fast = records.visits[~full]
    assert np.median(fast) >= 5, "a fast search adds to what was kept, or stands on it"


REFERENCE = GameConfig(max_plies=30, random_plies=5, temperature="1.0,20:0")


@cache
def reference_digest(search: str) -> str:
    tree = GUMBEL if search == "gumbel" else PUCT
    return play(REFERENCE, 8, LoudBackend(64), seats=8, tree=tree).digest()


@pytest.mark.thorough
@settings(max_examples=3)
@given(
    seats=st.integers(1, 20),
    movers=st.integers(1, 3),
    slots=st.integers(1, 30),
    split=st.integers(1, 7),
    cache_mb=st.integers(0, 2),
)
@pytest.mark.parametrize("tree", [GUMBEL, PUCT], ids=["gumbel", "puct"])
def test_the_same_games_whatever_plays_them(
    tree: TreeConfig, seats: int, movers: int, slots: int, split: int, cache_mb: int
) -> None:
    other_tree = tree.model_copy(update={"cache_mb": cache_mb})
    other = play(
        REFERENCE, 8, LoudBackend(slots), seats, min(movers, seats), splits=[split], tree=other_tree
    )
    assert other.digest() == reference_digest(tree.search)


@pytest.mark.parametrize("tree", [GUMBEL, PUCT], ids=["gumbel", "puct"])
def test_games_of_a_network_that_sees_earlier_positions(tree: TreeConfig) -> None:
    """What is kept of a tree, or in the cache, is what would be asked again."""
    config = GameConfig(max_plies=30, random_plies=5)
    digests = set()
    for cache_mb, slots, movers in ((0, 64, 1), (1, 5, 2)):
        cached = tree.model_copy(update={"cache_mb": cache_mb})
        records = play(config, 6, LoudBackend(slots), 6, movers, tree=cached, planes=num_planes(4))
        digests.add(records.digest())
    assert len(digests) == 1
    assert play(config, 6, LoudBackend(64), 6, tree=tree).digest() not in digests


def test_searches_begin_with_the_game_that_led_to_them() -> None:
    tree = TreeConfig(search="gumbel", sims=4, cache_mb=0, solve=False)
    backend = Recorder(16)
    records = play(
        GameConfig(max_plies=30, random_plies=3), 8, backend, tree=tree, planes=num_planes(5)
    )
    searched = np.flatnonzero(records.visits > 0)
    assert len(searched) > 100
    roots = replay_positions(records, searched, num_planes(5)).requests
    assert set(questions_in(roots, range(len(searched)))) <= set(backend.asked)


def test_searched_games_end_by_resignation_on_search_values() -> None:
    config = GameConfig(resign_below=0.49, resign_turns=1, resign_playthrough=0.0, max_plies=80)
    records = play(config, 20, LoudBackend(16), tree=GUMBEL)
    resigned = np.flatnonzero(records.termination == Termination.RESIGNATION)
    assert len(resigned) > 5
    boards = replay(records)
    for index in resigned:
        assert records.result[index] == (-1 if boards[index].turn else 1)
    assert_targets_are_right(records)


def test_temperature_zero_plays_the_best_move() -> None:
    for tree in (GUMBEL, PUCT.model_copy(update={"noise_fraction": 0.0, "forced_playouts": 0.0})):
        tree = tree.model_copy(update={"fast_sims": 0, "full_share": 1.0})
        records = play(GameConfig(max_plies=12, temperature="0"), 4, LoudBackend(3), tree=tree)
        assert len({tuple(records.action[a : a + 12]) for a in records.offsets[:-1]}) == 1


@pytest.mark.plain
def test_tablebases_end_games(tmp_path: Path) -> None:
    """A queen or a rook is won, whoever is to move; a pawn may be a draw."""
    openings = tmp_path / "o.epd"
    openings.write_text("8/8/8/4k3/8/4K3/1p4Q1/8 w - -\n8/5p2/8/4k3/5R2/4K3/8/8 w - -\n")
    tree = TreeConfig(search="puct", sims=size(30, 8), syzygy=SYZYGY)
    config = GameConfig(max_plies=100, openings=openings)
    records = play(config, size(12, 2), LoudBackend(4), tree=tree)
    by_table = records.termination == Termination.TABLEBASE
    assert by_table.any()
    for board, result in zip(
        (board for board, ended in zip(replay(records), by_table, strict=True) if ended),
        records.result[by_table],
        strict=True,
    ):
        assert chess_men(board) <= 3
        strong = bool(board.pieces(5, True) | board.pieces(4, True))
        if board.pieces(5, strong) | board.pieces(4, strong):
            assert result == (1 if strong else -1)


def chess_men(board: object) -> int:
    """Men on a python-chess board."""
    return bin(board.occupied).count("1")  # type: ignore[attr-defined]
