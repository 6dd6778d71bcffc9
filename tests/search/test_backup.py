"""Sums and links that hold in every tree, whatever was searched: by walking the arrays."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from tests.selfplay.playing import LoudBackend, server_of
from vecchess.config import GameConfig, TreeConfig
from vecchess.search.forest import Forest
from vecchess.search.tree.layout import EXPANDED, NO_NODE, NO_PAGE, OVER
from vecchess.selfplay.games.search_mover import SearchMover
from vecchess.store.id_set import IdSet

SETTINGS = {
    "puct": TreeConfig(search="puct", sims=40),
    "puct, fresh trees": TreeConfig(search="puct", sims=30, reuse=False, cache_mb=0),
    "gumbel": TreeConfig(search="gumbel", sims=24),
    "fast": TreeConfig(search="puct", sims=50, fast_sims=7, full_share=0.3),
    "gumbel, fast": TreeConfig(search="gumbel", sims=20, fast_sims=3, full_share=0.5),
    "draws are bad": TreeConfig(search="puct", sims=20, draw_score=-0.5),
}


def check_trees(forest: Forest) -> int:
    """Check every node of all trees against its children, level by level; returns their number."""
    level = forest.trees["root"][forest.trees["root"] != NO_NODE]
    depth = num_nodes = 0
    while len(level):
        nodes = forest.nodes[level]
        # a draw by repetition on the path repeats a position of the path: none before the root
        assert (nodes["cycle"] <= depth).all()
        owner, numbers = opened_edges(forest, nodes)
        edges = forest.edges[numbers]
        children = forest.nodes[edges["child"]]
        assert (children["parent"] == level[owner]).all()
        assert (children["parent_edge"] == numbers).all()
        assert (edges["visits"] == children["visits"] + children["pending"]).all()
        is_visited, is_open = nodes["visits"] > 0, nodes["state"] & OVER == 0
        own_sums = {"visits": 1, "value_sum": nodes["raw_value"], "draw_sum": nodes["raw_draw"]}
        for name, own in own_sums.items():
            sign = -1 if name == "value_sum" else 1
            sums = np.where(is_visited, own, 0).astype(np.int64)
            np.add.at(sums, owner, sign * children[name].astype(np.int64))
            assert (sums == nodes[name])[is_open].all(), name
        num_nodes += len(level)
        level, depth = edges["child"], depth + 1
    return num_nodes


def opened_edges(forest: Forest, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The edges with a child: the place of their node in ``nodes``, and their own index."""
    counts = np.where(nodes["state"] & EXPANDED, nodes["num_opened"], 0).astype(np.int64)
    owner = np.repeat(np.arange(len(nodes)), counts)
    first = nodes["first_edge"].astype(np.int64) - (np.cumsum(counts) - counts)
    numbers = first[owner] + np.arange(len(owner))
    has_child = forest.edges["child"][numbers] != NO_NODE
    return owner[has_child], numbers[has_child]


def num_free(pool: np.ndarray) -> int:
    """Pages on the list of free pages of a pool."""
    count, page = 0, int(pool["first_free"])
    following = ctypes.cast(int(pool["following"]), ctypes.POINTER(ctypes.c_int32))
    while page != NO_PAGE:
        count, page = count + 1, int(following[page])
    return count


@pytest.mark.thorough
@pytest.mark.parametrize("name", SETTINGS)
def test_sums_and_links_hold_while_games_are_played(name: str, tmp_path: Path) -> None:
    """Endgames, so that repetitions and mates are met."""
    openings = tmp_path / "endgames.epd"
    openings.write_text("8/8/4k3/8/8/3QK3/8/8 w - -\n8/5k2/8/8/2R5/4K3/p7/8 b - -\n")
    game = GameConfig(max_plies=30, openings=openings)
    server = server_of(game, SETTINGS[name], LoudBackend(4), seats=4)
    server.pool.add(IdSet([(0, 4)]))
    mover, engine = server.movers[0], server.engine
    assert isinstance(mover, SearchMover)
    ready, _ = mover.play(mover.rows)
    engine.submit(ready)
    while not engine.is_idle:
        answered = engine.step()
        if len(answered):
            engine.submit(mover.play(answered)[0])
            trees = mover.forest.trees
            num_nodes = trees["node_pages"]["num_items"][trees["root"] != NO_NODE].sum()
            assert check_trees(mover.forest) == num_nodes
    for kind in ("node_pages", "edge_pages"):
        pool = mover.forest.header[kind]
        assert num_free(pool) == pool["first_unused"] > 0  # all came back
