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
    "puct": TreeConfig(search="puct", sims=60),
    "puct, fresh trees": TreeConfig(search="puct", sims=30, reuse=False, cache_mb=0),
    "gumbel": TreeConfig(search="gumbel", sims=24),
    "fast": TreeConfig(search="puct", sims=50, fast_sims=7, full_share=0.3),
    "gumbel, fast": TreeConfig(search="gumbel", sims=20, fast_sims=3, full_share=0.5),
    "draws are bad": TreeConfig(search="puct", sims=20, draw_score=-0.5),
}


def walk(forest: Forest, root: int) -> list[int]:
    """Indices of all nodes of a tree; checks every node against its children on the way."""
    found, waiting = [], [(root, 0)]
    while waiting:
        index, depth = waiting.pop()
        found.append(index)
        node = forest.nodes[index]
        # a draw by repetition on the path repeats a position of the path: none before the root
        assert node["cycle"] <= depth
        visits, value, draw = (1 if node["visits"] else 0), own_value(node), own_draw(node)
        for number, edge in opened_edges(forest, node):
            child = forest.nodes[edge["child"]]
            assert child["parent"] == index
            assert child["parent_edge"] == number
            assert edge["visits"] == child["visits"] + child["pending"]
            visits += child["visits"]
            value -= child["value_sum"]
            draw += child["draw_sum"]
            waiting.append((int(edge["child"]), depth + 1))
        if not node["state"] & OVER:
            assert visits == node["visits"]
            assert value == node["value_sum"]
            assert draw == node["draw_sum"]
    return found


def own_value(node: np.ndarray) -> int:
    return int(node["raw_value"]) if node["visits"] else 0


def own_draw(node: np.ndarray) -> int:
    return int(node["raw_draw"]) if node["visits"] else 0


def opened_edges(forest: Forest, node: np.ndarray) -> list[tuple[int, np.ndarray]]:
    if not node["state"] & EXPANDED:
        return []
    first = int(node["first_edge"])
    numbers = range(first, first + int(node["num_opened"]))
    edges = [(number, forest.edges[number]) for number in numbers]
    return [(number, edge) for number, edge in edges if edge["child"] != NO_NODE]


def num_free(pool: np.ndarray) -> int:
    """Pages on the list of free pages of a pool."""
    count, page = 0, int(pool["first_free"])
    following = ctypes.cast(int(pool["following"]), ctypes.POINTER(ctypes.c_int32))
    while page != NO_PAGE:
        count, page = count + 1, int(following[page])
    return count


@pytest.mark.parametrize("name", SETTINGS)
def test_sums_and_links_hold_while_games_are_played(name: str, tmp_path: Path) -> None:
    """Endgames, so that repetitions and mates are met."""
    openings = tmp_path / "endgames.epd"
    openings.write_text("8/8/4k3/8/8/3QK3/8/8 w - -\n8/5k2/8/8/2R5/4K3/p7/8 b - -\n")
    game = GameConfig(max_plies=40, openings=openings)
    server = server_of(game, SETTINGS[name], LoudBackend(5), seats=6)
    server.pool.add(IdSet([(0, 12)]))
    mover, engine = server.movers[0], server.engine
    assert isinstance(mover, SearchMover)
    ready, _ = mover.play(mover.rows)
    engine.submit(ready)
    while not engine.is_idle:
        answered = engine.step()
        if len(answered):
            engine.submit(mover.play(answered)[0])
            for tree in mover.forest.trees:
                if tree["root"] != NO_NODE:
                    found = walk(mover.forest, int(tree["root"]))
                    assert len(found) == tree["node_pages"]["num_items"]
    for kind in ("node_pages", "edge_pages"):
        pool = mover.forest.header[kind]
        assert num_free(pool) == pool["first_unused"] > 0  # all came back
